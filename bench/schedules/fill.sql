-- $1: how many; $2: a cron expression, or null for every hour; $3: how long ago they were due
INSERT INTO schedule_t (host_id, schedule_name, frequency_unit, frequency_time, cron, zone, start_ts, next_run_ts,
                        next_fire_ts, event_type, event_data)
SELECT gen_random_uuid(), 'bench ' || n, CASE WHEN $2::text IS NULL THEN 'HOURS' ELSE 'CRON' END, 1, $2,
       (ARRAY['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe'])[1 + n % 5],
       m.due - interval '1 day', m.due, m.due, 'user.bench', '{"a": 1}'
  FROM generate_series(1, $1::int) n,
       (SELECT date_trunc('minute', clock_timestamp()) - $3::interval AS due) m
