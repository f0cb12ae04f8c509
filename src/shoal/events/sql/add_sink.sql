-- add_sink: a sink of the settings; a known one gets these wishes
-- params: name text, kind text, patterns text[], config jsonb
-- returns: whether it is new
-- locks: the sink
SELECT shoal.add_sink($1, $2, $3, p_config => $4)
