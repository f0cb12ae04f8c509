-- forget_filters: remove the filters of all guilds but these
-- params: kept_guild_ids text[]
-- returns: rows (guild_id) of those that were removed
-- locks: the rows that go
DELETE FROM public.discord_server_filters WHERE guild_id <> ALL ($1) RETURNING guild_id
