"""Settings: flags over the environment over a file over defaults; unknown names are refused.

Each part declares its own frozen struct beside the code it tunes. A role names the structs it
needs; all names form one flat list, so that ``database_url`` is ``SHOAL_DATABASE_URL``
in the environment, ``database_url = "…"`` in ``shoal.toml`` and ``--set database_url=…`` on a
command line.
"""

import dataclasses
import difflib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from shoal.runtime.errors import Invalid

PREFIX = "SHOAL_"
CONFIG_VARIABLE = "SHOAL_CONFIG"
DEFAULT_FILE = Path("shoal.toml")

SECRET = {"secret": True}
"""``Annotated[str, msgspec.Meta(extra=SECRET)]`` marks a value that is never printed."""

Section = TypeVar("Section", bound=msgspec.Struct)


@dataclasses.dataclass(frozen=True)
class Setting:
    """One value as ``shoal config show`` prints it."""

    name: str
    value: object = dataclasses.field(repr=False)  # it may be a secret
    default: object = dataclasses.field(repr=False)
    source: str
    description: str
    secret: bool

    @property
    def shown(self) -> str:
        if self.secret and self.value:
            return "********"
        return "" if self.value is None else str(self.value)


@dataclasses.dataclass(frozen=True)
class _Given:
    value: object
    source: str


class Settings:
    """The settings of one process: a struct per section, and where each value came from."""

    def __init__(self, sections: Mapping[type[msgspec.Struct], msgspec.Struct], rows: list[Setting]):
        self._sections = sections
        self.rows = rows

    def __getitem__(self, kind: type[Section]) -> Section:
        return cast("Section", self._sections[kind])


def read_settings(
    kinds: Sequence[type[msgspec.Struct]],
    *,
    flags: Mapping[str, object],
    environ: Mapping[str, str],
    file: Path | None = None,
    found: Mapping[str, object] | None = None,
) -> Settings:
    """Read the given sections.

    * A flag whose value is None was not given.
    * ``file`` (or ``SHOAL_CONFIG``) must exist; the default ``shoal.toml`` may be absent.
    * ``found`` is what a data directory offers for settings that nobody gave a value.
    """
    known = {field.name for kind in kinds for field in msgspec.structs.fields(kind)}
    given = {name: _Given(value, "data directory") for name, value in (found or {}).items()}
    given |= _given_in_file(_chosen_file(file, environ))
    given |= {
        name.removeprefix(PREFIX).lower(): _Given(value, name)
        for name, value in environ.items()
        if name.startswith(PREFIX) and name != CONFIG_VARIABLE
    }
    given |= {name: _Given(v, "command line") for name, v in flags.items() if v is not None}
    _refuse_unknown(given, known)
    sections: dict[type[msgspec.Struct], msgspec.Struct] = {}
    rows: list[Setting] = []
    for kind in kinds:
        section = _convert(kind, given)
        sections[kind] = section
        rows += _rows(section, given)
    return Settings(sections, rows)


def _chosen_file(file: Path | None, environ: Mapping[str, str]) -> Path | None:
    if file is not None:
        return file
    if named := environ.get(CONFIG_VARIABLE):
        return Path(named)
    return DEFAULT_FILE if DEFAULT_FILE.is_file() else None


def _given_in_file(file: Path | None) -> dict[str, _Given]:
    if file is None:
        return {}
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise Invalid(
            "settings_file_unreadable",
            f"The settings file {file} cannot be read: {error.strerror}.",
            hint=f"Check --config and {CONFIG_VARIABLE}.",
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Invalid(
            "settings_file_malformed",
            f"The settings file {file} is not valid TOML: {error}.",
            hint='Write one setting a line, as in: log_level = "debug".',
        ) from error
    return {name: _Given(value, str(file)) for name, value in table.items()}


def _refuse_unknown(given: Mapping[str, _Given], known: Iterable[str]) -> None:
    unknown = sorted(set(given) - set(known))
    if not unknown:
        return
    name = unknown[0]
    near = difflib.get_close_matches(name, list(known), n=1)
    meant = f"Did you mean {near[0]}? " if near else ""
    raise Invalid(
        "unknown_setting",
        f"There is no setting named {name} (from {given[name].source}).",
        hint=f"{meant}'shoal config show' lists all of them.",
    )


def _convert(kind: type[Section], given: Mapping[str, _Given]) -> Section:
    values: dict[str, object] = {}
    for field in msgspec.structs.fields(kind):
        if field.name not in given:
            continue
        entry = given[field.name]
        try:
            value = _split(entry.value, field)
            values[field.name] = msgspec.convert(value, field.type, strict=False, dec_hook=_decode_path)
        except msgspec.ValidationError as error:
            shown = "its value" if _is_secret(field) else repr(entry.value)
            raise Invalid(
                "invalid_setting",
                f"The setting {field.name} (from {entry.source}) cannot be {shown}: {error}.",
                hint=_description(field),
            ) from error
    return kind(**values)


def _split(value: object, field: msgspec.structs.FieldInfo) -> object:
    """A list may be written as text with commas: the environment knows nothing else."""
    if isinstance(value, str) and isinstance(field.default, tuple):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def _decode_path(kind: type, value: object) -> object:
    if kind is Path and isinstance(value, str):
        return Path(value).expanduser()
    raise NotImplementedError(kind)


def _rows(section: msgspec.Struct, given: Mapping[str, _Given]) -> list[Setting]:
    rows = []
    for field in msgspec.structs.fields(section):
        default = field.default
        if field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        rows.append(
            Setting(
                name=field.name,
                value=getattr(section, field.name),
                default=default,
                source=given[field.name].source if field.name in given else "default",
                description=_description(field),
                secret=_is_secret(field),
            )
        )
    return rows


def _metas(field: msgspec.structs.FieldInfo) -> list[msgspec.Meta]:
    found: list[Any] = list(getattr(field.type, "__metadata__", ()))
    return [meta for meta in found if isinstance(meta, msgspec.Meta)]


def _description(field: msgspec.structs.FieldInfo) -> str:
    return next((meta.description for meta in _metas(field) if meta.description), "")


def _is_secret(field: msgspec.structs.FieldInfo) -> bool:
    return any((meta.extra or {}).get("secret") for meta in _metas(field))
