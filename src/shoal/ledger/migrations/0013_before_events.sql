-- Events: what became true, who wants to hear of it, and how far each of them has been told.
--
-- An event is appended in the transaction that makes it true, by shoal.append_events. It always comes into
-- the store, but for those there are many of (task.* and job.started), which are only kept when somebody
-- asked for them. Into the outbox it comes when a sink wants its type, once, however many sinks do.
--
-- Order. The ids of the outbox are drawn before their transactions commit, so a cursor over ids would pass
-- by what commits late. Whoever holds the row of a partition in outbox_partition_t gives the committed rows
-- of it their positions, and cursors count those. Who changes an aggregate holds its row until the commit:
-- so the rows of one aggregate become visible in the order in which they were appended, and their positions
-- follow it.
--
-- No foreign keys between the store and the outbox: they cost a look at each row, and only retention deletes
-- from the store, which takes the outbox along.
--
-- Lock order: tasks, jobs or whatever changes, then a partition, then cursors by (sink, partition).

CREATE DOMAIN shoal.event_payload AS jsonb CONSTRAINT event_payload_fits CHECK (octet_length(VALUE::text) <= 262144);
CREATE DOMAIN shoal.event_name AS text CHECK (length(VALUE) BETWEEN 1 AND 126);

-- aggregate_version: the how manieth change of its aggregate, where that counts its changes; else null.
-- tx and seq order the store for those who read on from where they were: what is older than every running
-- transaction, by (tx, seq).
CREATE TABLE public.event_store_t (
  event_id           uuid PRIMARY KEY,
  aggregate_type     shoal.event_name NOT NULL,
  aggregate_id       text NOT NULL,
  aggregate_version  bigint,
  event_type         shoal.event_name NOT NULL,
  event_topic        shoal.event_name NOT NULL,
  payload            shoal.event_payload NOT NULL DEFAULT '{}',
  user_id            uuid,
  occurred_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  tx                 xid8 NOT NULL DEFAULT pg_current_xact_id(),
  seq                bigint GENERATED ALWAYS AS IDENTITY
);
CREATE INDEX event_store_in_order ON public.event_store_t (tx, seq);
CREATE INDEX event_store_of_user ON public.event_store_t (user_id, tx, seq) WHERE user_id IS NOT NULL;

-- sink: null for all who want the event, or the one to whom it is told again.
CREATE TABLE public.outbox_message_t (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  event_id   uuid NOT NULL,
  partition  smallint NOT NULL,
  position   bigint,
  sink       text
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX outbox_without_position ON public.outbox_message_t (partition, id) WHERE position IS NULL;
CREATE UNIQUE INDEX outbox_in_order ON public.outbox_message_t (partition, position) WHERE position IS NOT NULL;

-- last_position: the last one that was given away.
CREATE TABLE public.outbox_partition_t (
  partition      smallint PRIMARY KEY,
  last_position  bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
INSERT INTO public.outbox_partition_t (partition) SELECT generate_series(0, 15);

-- Who is told. patterns: types of events; `job.*` for all that begin with `job.`, `*` for all but those of
-- single tasks. user_id: only this user's events; null for everybody's.
CREATE TABLE public.event_sink_t (
  name            text PRIMARY KEY CHECK (name ~ '^[a-z0-9][a-z0-9._-]{0,62}$'),
  kind            text NOT NULL CHECK (kind IN ('kafka', 'webhook', 'beacon', 'consumer', 'jobs')),
  patterns        text[] NOT NULL CHECK (cardinality(patterns) BETWEEN 1 AND 100),
  user_id         uuid,
  config          jsonb NOT NULL DEFAULT '{}',
  max_attempts    int NOT NULL DEFAULT 10 CHECK (max_attempts BETWEEN 1 AND 1000),
  paused_because  text CHECK (length(paused_because) BETWEEN 1 AND 1000),
  created_at      timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- What the messages to a sink are signed with. Apart, since who owns the sink may read the other table.
CREATE TABLE shoal.sink_secrets (
  sink    text PRIMARY KEY REFERENCES public.event_sink_t (name) ON DELETE CASCADE,
  secret  text NOT NULL CHECK (length(secret) >= 32)
);

-- Which events a consumer in this database has dealt with, for those that must not do it twice, also when
-- they are told again. Goes with the event.
CREATE TABLE shoal.consumed_events (
  event_id  uuid NOT NULL,
  sink      text NOT NULL REFERENCES public.event_sink_t (name) ON DELETE CASCADE,
  PRIMARY KEY (event_id, sink)
);

-- How far a sink has been told of a partition; and who tells it until when (holder, held_until).
CREATE TABLE public.consumer_offset_t (
  sink        text NOT NULL REFERENCES public.event_sink_t (name) ON DELETE CASCADE,
  partition   smallint NOT NULL,
  position    bigint NOT NULL DEFAULT 0,
  holder      uuid,
  held_until  timestamptz,
  attempts    int NOT NULL DEFAULT 0,
  failing_since  timestamptz,
  retry_at    timestamptz,
  last_error  text,
  moved_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (sink, partition)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- What a sink could not be told, with the reason. Kept with its event, until it is told again or forgotten.
CREATE TABLE public.event_dead_letter_t (
  sink       text NOT NULL REFERENCES public.event_sink_t (name) ON DELETE CASCADE,
  event_id   uuid NOT NULL,
  reason     text NOT NULL,
  attempts   int NOT NULL,
  failed_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (sink, event_id)
);

-- Which of 16 partitions an aggregate is in. The lowest bits, and not what is left by a division: of a
-- negative hash that would be negative, and the smallest integer has no absolute value.
CREATE FUNCTION shoal.partition_of(p_aggregate_id text) RETURNS smallint LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS 'SELECT (pg_catalog.hashtext(p_aggregate_id) & 15)::smallint';

CREATE FUNCTION shoal.event_matches(p_event_type text, p_patterns text[]) RETURNS boolean LANGUAGE sql
IMMUTABLE PARALLEL SAFE AS $$
  SELECT p_event_type = ANY (p_patterns)
      OR EXISTS (SELECT FROM unnest(p_patterns) AS p
                  WHERE p = '*' AND NOT starts_with(p_event_type, 'task.')
                     OR right(p, 2) = '.*' AND starts_with(p_event_type, left(p, -1)))
$$;

-- Whether events of this type are kept though nobody asked for them.
CREATE FUNCTION shoal.event_is_kept(p_event_type text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT NOT (starts_with(p_event_type, 'task.') OR p_event_type = 'job.started') $$;

-- event_is_wanted: whether a sink asked for events of this type. For whoever would otherwise make many
-- events for nobody.
CREATE FUNCTION shoal.event_is_wanted(p_event_type text) RETURNS boolean LANGUAGE sql
STABLE SECURITY DEFINER SET search_path = '' AS $$
  SELECT EXISTS (SELECT FROM public.event_sink_t s WHERE shoal.event_matches(p_event_type, s.patterns))
$$;

-- append_events: append a batch of events of one type of aggregate, in the caller's transaction. The nth
-- elements of the arrays belong together; an array left out is null for all. Returns how many are new.
--   p_aggregate_type      job, node, schedule, …
--   p_aggregate_ids       which job, …: what an order is kept for
--   p_event_types         job.completed, …; what users make is under user.
--   p_payloads            null for {}
--   p_user_ids            whose events they are: who may read them
--   p_aggregate_versions  where the aggregate counts its changes
--   p_event_ids           an event whose id is there already is not appended again; null for a new id
--   p_event_topics        null for the type of the aggregate
-- What is not kept for its own sake is dropped when nobody asked for it. Locks nothing but what it inserts.
CREATE FUNCTION shoal.append_events(
  p_aggregate_type text, p_aggregate_ids text[], p_event_types text[], p_payloads jsonb[] DEFAULT NULL,
  p_user_ids uuid[] DEFAULT NULL, p_aggregate_versions bigint[] DEFAULT NULL, p_event_ids uuid[] DEFAULT NULL,
  p_event_topics text[] DEFAULT NULL
) RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  v_types  text[] := ARRAY(SELECT DISTINCT unnest(p_event_types));
  v_wanted text[];
  v_wrong  text;
  v_quiet  boolean;
  v_new    int;
  v_told   int;
BEGIN
  SELECT array_agg(t) FILTER (WHERE EXISTS (SELECT FROM public.event_sink_t s WHERE shoal.event_matches(t, s.patterns))),
         min(t) FILTER (WHERE t !~ '^[a-z][a-z0-9_.-]{0,125}$')
    INTO v_wanted, v_wrong FROM unnest(v_types) AS t;
  v_wanted := coalesce(v_wanted, '{}');
  IF v_wrong IS NOT NULL OR array_position(v_types, NULL) IS NOT NULL THEN
    PERFORM shoal.refuse('SH400', 'invalid_event_type', format('%L cannot be the type of an event.', v_wrong),
      'Types have small letters, digits, _, . and -, and begin with a letter.');
  ELSIF NOT EXISTS (SELECT FROM unnest(v_types) AS t WHERE shoal.event_is_kept(t) OR t = ANY (v_wanted)) THEN
    RETURN 0;
  END IF;
  -- A commit that notifies waits for the commits of all others that do. While something waits for its position,
  -- somebody has been woken for it, and looks once more before going back to sleep.
  v_quiet := cardinality(v_wanted) > 0
             AND NOT EXISTS (SELECT FROM public.outbox_message_t o WHERE o.position IS NULL);
  WITH new AS (
    INSERT INTO public.event_store_t AS e (event_id, aggregate_type, aggregate_id, aggregate_version, event_type,
                                           event_topic, payload, user_id)
    SELECT coalesce(g.event_id, shoal.uuid7()), p_aggregate_type, g.aggregate_id, g.aggregate_version, g.event_type,
           coalesce(g.event_topic, p_aggregate_type), coalesce(g.payload, '{}'), g.user_id
      FROM unnest(p_event_ids, p_aggregate_ids, p_aggregate_versions, p_event_types, p_event_topics, p_payloads,
                  p_user_ids) WITH ORDINALITY
           AS g(event_id, aggregate_id, aggregate_version, event_type, event_topic, payload, user_id, nr)
     WHERE g.event_type = ANY (v_wanted) OR shoal.event_is_kept(g.event_type)
     ORDER BY g.nr
    ON CONFLICT (event_id) DO NOTHING
    RETURNING e.event_id, e.aggregate_id, e.event_type, e.seq
  ), told AS (
    INSERT INTO public.outbox_message_t (event_id, partition)
    SELECT n.event_id, shoal.partition_of(n.aggregate_id) FROM new n
     WHERE n.event_type = ANY (v_wanted) ORDER BY n.seq
    RETURNING 1
  )
  SELECT (SELECT count(*) FROM new), (SELECT count(*) FROM told) INTO v_new, v_told;
  IF v_told > 0 AND v_quiet THEN
    PERFORM pg_notify('shoal_events', '');
  END IF;
  RETURN v_new;
END
$$;

ALTER TABLE public.event_store_t ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.outbox_message_t ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.outbox_partition_t ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.event_sink_t ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.consumer_offset_t ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.event_dead_letter_t ENABLE ROW LEVEL SECURITY;
ALTER TABLE shoal.sink_secrets ENABLE ROW LEVEL SECURITY;
ALTER TABLE shoal.consumed_events ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON public.event_store_t, public.outbox_message_t, public.outbox_partition_t, public.event_sink_t,
  public.consumer_offset_t, public.event_dead_letter_t, shoal.sink_secrets, shoal.consumed_events FROM PUBLIC, anon, authenticated, service_role, shoal_worker;
REVOKE ALL ON SEQUENCE public.event_store_t_seq_seq, public.outbox_message_t_id_seq
  FROM PUBLIC, anon, authenticated, service_role, shoal_worker;
GRANT SELECT ON public.event_store_t, public.event_sink_t, public.consumer_offset_t, public.event_dead_letter_t,
  public.outbox_partition_t TO authenticated, service_role;
GRANT SELECT ON public.outbox_message_t, shoal.sink_secrets, shoal.consumed_events TO service_role;
CREATE POLICY users_read_their_events ON public.event_store_t FOR SELECT TO authenticated
  USING (user_id = (SELECT auth.uid()));
CREATE POLICY users_read_their_sinks ON public.event_sink_t FOR SELECT TO authenticated
  USING (user_id = (SELECT auth.uid()));
-- The sub-selects on sinks are under the policy above.
CREATE POLICY users_read_their_cursors ON public.consumer_offset_t FOR SELECT TO authenticated
  USING (EXISTS (SELECT FROM public.event_sink_t s WHERE s.name = sink));
CREATE POLICY users_read_their_dead_letters ON public.event_dead_letter_t FOR SELECT TO authenticated
  USING (EXISTS (SELECT FROM public.event_sink_t s WHERE s.name = sink));
CREATE POLICY everybody_reads_how_much_there_is ON public.outbox_partition_t FOR SELECT TO authenticated USING (true);
CREATE POLICY service_reads_everything ON shoal.sink_secrets FOR SELECT TO service_role USING (true);
CREATE POLICY service_reads_everything ON shoal.consumed_events FOR SELECT TO service_role USING (true);
CREATE POLICY service_reads_everything ON public.event_store_t FOR SELECT TO service_role USING (true);
CREATE POLICY service_reads_everything ON public.outbox_message_t FOR SELECT TO service_role USING (true);
CREATE POLICY service_reads_everything ON public.outbox_partition_t FOR SELECT TO service_role USING (true);
CREATE POLICY service_reads_everything ON public.event_sink_t FOR SELECT TO service_role USING (true);
CREATE POLICY service_reads_everything ON public.consumer_offset_t FOR SELECT TO service_role USING (true);
CREATE POLICY service_reads_everything ON public.event_dead_letter_t FOR SELECT TO service_role USING (true);

REVOKE ALL ON FUNCTION shoal.partition_of, shoal.event_matches, shoal.event_is_kept, shoal.event_is_wanted, shoal.append_events
  FROM PUBLIC, anon, authenticated;
GRANT EXECUTE ON FUNCTION shoal.append_events, shoal.event_is_wanted TO service_role;
