"""The page of error codes, collected from the source: Python by its syntax tree, SQL by its calls.

What is found: every error kind made with a literal code (also in the ``super().__init__`` of a kind of
its own), every ``shoal.refuse('SH…', 'code', …)`` of a migration, and what the HTTP door refuses itself.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import shoal
from _generate.markdown import page
from shoal.api.errors import REFUSED, STATUS_OF
from shoal.cli.exits import exit_code_of
from shoal.runtime.errors import ShoalError
from shoal.runtime.refusals import KINDS as SQL_KINDS

INTRODUCTION = """\
People and programs see the same code: HTTP answers carry it in the problem document (RFC 9457, field
`code`), the command line prints it in brackets and exits with the number of its kind. Codes are stable;
sentences may change. `{…}` stands for what differs from case to case, and `…` in a code as well."""

HTTP_DOOR = """\
## From the HTTP door alone

What the door refuses before any part of Shoal is asked. The command line passes on what the API says; what
has no kind there ends with exit code {unknown}.

{entries}"""

KINDS: dict[str, type[ShoalError]] = {kind.__name__: kind for kind in ShoalError.__subclasses__()}

SOURCE = Path(str(files(shoal)))
REFUSAL = re.compile(r"PERFORM shoal\.refuse\((?P<arguments>.*?)\);", re.DOTALL)
SQL_TEXT = re.compile(r"'((?:[^']|'')*)'")

# What api/errors.py answers beside REFUSED; the page is not written when one of them is gone.
ANSWERED = {
    "invalid_request": (400, "A field of the request is missing or wrong; the detail names it."),
    "media_type_not_supported": (415, "The body must be JSON, sent with 'Content-Type: application/json'."),
    "internal_error": (500, "Something went wrong here. The incident is {id}."),
}


@dataclass(frozen=True, order=True)
class Refusal:
    code: str
    kind: str
    message: str
    hint: str
    where: str


def errors_page() -> str:
    found = sorted({*in_python(), *in_sql()})
    sections = [section(kind, [one for one in found if one.kind == name]) for name, kind in KINDS.items()]
    return page(
        "Error codes", "the calls that raise them (`src/shoal`)", INTRODUCTION, [*sections, http_door()]
    )


def in_python() -> Iterator[Refusal]:
    for file in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        constants = {
            target.id: str(one.value.value)
            for one in tree.body
            if isinstance(one, ast.Assign) and isinstance(one.value, ast.Constant)
            for target in one.targets
            if isinstance(target, ast.Name)
        }
        for name, call in calls_of_kinds(tree):
            code = text_of(call.args[0], {}, gap="…")
            if code:
                hint = next((one.value for one in call.keywords if one.arg == "hint"), None)
                message = text_of(call.args[1], constants) if len(call.args) > 1 else ""
                yield Refusal(code, name, message, text_of(hint, constants) if hint else "", place(file))


def calls_of_kinds(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """``Invalid(…)``, and in a class of that kind ``super().__init__(…)``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            bases = [base.id for base in node.bases if isinstance(base, ast.Name) and base.id in KINDS]
            for call in ast.walk(node):
                if bases and isinstance(call, ast.Call) and ast.unparse(call.func) == "super().__init__":
                    yield bases[0], call
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KINDS:
            yield node.func.id, node


def text_of(node: ast.expr, constants: dict[str, str], *, gap: str = "") -> str:
    """A literal, or an f-string in which what is put in is named; with ``gap``, nothing else counts."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(one.value) if isinstance(one, ast.Constant) else gap or named(one.value, constants)
            for one in node.values
            if isinstance(one, ast.Constant | ast.FormattedValue)
        )
    return "" if gap else named(node, constants)


def named(node: ast.expr, constants: dict[str, str]) -> str:
    """``{path}`` for ``self.path``, ``{error}`` for ``reason(error)``: a word for people, not the code."""
    match node:
        case ast.Name():
            return constants.get(node.id) or f"{{{node.id.strip('_')}}}"
        case ast.Attribute() if not node.attr.startswith("__"):
            return f"{{{node.attr.strip('_')}}}"
        case ast.Attribute() | ast.Subscript():
            return named(node.value, constants)
        case ast.Call():
            return named(node.args[0] if node.args else node.func, constants)
        case _:
            return "{…}"


def in_sql() -> Iterator[Refusal]:
    for file in sorted(SOURCE.rglob("*.sql")):
        for call in REFUSAL.finditer(file.read_text(encoding="utf-8")):
            kind, code, *said = [text.replace("''", "'") for text in SQL_TEXT.findall(call["arguments"])]
            message, hint = (*said, "", "")[:2]
            message = re.sub(r"%[LsI]", "{…}", message) or "{…}"
            yield Refusal(code, SQL_KINDS[kind].__name__, message, hint, place(file))


def place(file: Path) -> str:
    name = file.relative_to(SOURCE).as_posix()
    return f"[{name}](../../src/shoal/{name})"


def section(kind: type[ShoalError], found: list[Refusal]) -> str:
    status = next(status for known, status in STATUS_OF.items() if issubclass(kind, known))
    head = f"## {kind.__name__}\n\nHTTP {status} · exit code {exit_code_of(kind('', ''))}"
    return f"{head} · {(kind.__doc__ or '').strip()}\n\n{entries(found)}"


def entries(found: list[Refusal]) -> str:
    lines = []
    for code in sorted({one.code for one in found}):
        same = [one for one in found if one.code == code]
        places = ", ".join(sorted({one.where for one in same}))
        lines.append(f"- **`{code}`** ({places})")
        for message, hint in sorted({(one.message, one.hint) for one in same}):
            lines.append(f"  - {plain(message)}{f' *{plain(hint)}*' if hint else ''}")
    return "\n".join(lines)


def plain(text: str) -> str:
    """Keep Markdown from reading anything into it."""
    return " ".join(re.sub(r"([*<>\[\]|])", r"\\\1", text).split())


def http_door() -> str:
    source = (SOURCE / "api" / "errors.py").read_text(encoding="utf-8")
    if gone := [code for code in ANSWERED if f'"{code}"' not in source]:
        raise ValueError(f"api/errors.py no longer answers {gone}")
    answers = {code: (status, detail) for status, (code, detail, _) in REFUSED.items()} | ANSWERED
    lines = [f"- **`{code}`** (HTTP {status})\n  - {plain(said)}" for code, (status, said) in answers.items()]
    unknown = exit_code_of(KINDS["Unavailable"]("", ""))
    return HTTP_DOOR.format(unknown=unknown, entries="\n".join(sorted(lines)))
