-- save_filter: keep the filter of a guild, unless it is the one that is kept
-- params: guild_id text, guild_name text, member_count integer, filter text
-- returns: nothing
-- locks: the filter's row
INSERT INTO public.discord_server_filters AS kept (guild_id, guild_name, member_count, filter)
VALUES ($1, $2, $3, $4)
ON CONFLICT (guild_id) DO UPDATE
SET guild_name = excluded.guild_name, member_count = excluded.member_count, filter = excluded.filter,
    updated_at = clock_timestamp()
WHERE kept.filter <> excluded.filter OR kept.guild_name <> excluded.guild_name
