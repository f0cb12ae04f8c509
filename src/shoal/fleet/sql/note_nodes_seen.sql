-- note_nodes_seen: these nodes were heard at these moments
-- params: node_ids uuid[], seen_at timestamptz[]
-- returns: none
-- locks: the nodes
UPDATE public.nodes n SET last_seen_at = s.seen_at
  FROM unnest($1::uuid[], $2::timestamptz[]) AS s(id, seen_at)
 WHERE n.id = s.id AND (n.last_seen_at IS NULL OR n.last_seen_at < s.seen_at)
