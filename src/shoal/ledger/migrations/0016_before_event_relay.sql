-- How events come to those who asked for them: positions, cursors, and who moves them.
--
-- Whoever tells a sink takes some of its partitions for a while (take_events) under a token made for that
-- turn, tells their events in order, and moves the cursors (advance_cursors). A cursor only moves for the
-- token that holds it: who was paused and wakes up later moves nothing. So an event is told at least once,
-- and for each aggregate in order: if one is told twice, those after it are told again as well.
--
-- A consumer whose effect is in this database moves its cursor in the transaction of the effect: then the
-- effect is there exactly once.
--
-- Any number of processes tell the same sink. Nobody owns a partition for longer than a turn, so those of a
-- dead one are taken when their time is up.

-- order_outbox: give committed rows of the outbox their positions. Returns how many.
-- Locks: partitions with such rows, skipping those somebody else is at.
CREATE FUNCTION shoal.order_outbox(p_at_most int DEFAULT 2000) RETURNS int LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' SET enable_seqscan = off AS $$
DECLARE
  v_partitions smallint[];
  v_ordered    int;
BEGIN
  v_partitions := ARRAY(
    SELECT c.partition FROM public.outbox_partition_t c
     WHERE EXISTS (SELECT FROM public.outbox_message_t o WHERE o.partition = c.partition AND o.position IS NULL)
     ORDER BY c.partition FOR NO KEY UPDATE OF c SKIP LOCKED);
  IF cardinality(v_partitions) = 0 THEN
    RETURN 0;
  END IF;
  -- A statement of its own: it sees what was committed while the locks were taken.
  WITH waiting AS MATERIALIZED (
    SELECT w.id, p.partition, row_number() OVER (PARTITION BY p.partition ORDER BY w.id) AS nr
      FROM unnest(v_partitions) AS p(partition)
     CROSS JOIN LATERAL (
       SELECT o.id FROM public.outbox_message_t o
        WHERE o.partition = p.partition AND o.position IS NULL ORDER BY o.id LIMIT p_at_most) w
  ), placed AS (
    UPDATE public.outbox_message_t o SET position = c.last_position + w.nr
      FROM waiting w JOIN public.outbox_partition_t c ON c.partition = w.partition
     WHERE o.id = w.id
    RETURNING o.partition
  ), moved AS (
    UPDATE public.outbox_partition_t c SET last_position = c.last_position + n.n
      FROM (SELECT p.partition, count(*) AS n FROM placed p GROUP BY p.partition) n
     WHERE c.partition = n.partition
    RETURNING n.n
  )
  SELECT coalesce(sum(m.n), 0) INTO v_ordered FROM moved m;
  RETURN v_ordered;
END
$$;

-- add_sink: a new sink, or a known one with other wishes. A new one is told what happens from now on.
-- Returns whether it is new.
CREATE FUNCTION shoal.add_sink(
  p_name text, p_kind text, p_patterns text[], p_user_id uuid DEFAULT NULL, p_config jsonb DEFAULT '{}',
  p_secret text DEFAULT NULL, p_max_attempts int DEFAULT 10
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  v_known public.event_sink_t;
  v_new   boolean;
BEGIN
  INSERT INTO public.event_sink_t (name, kind, patterns, user_id, config, max_attempts)
  VALUES (p_name, p_kind, p_patterns, p_user_id, p_config, p_max_attempts)
  ON CONFLICT (name) DO NOTHING;
  v_new := FOUND;
  IF v_new THEN
    INSERT INTO public.consumer_offset_t (sink, partition, position)
    SELECT p_name, c.partition, c.last_position FROM public.outbox_partition_t c ORDER BY c.partition;
  ELSE
    SELECT s.* INTO v_known FROM public.event_sink_t s WHERE s.name = p_name FOR UPDATE;
    IF v_known.kind <> p_kind OR v_known.user_id IS DISTINCT FROM p_user_id THEN
      PERFORM shoal.refuse('SH409', 'sink_exists', format('The name %s is taken.', p_name), 'Choose another one.');
    END IF;
    UPDATE public.event_sink_t s SET patterns = p_patterns, config = p_config, max_attempts = p_max_attempts
     WHERE s.name = p_name
       AND (s.patterns, s.config, s.max_attempts) IS DISTINCT FROM (p_patterns, p_config, p_max_attempts);
  END IF;
  INSERT INTO shoal.sink_secrets AS k (sink, secret) SELECT p_name, p_secret WHERE p_secret IS NOT NULL
  ON CONFLICT (sink) DO UPDATE SET secret = excluded.secret;
  PERFORM pg_notify('shoal_events', '');
  RETURN v_new;
END
$$;

-- register_consumer: a consumer of an app, by its name; the workers of the app call it when they start.
CREATE FUNCTION shoal.register_consumer(p_name text, p_patterns text[], p_max_attempts int) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = ''
AS $$ SELECT shoal.add_sink(p_name, 'consumer', p_patterns, p_max_attempts => p_max_attempts) $$;

-- The cursors of a sink that have something to tell and are nobody's turn.
CREATE FUNCTION shoal.free_cursors(p_sink text) RETURNS SETOF public.consumer_offset_t LANGUAGE sql STABLE AS $$
  SELECT k.* FROM public.consumer_offset_t k
    JOIN public.outbox_partition_t c ON c.partition = k.partition
   WHERE k.sink = p_sink AND k.position < c.last_position
     AND (k.held_until IS NULL OR k.held_until < clock_timestamp())
     AND (k.retry_at IS NULL OR k.retry_at < clock_timestamp())
$$;

-- skip_unwanted_events: move the cursors on which nothing waits that their sinks asked for, so that an event
-- which one of many sinks wants costs the others nothing but this. Returns how many cursors.
-- Locks: those cursors, by sink and partition, skipping those somebody else is at.
CREATE FUNCTION shoal.skip_unwanted_events() RETURNS int LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' SET enable_seqscan = off AS $$
DECLARE
  v_skipped int;
BEGIN
  WITH free AS MATERIALIZED (
    SELECT k.sink, k.partition, c.last_position
      FROM public.consumer_offset_t k
      JOIN public.outbox_partition_t c ON c.partition = k.partition
      JOIN public.event_sink_t s ON s.name = k.sink AND s.paused_because IS NULL
     WHERE k.position < c.last_position
       AND (k.held_until IS NULL OR k.held_until < clock_timestamp())
       AND (k.retry_at IS NULL OR k.retry_at < clock_timestamp())
       AND NOT EXISTS (
             SELECT FROM public.outbox_message_t o JOIN public.event_store_t e ON e.event_id = o.event_id
              WHERE o.partition = k.partition AND o.position > k.position AND o.position <= c.last_position
                AND (o.sink IS NULL OR o.sink = k.sink) AND shoal.event_matches(e.event_type, s.patterns)
                AND (s.user_id IS NULL OR e.user_id = s.user_id))
     ORDER BY k.sink, k.partition FOR NO KEY UPDATE OF k SKIP LOCKED
  )
  UPDATE public.consumer_offset_t k
     SET position = greatest(k.position, f.last_position), attempts = 0, failing_since = NULL, retry_at = NULL,
         last_error = NULL, holder = NULL, held_until = NULL, moved_at = clock_timestamp()
    FROM free f WHERE k.sink = f.sink AND k.partition = f.partition;
  GET DIAGNOSTICS v_skipped = ROW_COUNT;
  RETURN v_skipped;
END
$$;

-- find_event_work: the sinks that have something to tell and nobody who is at it. For a process that tells
-- many, so that not each of them has to look.
CREATE FUNCTION shoal.find_event_work() RETURNS SETOF text LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = '' AS $$
  SELECT DISTINCT k.sink FROM public.consumer_offset_t k
    JOIN public.outbox_partition_t c ON c.partition = k.partition
   WHERE k.position < c.last_position
     AND (k.held_until IS NULL OR k.held_until < clock_timestamp())
     AND (k.retry_at IS NULL OR k.retry_at < clock_timestamp())
$$;

-- take_events: take up to p_partitions partitions of a sink for p_lease_s seconds, under the token p_holder,
-- and read what is to be told of each, up to p_at_most events. One row for each event, in order; up_to is
-- where the cursor of the partition is to go once all of its rows were told. A partition of which nothing is
-- wanted has one row without an event.
-- Locks: cursors that are free, skipping those somebody else takes.
CREATE FUNCTION shoal.take_events(p_sink text, p_holder uuid, p_lease_s real, p_partitions int, p_at_most int)
RETURNS TABLE (
  partition smallint, up_to bigint, attempts int, "position" bigint, event_id uuid, aggregate_type text,
  aggregate_id text, aggregate_version bigint, event_type text, event_topic text, payload jsonb, user_id uuid,
  occurred_at timestamptz
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' SET enable_seqscan = off AS $$
DECLARE
  v_sink public.event_sink_t;
  v_taken smallint[];
BEGIN
  SELECT s.* INTO v_sink FROM public.event_sink_t s WHERE s.name = p_sink AND s.paused_because IS NULL;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  WITH free AS (
    SELECT k.partition FROM public.consumer_offset_t k
      JOIN shoal.free_cursors(p_sink) f ON f.partition = k.partition
     WHERE k.sink = p_sink AND (k.held_until IS NULL OR k.held_until < clock_timestamp())
     ORDER BY k.moved_at LIMIT p_partitions FOR NO KEY UPDATE OF k SKIP LOCKED
  ), taken AS (
    UPDATE public.consumer_offset_t k
       SET holder = p_holder, held_until = clock_timestamp() + make_interval(secs => p_lease_s)
      FROM free f WHERE k.sink = p_sink AND k.partition = f.partition
    RETURNING k.partition
  )
  SELECT array_agg(t.partition ORDER BY t.partition) INTO v_taken FROM taken t;
  RETURN QUERY
    SELECT k.partition, r.up_to, k.attempts, e."position", e.event_id, e.aggregate_type::text, e.aggregate_id,
           e.aggregate_version, e.event_type::text, e.event_topic::text, e.payload::jsonb, e.user_id, e.occurred_at
      FROM public.consumer_offset_t k
      JOIN public.outbox_partition_t c ON c.partition = k.partition
     CROSS JOIN LATERAL (
       SELECT coalesce(max(n."position"), c.last_position) AS up_to FROM (
         SELECT o."position" FROM public.outbox_message_t o
          WHERE o.partition = k.partition AND o."position" > k."position"
          ORDER BY o."position" LIMIT p_at_most) n) r
      LEFT JOIN LATERAL (
       SELECT o."position", s.* FROM public.outbox_message_t o JOIN public.event_store_t s ON s.event_id = o.event_id
        WHERE o.partition = k.partition AND o."position" > k."position" AND o."position" <= r.up_to
          AND (o.sink IS NULL OR o.sink = p_sink) AND shoal.event_matches(s.event_type, v_sink.patterns)
          AND (v_sink.user_id IS NULL OR s.user_id = v_sink.user_id)
      ) e ON true
     WHERE k.sink = p_sink AND k.partition = ANY (v_taken)
     ORDER BY k.partition, e."position";
END
$$;

-- advance_cursors: what was told up to these positions is told. Returns the partitions whose cursors moved;
-- one that is missing is held by somebody else now. With p_done the turn is over.
-- Called in the transaction of an effect, it must be rolled back when a partition is missing.
CREATE FUNCTION shoal.advance_cursors(
  p_sink text, p_holder uuid, p_partitions smallint[], p_positions bigint[], p_done boolean, p_lease_s real DEFAULT 30
) RETURNS SETOF smallint LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $$
  UPDATE public.consumer_offset_t k
     SET position = greatest(k.position, g.position), attempts = 0, failing_since = NULL, retry_at = NULL,
         last_error = NULL, moved_at = clock_timestamp(),
         holder = CASE WHEN NOT p_done THEN k.holder END,
         held_until = CASE WHEN NOT p_done THEN clock_timestamp() + make_interval(secs => p_lease_s) END
    FROM unnest(p_partitions, p_positions) AS g(partition, position)
   WHERE k.sink = p_sink AND k.partition = g.partition AND k.holder = p_holder
  RETURNING k.partition
$$;

-- fail_event: an event could not be told; what comes before it in its partition was. The turn is over.
--   p_kind  refused  this event will never be taken: it goes to the dead letters at once
--           failed   perhaps another time: after the sink's attempts it goes to the dead letters, unless
--                    nothing of the sink moves at all; then the sink is what is broken, and that is waited
--                    for, for a day
--           away     the sink cannot be reached, or a store is away: waited for, and never held against
--                    the event
-- Returns retrying | dead | lost (somebody else holds the partition now).
-- Locks: the cursor.
CREATE FUNCTION shoal.fail_event(
  p_sink text, p_holder uuid, p_partition smallint, p_position bigint, p_event_id uuid, p_kind text, p_error text
) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  v_cursor public.consumer_offset_t;
  v_sink   public.event_sink_t;
  v_dead   boolean;
BEGIN
  SELECT k.* INTO v_cursor FROM public.consumer_offset_t k
   WHERE k.sink = p_sink AND k.partition = p_partition AND k.holder = p_holder FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN 'lost';
  END IF;
  SELECT s.* INTO v_sink FROM public.event_sink_t s WHERE s.name = p_sink;
  IF v_cursor.position < p_position - 1 THEN  -- it has come further: these are the first attempts at this one
    v_cursor.attempts := 0;
    v_cursor.failing_since := NULL;
  END IF;
  v_cursor.attempts := v_cursor.attempts + (p_kind <> 'away')::int;
  v_cursor.failing_since := coalesce(v_cursor.failing_since, clock_timestamp());
  v_dead := p_kind = 'refused'
    OR p_kind = 'failed' AND v_cursor.attempts >= v_sink.max_attempts
       AND (v_sink.kind IN ('consumer', 'jobs') OR v_cursor.failing_since < clock_timestamp() - interval '1 day'
            OR EXISTS (SELECT FROM public.consumer_offset_t k
                        WHERE k.sink = p_sink AND k.partition <> p_partition AND k.moved_at > v_cursor.failing_since));
  IF v_dead THEN
    INSERT INTO public.event_dead_letter_t AS d (sink, event_id, reason, attempts)
    VALUES (p_sink, p_event_id, left(p_error, 4000), v_cursor.attempts)
    ON CONFLICT (sink, event_id) DO UPDATE
      SET reason = excluded.reason, attempts = excluded.attempts, failed_at = clock_timestamp();
  END IF;
  UPDATE public.consumer_offset_t k
     SET position = greatest(k.position, p_position - (NOT v_dead)::int),
         attempts = CASE WHEN v_dead THEN 0 ELSE v_cursor.attempts END,
         failing_since = CASE WHEN NOT v_dead THEN v_cursor.failing_since END,
         retry_at = CASE WHEN NOT v_dead THEN clock_timestamp() + CASE p_kind
           WHEN 'away' THEN least(interval '0.5 s' + (clock_timestamp() - v_cursor.failing_since) / 2, interval '1 minute')
           ELSE least(shoal.backoff(1, v_cursor.attempts, random()), interval '5 minutes') END END,
         last_error = CASE WHEN NOT v_dead THEN left(p_error, 4000) END,
         moved_at = CASE WHEN k.position < p_position - 1 OR v_dead THEN clock_timestamp() ELSE k.moved_at END,
         holder = NULL, held_until = NULL
   WHERE k.sink = p_sink AND k.partition = p_partition;
  RETURN CASE WHEN v_dead THEN 'dead' ELSE 'retrying' END;
END
$$;

-- release_cursors: end a turn early; what was told and not moved is told again.
CREATE FUNCTION shoal.release_cursors(p_sink text, p_holder uuid) RETURNS void LANGUAGE sql
SECURITY DEFINER SET search_path = '' AS $$
  UPDATE public.consumer_offset_t k SET holder = NULL, held_until = NULL
   WHERE k.sink = p_sink AND k.holder = p_holder
$$;

-- delete_told_messages: a batch of rows of the outbox that every sink has been told of. Returns how many.
CREATE FUNCTION shoal.delete_told_messages(p_at_most int DEFAULT 5000) RETURNS int LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' SET enable_seqscan = off AS $$
DECLARE
  v_deleted int;
BEGIN
  DELETE FROM public.outbox_message_t d WHERE d.id IN (
    SELECT o.id FROM (
      SELECT c.partition, coalesce(min(k.position), c.last_position) AS told FROM public.outbox_partition_t c
        LEFT JOIN public.consumer_offset_t k ON k.partition = c.partition
       GROUP BY c.partition, c.last_position
    ) t
    CROSS JOIN LATERAL (
      SELECT m.id FROM public.outbox_message_t m
       WHERE m.partition = t.partition AND m.position <= t.told ORDER BY m.position LIMIT p_at_most
    ) o LIMIT p_at_most);
  GET DIAGNOSTICS v_deleted = ROW_COUNT;
  RETURN v_deleted;
END
$$;

-- delete_old_events: a batch of the events that are older than they are kept, with what the outbox and the
-- dead letters still have of them. Returns how many, and how many of those a sink was never told.
CREATE FUNCTION shoal.delete_old_events(p_keep interval, OUT deleted int, OUT untold int) LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' SET enable_seqscan = off AS $$
DECLARE
  v_old uuid[] := ARRAY(
    SELECT o.event_id FROM (
      SELECT e.event_id, e.occurred_at FROM public.event_store_t e ORDER BY e.tx, e.seq LIMIT 2000) o
     WHERE o.occurred_at < clock_timestamp() - p_keep);
BEGIN
  untold := 0;
  IF cardinality(v_old) > 0 AND EXISTS (SELECT FROM public.outbox_message_t) THEN
    WITH gone AS (  -- the oldest there are, for there is no index on whose they are
      DELETE FROM public.outbox_message_t o
       WHERE o.id IN (SELECT m.id FROM public.outbox_message_t m ORDER BY m.id LIMIT 10000) AND o.event_id = ANY (v_old)
      RETURNING o.id)
    SELECT count(*) INTO untold FROM gone;
  END IF;
  DELETE FROM public.event_dead_letter_t d WHERE d.event_id = ANY (v_old);
  DELETE FROM shoal.consumed_events c WHERE c.event_id = ANY (v_old);
  DELETE FROM public.event_store_t e WHERE e.event_id = ANY (v_old);
  GET DIAGNOSTICS deleted = ROW_COUNT;
END
$$;

-- heal_event_order: events that were restored from a dump into another server are older than any running
-- transaction, whatever the numbers say that they had where they came from. Returns how many.
CREATE FUNCTION shoal.heal_event_order() RETURNS int LANGUAGE plpgsql
SECURITY DEFINER SET search_path = '' SET enable_seqscan = off AS $$
DECLARE
  v_healed int;
BEGIN
  UPDATE public.event_store_t e SET tx = '3'::xid8 WHERE e.tx > pg_current_xact_id();
  GET DIAGNOSTICS v_healed = ROW_COUNT;
  RETURN v_healed;
END
$$;

CREATE INDEX dead_letters_of_event ON public.event_dead_letter_t (event_id);

REVOKE ALL ON FUNCTION
  shoal.order_outbox, shoal.add_sink, shoal.register_consumer, shoal.free_cursors, shoal.find_event_work, shoal.skip_unwanted_events,
  shoal.take_events, shoal.advance_cursors, shoal.fail_event, shoal.release_cursors, shoal.delete_told_messages,
  shoal.delete_old_events, shoal.heal_event_order FROM PUBLIC, anon, authenticated;
GRANT EXECUTE ON FUNCTION
  shoal.add_sink, shoal.find_event_work, shoal.skip_unwanted_events, shoal.delete_told_messages, shoal.delete_old_events, shoal.heal_event_order TO service_role;
GRANT EXECUTE ON FUNCTION
  shoal.order_outbox, shoal.register_consumer, shoal.take_events, shoal.advance_cursors, shoal.fail_event,
  shoal.release_cursors TO service_role, shoal_worker;
