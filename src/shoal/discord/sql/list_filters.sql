-- list_filters: which filters there are, without what is in them
-- params: none
-- returns: rows (guild_id, guild_name, updated_at)
-- locks: none
SELECT guild_id, guild_name, updated_at FROM public.discord_server_filters
