-- Users we have seen, and the keys of services and workers.
-- A key is shown once, when it is issued; only its SHA-256 is kept.

CREATE TABLE public.users (
  id          uuid PRIMARY KEY,
  name        text NOT NULL DEFAULT '',
  created_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE public.access_keys (
  id            uuid PRIMARY KEY DEFAULT shoal.uuid7(),
  name          text NOT NULL CHECK (name ~ '^[a-z0-9][a-z0-9._-]{0,62}$'),
  kind          text NOT NULL CHECK (kind IN ('service', 'worker')),
  secret_hash   bytea NOT NULL CHECK (octet_length(secret_hash) = 32),
  created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at    timestamptz,
  revoked_at    timestamptz,
  last_used_at  timestamptz
);
CREATE UNIQUE INDEX access_keys_live_name ON public.access_keys (name) WHERE revoked_at IS NULL AND expires_at IS NULL;

ALTER TABLE public.users ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.access_keys ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON public.users, public.access_keys FROM PUBLIC, anon, authenticated, service_role, shoal_worker;
GRANT SELECT ON public.users TO authenticated;
CREATE POLICY users_read_themselves ON public.users FOR SELECT TO authenticated
  USING (id = (SELECT auth.uid()));
GRANT SELECT, INSERT, UPDATE, DELETE ON public.users, public.access_keys TO service_role;
CREATE POLICY service_manages_users ON public.users TO service_role USING (true) WITH CHECK (true);
CREATE POLICY service_manages_keys ON public.access_keys TO service_role USING (true) WITH CHECK (true);
