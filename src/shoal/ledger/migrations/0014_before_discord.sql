-- Who is perhaps in which Discord server, and which Discord account belongs to which user.
--
-- A filter is what docs/explanation/membership-filters.md describes, in base64. It only says "perhaps": whoever
-- reads it confirms a hit with Discord before anything follows from it. An account belongs to one user, and a
-- user has one account. Of a code that links them only the SHA-256 is kept, until it is used or has ended.

CREATE TABLE public.discord_server_filters (
  guild_id      text PRIMARY KEY CHECK (guild_id ~ '^[1-9][0-9]{0,19}$'),
  guild_name    text NOT NULL DEFAULT '' CHECK (length(guild_name) <= 200),
  member_count  integer NOT NULL CHECK (member_count >= 0),
  filter        text NOT NULL,
  updated_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE public.discord_links (
  discord_id    text PRIMARY KEY CHECK (discord_id ~ '^[1-9][0-9]{0,19}$'),
  user_id       uuid NOT NULL UNIQUE REFERENCES public.users ON DELETE CASCADE,
  discord_name  text NOT NULL DEFAULT '' CHECK (length(discord_name) <= 200),
  linked_at     timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE public.discord_link_codes (
  user_id     uuid PRIMARY KEY REFERENCES public.users ON DELETE CASCADE,
  code_hash   bytea NOT NULL UNIQUE CHECK (octet_length(code_hash) = 32),
  expires_at  timestamptz NOT NULL
);

-- redeem_discord_code: the account that shows a code belongs from now on to the user who made it. What the account
-- or the user was linked with before is so no more. Returns the user, or null when there is no such code (any more).
CREATE FUNCTION shoal.redeem_discord_code(p_code_hash bytea, p_discord_id text, p_discord_name text)
RETURNS uuid LANGUAGE plpgsql SET search_path = '' AS $$
DECLARE
  v_user uuid;
BEGIN
  DELETE FROM public.discord_link_codes c
    WHERE c.code_hash = p_code_hash AND c.expires_at > clock_timestamp() RETURNING c.user_id INTO v_user;
  IF v_user IS NULL THEN
    RETURN NULL;
  END IF;
  -- Two codes used at once may concern the same account; linking is rare, so one waits for the other.
  LOCK TABLE public.discord_links IN SHARE ROW EXCLUSIVE MODE;
  DELETE FROM public.discord_links l WHERE l.discord_id = p_discord_id OR l.user_id = v_user;
  INSERT INTO public.discord_links (discord_id, user_id, discord_name) VALUES (p_discord_id, v_user, p_discord_name);
  RETURN v_user;
END
$$;

ALTER TABLE public.discord_server_filters ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.discord_links ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.discord_link_codes ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON public.discord_server_filters, public.discord_links, public.discord_link_codes
  FROM PUBLIC, anon, authenticated, service_role, shoal_worker;
REVOKE ALL ON FUNCTION shoal.redeem_discord_code FROM PUBLIC, anon, authenticated;

GRANT SELECT ON public.discord_links TO authenticated;
CREATE POLICY users_read_their_discord_link ON public.discord_links FOR SELECT TO authenticated
  USING (user_id = (SELECT auth.uid()));
GRANT SELECT, INSERT, UPDATE, DELETE ON public.discord_server_filters, public.discord_links, public.discord_link_codes
  TO service_role;
GRANT EXECUTE ON FUNCTION shoal.redeem_discord_code TO service_role;
CREATE POLICY service_manages_discord_filters ON public.discord_server_filters TO service_role
  USING (true) WITH CHECK (true);
CREATE POLICY service_manages_discord_links ON public.discord_links TO service_role USING (true) WITH CHECK (true);
CREATE POLICY service_manages_discord_codes ON public.discord_link_codes TO service_role
  USING (true) WITH CHECK (true);
