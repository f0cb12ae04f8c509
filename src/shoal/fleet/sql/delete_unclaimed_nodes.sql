-- delete_unclaimed_nodes: forget nodes that nobody claimed for so long and that were not heard since
-- params: older_s double precision, at_most int
-- returns: how many
-- locks: the nodes
WITH old AS (
  SELECT n.id FROM public.nodes n
   WHERE n.user_id IS NULL AND n.revoked_at IS NULL AND n.created_at < clock_timestamp() - make_interval(secs => $1)
     AND coalesce(n.last_seen_at, n.created_at) < clock_timestamp() - make_interval(secs => $1)
   ORDER BY n.created_at LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM public.nodes n USING old WHERE n.id = old.id RETURNING n.id
)
SELECT count(*)::int FROM gone
