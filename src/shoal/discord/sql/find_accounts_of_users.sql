-- find_accounts_of_users: the Discord accounts of some users
-- params: user_ids uuid[]
-- returns: rows (user_id, discord_id), none for users without one
-- locks: none
SELECT user_id, discord_id FROM public.discord_links WHERE user_id = ANY ($1)
