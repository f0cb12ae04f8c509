-- fire_schedules: fire a batch of due schedules as they were planned
-- params: instance_id text, elected_at timestamptz, schedule_ids uuid[], versions bigint[], seen timestamptz[],
--   next_fires timestamptz[], next_runs timestamptz[], runs int[], run_ids uuid[], fire_ts timestamptz[],
--   since timestamptz[]
-- returns: one row: moved, how many schedules went on to their next time, or null when the term is not that
--   of the leader; runs, how many runs that made
-- locks: the schedules by id, without those that are held
SELECT moved, runs FROM shoal.fire_schedules($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
