"""The page of the schema, from the migrations: their comments, and what they create."""

import re
from dataclasses import dataclass

from _generate.markdown import page
from shoal.ledger.migrate import Migration, load_migrations

INTRODUCTION = """\
What the ledger (PostgreSQL 15 or newer) holds, in the order in which the migrations make it. Tables and the
functions that clients may call are in the schema `public`; what only Shoal's own functions use is in
`shoal`. `shoal db status` shows what is applied. Why it is as it is:
[life of a job](../explanation/life-of-a-job.md) and [progress](../explanation/progress.md)."""

OPENING = re.compile(r"(?:--[^\n]*\n)+")
CREATED = re.compile(
    r"(?P<comment>(?:^--[^\n]*\n)*)"
    r"^(?P<text>CREATE (?:OR REPLACE )?(?P<kind>TABLE|VIEW|FUNCTION|DOMAIN|TYPE) (?P<name>[\w.]+).*?;)$",
    re.MULTILINE | re.DOTALL,
)
BODY = re.compile(r"\s+LANGUAGE\b.*", re.DOTALL)
FUNCTION_END = re.compile(r"^\$\$;$", re.MULTILINE)


@dataclass(frozen=True)
class Created:
    kind: str
    name: str
    comment: str
    text: str


def schema_page() -> str:
    return page(
        "Schema",
        "the migrations in `src/shoal/ledger/migrations`",
        INTRODUCTION,
        map(section, load_migrations()),
    )


def section(migration: Migration) -> str:
    opening = OPENING.match(migration.text)
    parts = [f"## {migration.name.removesuffix('.sql')}"]
    if opening is not None:
        parts.append(as_written(opening[0]))
    for one in created(migration.text[opening.end() if opening else 0 :]):
        parts.append(f"### {one.kind.lower()} `{one.name}`")
        if one.comment:
            parts.append(as_written(one.comment))
        parts.append(f"```sql\n{one.text}\n```")
    return "\n\n".join(parts)


def created(text: str) -> list[Created]:
    found = []
    position = 0
    while (match := CREATED.search(text, position)) is not None:
        position = match.end()
        statement = match["text"]
        if match["kind"] == "FUNCTION":
            # The first semicolon at the end of a line is inside the body: only the signature is shown.
            end = FUNCTION_END.search(text, match.start("text"))
            position = end.end() if end else position
            statement = BODY.sub("", text[match.start("text") : position])
        found.append(Created(match["kind"], match["name"], match["comment"], statement))
    return found


def as_written(comment: str) -> str:
    """Comments are set by hand, with lists and columns: they are shown as they are."""
    lines = [line.removeprefix("--").removeprefix(" ") for line in comment.rstrip().splitlines()]
    return "\n".join(["```text", *lines, "```"])
