-- revoke_key: end every key of a name at once
-- params: name text
-- returns: one row (id) per key that was still valid
-- locks: the keys of that name
UPDATE public.access_keys SET revoked_at = clock_timestamp()
WHERE name = $1 AND revoked_at IS NULL AND coalesce(expires_at > clock_timestamp(), true)
RETURNING id
