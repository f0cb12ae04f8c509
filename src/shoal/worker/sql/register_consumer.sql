-- register_consumer: a handler of events, by its name
-- params: name text, patterns text[], max_attempts int
-- returns: whether it is new
-- locks: the sink
SELECT shoal.register_consumer($1, $2, $3)
