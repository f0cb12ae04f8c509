-- list_claimed_fleet_tasks: everything the fleet holds in the ledger
-- params: none
-- returns: rows (id, claim_token)
-- locks: none
SELECT t.id, t.claim_token FROM public.job_tasks t WHERE t.executor = 'fleet' AND t.status = 'claimed'
