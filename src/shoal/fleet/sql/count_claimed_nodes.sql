-- count_claimed_nodes: how many nodes belong to somebody
-- params: none
-- returns: the number
-- locks: none
SELECT count(*) FROM public.nodes WHERE user_id IS NOT NULL AND revoked_at IS NULL
