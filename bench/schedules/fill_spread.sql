-- $1: how many, one every ten seconds each, spread evenly over them; the first is due in three seconds
INSERT INTO schedule_t (host_id, schedule_name, frequency_unit, frequency_time, start_ts, next_run_ts, next_fire_ts,
                        missed_runs, missed_limit, event_type, event_data)
SELECT gen_random_uuid(), 'spread ' || n, 'SECONDS', 10, m.due, m.due, m.due, 'all', 1000, 'user.bench', '{"a": 1}'
  FROM (SELECT clock_timestamp() AS now) b
 CROSS JOIN generate_series(1, $1::int) n
 CROSS JOIN LATERAL (SELECT b.now + interval '3 s' + n * interval '10 s' / $1::int AS due) m
