-- list_changed_nodes: the claimed or revoked nodes that owners changed within the last seconds
-- params: within_s double precision
-- returns: rows (id)
-- locks: none
SELECT n.id FROM public.nodes n
 WHERE n.changed_at > clock_timestamp() - make_interval(secs => $1)
   AND (n.user_id IS NOT NULL OR n.revoked_at IS NOT NULL)
