-- find_data_set: the last version of a name, or the data set with an id
-- params: name text
-- returns: one row (id, name, size_bytes, shards, files, published_at), or none
-- locks: none
SELECT d.id, d.name, d.size_bytes, d.shards, d.files, d.published_at FROM public.data_sets d
 WHERE d.name = $1 OR d.id = $1 ORDER BY d.published_at DESC LIMIT 1
