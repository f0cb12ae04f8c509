-- read_config: the text with this hash
-- params: hash text
-- returns: the text, or none
-- locks: none
SELECT c.body FROM public.configs c WHERE c.hash = $1
