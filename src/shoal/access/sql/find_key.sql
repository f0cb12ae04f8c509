-- find_key: what a key that was shown is compared with
-- params: key_id uuid
-- returns: one row (id, name, kind, secret_hash, is_ended, is_touch_due), or none
-- locks: none
SELECT id, name, kind, secret_hash,
  revoked_at IS NOT NULL OR coalesce(expires_at <= clock_timestamp(), false) AS is_ended,
  coalesce(last_used_at < clock_timestamp() - interval '1 minute', true) AS is_touch_due
FROM public.access_keys
WHERE id = $1
