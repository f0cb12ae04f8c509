-- disown_objects: forget the artifacts of attempts that will never count, among these paths
-- params: paths text[]
-- returns: those of the paths that no artifact names
-- locks: the artifacts, then what their users keep
SELECT shoal.disown_objects($1) AS path
