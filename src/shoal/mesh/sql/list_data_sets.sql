-- list_data_sets: what was published, the latest first
-- params: at_most int
-- returns: rows (id, name, size_bytes, shards, files, published_at)
-- locks: none
SELECT d.id, d.name, d.size_bytes, d.shards, d.files, d.published_at FROM public.data_sets d
 ORDER BY d.published_at DESC LIMIT $1
