"""The page of settings, from the structs that stand beside the code they tune."""

import sys
import types
import typing
from pathlib import Path
from uuid import UUID

import msgspec

from _generate.markdown import code, first_line, page, table
from shoal.roles.config import SECTIONS
from shoal.runtime.settings import PREFIX

INTRODUCTION = """\
Every setting has one name. `database_url` is

- `SHOAL_DATABASE_URL` in the environment,
- `database_url = "…"` in a settings file: `--config FILE`, else the file `SHOAL_CONFIG` names, else
  `shoal.toml` in the current directory if there is one,
- `--set database_url=…` on a command line.

A flag wins over the environment, the environment over the file, the file over what the data directory
offers, and that over the default. An unknown name is refused. `shoal config show` prints what is set and
where each value came from; secrets are masked there."""

# The defaults that depend on the machine, in words.
COMPUTED = {
    "data_dir": "`$XDG_DATA_HOME/shoal`, else `~/.local/share/shoal`",
    "node_dir": "`$XDG_DATA_HOME/shoal-node`, else `~/.local/share/shoal-node`",
}

NAMES = {str: "text", int: "whole number", float: "number", bool: "true or false", Path: "path", UUID: "id"}
LIMITS = {"ge": "≥ {}", "gt": "> {}", "le": "≤ {}", "lt": "< {}"}


def settings_page() -> str:
    return page("Settings", "`SECTIONS` in `src/shoal/roles/config.py`", INTRODUCTION, map(section, SECTIONS))


def section(kind: type[msgspec.Struct]) -> str:
    title = kind.__name__.removesuffix("Settings")
    about = first_line(sys.modules[kind.__module__].__doc__)
    return f"## {title}\n\n`{kind.__module__}`: {about}\n\n" + table(
        ["setting", "environment", "value", "default", "what it means"],
        [row(field) for field in msgspec.structs.fields(kind)],
    )


def row(field: msgspec.structs.FieldInfo) -> list[str]:
    metas = [one for one in getattr(field.type, "__metadata__", ()) if isinstance(one, msgspec.Meta)]
    description = next((meta.description for meta in metas if meta.description), "")
    is_secret = any((meta.extra or {}).get("secret") for meta in metas)
    bounds = [
        text.format(value)
        for meta in metas
        for limit, text in LIMITS.items()
        if (value := getattr(meta, limit)) is not None
    ]
    return [
        code(field.name),
        code(PREFIX + field.name.upper()),
        ", ".join([type_name(field.type), *bounds, *(["secret"] if is_secret else [])]),
        default_of(field),
        description,
    ]


def type_name(annotation: typing.Any) -> str:
    if typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return " or ".join(code(value) for value in arguments)
    if origin is tuple:
        return f"list of {type_name(arguments[0])}"
    if origin in {typing.Union, types.UnionType}:
        return " or ".join(type_name(one) for one in arguments if one is not type(None))
    return NAMES[annotation]


def default_of(field: msgspec.structs.FieldInfo) -> str:
    if field.default_factory is not msgspec.NODEFAULT:
        return COMPUTED[field.name]
    return "none" if field.default in ("", (), None) else code(field.default)
