-- list_revoked_nodes: the nodes that were revoked within the last seconds, and may still have a token
-- params: within_s double precision
-- returns: rows (id)
-- locks: none
SELECT n.id FROM public.nodes n
 WHERE n.changed_at > clock_timestamp() - make_interval(secs => $1) AND n.revoked_at IS NOT NULL
