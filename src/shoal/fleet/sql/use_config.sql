-- use_config: a task names this config
-- params: hash text
-- returns: the hash, or none when there is no such config
-- locks: the config
UPDATE public.configs SET used_at = clock_timestamp() WHERE hash = $1 RETURNING hash
