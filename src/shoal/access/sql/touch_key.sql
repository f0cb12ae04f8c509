-- touch_key: note that a key was used; closes the race of many requests in the same minute
-- params: key_id uuid
-- returns: nothing
-- locks: the key's row, once a minute
UPDATE public.access_keys SET last_used_at = clock_timestamp()
WHERE id = $1 AND coalesce(last_used_at < clock_timestamp() - interval '1 minute', true)
