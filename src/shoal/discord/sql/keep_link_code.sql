-- keep_link_code: a new code for a user, in the place of one that they have
-- params: user_id uuid, code_hash bytea, lasts interval
-- returns: one row (expires_at)
-- locks: the user's code
INSERT INTO public.discord_link_codes AS kept (user_id, code_hash, expires_at)
VALUES ($1, $2, clock_timestamp() + $3)
ON CONFLICT (user_id) DO UPDATE SET code_hash = excluded.code_hash, expires_at = excluded.expires_at
RETURNING expires_at
