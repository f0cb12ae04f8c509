"""The page of events, from the catalogue."""

from _generate.markdown import code, page, table
from shoal.events.catalogue import CATALOGUE

INTRODUCTION = """\
An event is a fact, appended in the transaction that made it true. [How events are
told](../explanation/events.md) says what is promised, [Follow events](../how-to/follow-events.md) how to
listen.

Wherever it is told, it looks like this; `id` is the same however often it is:

```json
{"id": "01a1f63a-07d6-79ee-bc6c-49267c508947", "type": "job.completed", "topic": "job",
 "aggregateType": "job", "aggregateId": "01a1f639-…", "aggregateVersion": 3,
 "userId": "00000000-…", "occurredAt": "2030-01-31T09:00:00.123456Z",
 "payload": {"v": 1, "jobId": "01a1f639-…", "jobType": "hello", "status": "complete", "result": "Hello"}}
```

- `aggregateId` is what the order is kept for, and the key in Kafka. `aggregateVersion` counts its changes,
  where they are counted.
- `v` in the payload is the version of its fields. New fields come without a new version.
- `user.*` are the events of users: of schedules, and those emitted with `shoal events emit`, `POST
  /api/events` or `SELECT emit_event(…)`. Nobody else's types can be emitted.
- Types marked *on demand* are only made while a sink asks for them: there are many, and one that nobody wants
  costs nothing. `*` asks for all but `task.*`; `task.*` and `task.completed` ask for those."""


def events_page() -> str:
    rows = (
        [
            code(name),
            kind.says + ("" if kind.is_kept else " *On demand.*"),
            kind.aggregate,
            ", ".join([*map(code, kind.always), *(f"{code(one)}?" for one in kind.perhaps)]),
        ]
        for name, kind in CATALOGUE.items()
    )
    return page(
        "Events",
        "`src/shoal/events/catalogue.py`",
        INTRODUCTION,
        [table(["type", "what it says", "aggregate", "payload (`?`: where it means something)"], rows)],
    )
