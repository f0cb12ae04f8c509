-- read_filters: the filters of some guilds
-- params: guild_ids text[]
-- returns: rows (guild_id, guild_name, filter, updated_at)
-- locks: none
SELECT guild_id, guild_name, filter, updated_at FROM public.discord_server_filters WHERE guild_id = ANY ($1)
