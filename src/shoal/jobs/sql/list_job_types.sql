-- list_job_types: a page of the registered types of jobs, by name
-- params: after text, page_size int
-- returns: rows (type, version, params_schema, phases, registered_at); `after` is the last of the page before
-- locks: none
SELECT t.type, t.version, t.params_schema, t.phases, t.registered_at
  FROM public.job_types t
 WHERE t.type COLLATE "C" > $1
 ORDER BY t.type COLLATE "C"
 LIMIT $2
