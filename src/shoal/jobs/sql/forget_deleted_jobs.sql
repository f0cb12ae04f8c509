-- forget_deleted_jobs: forget the jobs deleted before a moment whose folders are empty
-- params: before timestamptz
-- returns: nothing
-- locks: the rows
DELETE FROM shoal.deleted_jobs WHERE deleted_at < $1 AND empty_at IS NULL
