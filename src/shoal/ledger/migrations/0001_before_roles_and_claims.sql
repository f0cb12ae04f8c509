-- The roles and functions that Supabase has and plain PostgreSQL lacks, made only where missing.
--
--   anon            nobody in particular
--   authenticated   a user; auth.uid() says which one
--   service_role    the system itself
--   shoal_worker    a process that runs tasks: it may call the claiming functions and nothing else
--
-- Roles belong to the whole cluster, so another database may be creating them at this moment.

DO $$
DECLARE
  wanted text;
  become text := CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END;
BEGIN
  FOREACH wanted IN ARRAY ARRAY['anon', 'authenticated', 'service_role', 'shoal_worker'] LOOP
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = wanted) THEN
      BEGIN
        EXECUTE format('CREATE ROLE %I NOLOGIN NOINHERIT', wanted);
      EXCEPTION WHEN duplicate_object OR unique_violation THEN
        NULL;  -- the other one was faster
      END;
    END IF;
    -- A superuser may become any role; anybody else has to be a member. From PostgreSQL 16 on, who
    -- makes a role is a member that may pass it on, but may not become it.
    IF NOT pg_has_role(current_user, wanted, become) THEN
      EXECUTE format('GRANT %I TO %I', wanted, current_user);
    END IF;
  END LOOP;
END
$$;

CREATE SCHEMA IF NOT EXISTS auth;

DO $$
BEGIN
  IF to_regprocedure('auth.jwt()') IS NULL THEN
    CREATE FUNCTION auth.jwt() RETURNS jsonb LANGUAGE sql STABLE SET search_path = '' AS $f$
      SELECT coalesce(nullif(current_setting('request.jwt.claims', true), ''), '{}')::jsonb
    $f$;
  END IF;
  IF to_regprocedure('auth.uid()') IS NULL THEN
    CREATE FUNCTION auth.uid() RETURNS uuid LANGUAGE sql STABLE SET search_path = '' AS $f$
      SELECT nullif(auth.jwt() ->> 'sub', '')::uuid
    $f$;
  END IF;
END
$$;

GRANT USAGE ON SCHEMA auth TO anon, authenticated, service_role;
GRANT USAGE ON SCHEMA public TO anon, authenticated, service_role, shoal_worker;
GRANT EXECUTE ON FUNCTION auth.jwt(), auth.uid() TO anon, authenticated, service_role;

-- What only our own functions use. PostgREST does not publish this schema.
CREATE SCHEMA IF NOT EXISTS shoal;
GRANT USAGE ON SCHEMA shoal TO anon, authenticated, service_role, shoal_worker;

-- Ids that grow with time keep an index dense: version 7 of RFC 9562, which PostgreSQL makes itself from
-- 18 on. Without a pinned search_path, so that the planner can put the body where it is called.
DO $$
BEGIN
  IF to_regprocedure('pg_catalog.uuidv7()') IS NOT NULL THEN
    CREATE FUNCTION shoal.uuid7() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE
      AS 'SELECT pg_catalog.uuidv7()';
  ELSE
    -- A random one of version 4 with the time in front; two bits make the 4 a 7.
    CREATE FUNCTION shoal.uuid7() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS $f$
      SELECT pg_catalog.encode(
        pg_catalog.set_bit(pg_catalog.set_bit(
          pg_catalog.overlay(
            pg_catalog.uuid_send(pg_catalog.gen_random_uuid()),
            pg_catalog.substring(
              pg_catalog.int8send(
                (pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) * 1000)::pg_catalog.int8),
              3),
            1, 6),
          52, 1), 53, 1),
        'hex')::pg_catalog.uuid
    $f$;
  END IF;
END
$$;
