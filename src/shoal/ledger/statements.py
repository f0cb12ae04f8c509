"""Named statements: one ``.sql`` file each, called by its name and by the names of its parameters.

A file opens with its interface, in comments::

    -- cancel_job: end a job and every task of it that has not ended
    -- params: job_id uuid, reason text
    -- returns: one row (id, status), or none when there is no such job
    -- locks: its tasks by id, then the job

and goes on with one statement that a console can run, with ``$1`` for the first parameter and so on.
A file that does not keep its word is refused when it is loaded, a call with the wrong names before
anything is sent.
"""

import re
from importlib.resources import files
from typing import Any

from shoal.ledger.connection import Connection, Row

REQUIRED = ("params", "returns", "locks")
HEADER_LINE = re.compile(r"--\s?(?:(?P<key>\w+):\s)?(?P<text>.*)")
PLACEHOLDER = re.compile(r"\$(\d+)")


class Statement:
    """One statement. ``value``, ``row`` and ``rows`` say what the caller expects back."""

    def __init__(self, name: str, text: str, params: tuple[str, ...]) -> None:
        self.name = name
        self.text = text
        self.params = params

    async def rows(self, connection: Connection, /, **values: object) -> list[Row]:
        return await connection.fetch(self.text, *self._positions(values))

    async def row(self, connection: Connection, /, **values: object) -> Row | None:
        return await connection.fetchrow(self.text, *self._positions(values))

    async def value(self, connection: Connection, /, **values: object) -> Any:
        return await connection.fetchval(self.text, *self._positions(values))

    async def run(self, connection: Connection, /, **values: object) -> None:
        await connection.execute(self.text, *self._positions(values))

    def _positions(self, values: dict[str, object]) -> list[object]:
        if values.keys() != set(self.params):
            raise TypeError(f"{self.name} takes ({', '.join(self.params)}), not ({', '.join(values)})")
        return [values[name] for name in self.params]


class Statements:
    """The statements of one room, as attributes."""

    def __init__(self, statements: dict[str, Statement]) -> None:
        self._statements = statements

    def __getattr__(self, name: str) -> Statement:
        try:
            return self._statements[name]
        except KeyError:
            raise AttributeError(f"there is no statement {name}.sql") from None


def load_statements(package: str, folder: str = "sql") -> Statements:
    """Read every ``.sql`` file in a package's folder."""
    found = {}
    for file in files(package).joinpath(folder).iterdir():
        if file.name.endswith(".sql"):
            name = file.name.removesuffix(".sql")
            found[name] = parse_statement(name, file.read_text(encoding="utf-8"))
    return Statements(found)


def parse_statement(name: str, text: str) -> Statement:
    header = read_header(text)
    if name not in header:
        raise ValueError(f"{name}.sql must open with '-- {name}: what it does'")
    for key in REQUIRED:
        if key not in header:
            raise ValueError(f"{name}.sql does not say '-- {key}: …' in its header")
    params = parse_params(header["params"])
    if len(set(params)) != len(params) or not all(params):
        raise ValueError(f"{name}.sql declares params without a name, or a name twice: {header['params']!r}")
    used = {int(number) for number in PLACEHOLDER.findall(_without_comments(text))}
    if used != set(range(1, len(params) + 1)):
        raise ValueError(f"{name}.sql declares {len(params)} parameters and uses {sorted(used)} of them")
    return Statement(name, text, params)


def read_header(text: str) -> dict[str, str]:
    """The ``-- key: text`` lines a file opens with; a line without a key goes on with the last."""
    header: dict[str, str] = {}
    key = ""
    for line in text.splitlines():
        match = HEADER_LINE.fullmatch(line.strip())
        if match is None:
            break
        if match["key"]:
            key = match["key"]
            header[key] = match["text"]
        elif key:
            header[key] += " " + match["text"].strip()
    return header


def parse_params(declared: str) -> tuple[str, ...]:
    """``job_id uuid, reason text`` → the names, in order; ``none`` declares that there are none."""
    if declared.strip() == "none":
        return ()
    return tuple(part.strip().partition(" ")[0] for part in declared.split(","))


def _without_comments(text: str) -> str:
    return re.sub(r"--[^\n]*", "", text)
