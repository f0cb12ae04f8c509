-- read_link: the Discord account of whoever asks; the policies show no other
-- params: none
-- returns: one row (discord_id, discord_name, linked_at), or none
-- locks: none
SELECT discord_id, discord_name, linked_at FROM public.discord_links WHERE user_id = auth.uid()
