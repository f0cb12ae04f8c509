-- store_data_set: note what was published; published again, it is the last version of its name
-- params: id text, name text, size_bytes bigint, shards int, files int
-- returns: nothing
-- locks: the data set
INSERT INTO public.data_sets (id, name, size_bytes, shards, files) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (id) DO UPDATE SET published_at = clock_timestamp()
