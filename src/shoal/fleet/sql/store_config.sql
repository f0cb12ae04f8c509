-- store_config: keep a text under its hash
-- params: body text
-- returns: the hash
-- locks: none
SELECT public.store_config($1)
