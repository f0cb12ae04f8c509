-- issue_key: add a live key, unless its name has one
-- params: key_id uuid, name text, kind text, secret_hash bytea
-- returns: one row (id), or none when the name is taken
-- locks: waits for whoever is issuing the same name
INSERT INTO public.access_keys (id, name, kind, secret_hash) VALUES ($1, $2, $3, $4)
ON CONFLICT (name) WHERE revoked_at IS NULL AND expires_at IS NULL DO NOTHING
RETURNING id
