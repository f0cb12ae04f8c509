-- list_keys: all keys, by name, the newest first
-- params: none
-- returns: rows (id, name, kind, state, created_at, expires_at, revoked_at, last_used_at)
-- locks: none
SELECT id, name, kind,
  CASE
    WHEN revoked_at IS NOT NULL OR expires_at <= clock_timestamp() THEN 'ended'
    WHEN expires_at IS NOT NULL THEN 'retiring'
    ELSE 'live'
  END AS state,
  created_at, expires_at, revoked_at, last_used_at
FROM public.access_keys
ORDER BY name, created_at DESC, id
