-- tell_node_events: something happened to these nodes
-- params: node_ids uuid[], type text
-- returns: none
-- locks: none
SELECT shoal.node_event(id, $2) FROM unnest($1::uuid[]) AS id
