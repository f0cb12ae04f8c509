-- register_node: write down a node by its key; the same key is the same node, whatever it says of itself now
-- params: public_key bytea, name text, platform text, version text, claim_code text
-- returns: one row (id, claim_code, is_revoked); the code is that of its first registration, null once it is claimed
-- locks: the node
INSERT INTO public.nodes AS n (public_key, name, platform, version, claim_code)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (public_key) DO UPDATE
  SET platform = excluded.platform, version = excluded.version,
      name = CASE WHEN n.user_id IS NULL AND excluded.name <> '' THEN excluded.name ELSE n.name END
RETURNING n.id, n.claim_code, n.revoked_at IS NOT NULL AS is_revoked
