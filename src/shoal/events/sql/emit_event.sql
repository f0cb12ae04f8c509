-- emit_event: append an event of the caller's own
-- params: type text, payload jsonb, key text, user_id uuid, event_id uuid
-- returns: its id
-- locks: none
SELECT public.emit_event($1, $2, $3, $4, $5)
