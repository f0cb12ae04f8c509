-- retire_key: let every key of a name that is valid now go on for the grace time at most
-- params: name text, grace interval
-- returns: one row (kind) of the key that was live, or none when there was none
-- locks: the keys of that name by id; a second rotation at the same time waits, and then finds no live key
WITH held AS MATERIALIZED (
  SELECT id, expires_at IS NULL AS was_live
  FROM public.access_keys
  WHERE name = $1 AND revoked_at IS NULL AND coalesce(expires_at > clock_timestamp(), true)
  ORDER BY id
  FOR UPDATE
), retired AS (
  UPDATE public.access_keys AS key
  SET expires_at = least(coalesce(key.expires_at, 'infinity'), clock_timestamp() + $2)
  FROM held
  WHERE key.id = held.id
  RETURNING key.kind, held.was_live
)
SELECT kind FROM retired WHERE was_live
