-- delete_old_configs: forget configs that nobody stored again and no task named for so long
-- params: older_s double precision, at_most int
-- returns: how many
-- locks: the configs
WITH old AS (
  SELECT c.hash FROM public.configs c WHERE c.used_at < clock_timestamp() - make_interval(secs => $1)
   ORDER BY c.used_at LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM public.configs c USING old WHERE c.hash = old.hash RETURNING c.hash
)
SELECT count(*)::int FROM gone
