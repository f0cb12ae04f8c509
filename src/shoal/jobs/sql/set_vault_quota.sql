-- set_vault_quota: how much all users together and each of them may keep; null for any amount
-- params: max_bytes bigint, max_bytes_per_user bigint
-- returns: nothing
-- locks: the quota, if it changes
INSERT INTO shoal.vault_quota AS q (max_bytes, max_bytes_per_user) VALUES ($1, $2)
ON CONFLICT (is_only) DO UPDATE
  SET max_bytes = excluded.max_bytes, max_bytes_per_user = excluded.max_bytes_per_user
  WHERE (q.max_bytes, q.max_bytes_per_user)
        IS DISTINCT FROM (excluded.max_bytes, excluded.max_bytes_per_user)
