-- remove_link: the user has no Discord account any more
-- params: user_id uuid
-- returns: one row (discord_id), or none when there was none
-- locks: the user's link
DELETE FROM public.discord_links WHERE user_id = $1 RETURNING discord_id
