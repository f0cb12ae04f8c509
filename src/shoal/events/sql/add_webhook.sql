-- add_webhook: tell a URL of events
-- params: url text, patterns text[], user_id uuid
-- returns: one row (name, secret)
-- locks: the sink
SELECT name, secret FROM public.add_webhook($1, $2, $3)
