-- find_user_of_account: whose Discord account it is
-- params: discord_id text
-- returns: one row (user_id), or none
-- locks: none
SELECT user_id FROM public.discord_links WHERE discord_id = $1
