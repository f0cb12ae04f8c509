"""What every command takes: where the settings come from. Added to a command by ``@configured``."""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.runtime.errors import Invalid

if TYPE_CHECKING:
    from shoal.roles.config import Given

DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="The data directory of 'shoal up'.", show_default=False)
]
ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="A settings file (TOML).", show_default=False)
]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any setting; 'shoal config show' lists them."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]

_ADDED = {"data_dir": DataDir, "config": ConfigFile, "sets": Sets}


def configured(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the three options; it gets what they say as ``given``."""

    @functools.wraps(command)
    def run(*, data_dir: Path | None, config: Path | None, sets: list[str] | None, **own: Any) -> None:
        command(given=_given(data_dir, config, sets or []), **own)

    signature = inspect.signature(command)
    own = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in signature.parameters.values()
        if parameter.name != "given"
    ]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in _ADDED.items()
    ]
    run.__signature__ = signature.replace(parameters=own + added)  # type: ignore[attr-defined]  # read by typer
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in own + added}
    del run.__wrapped__  # typer would follow it
    return run


def _given(data_dir: Path | None, config: Path | None, sets: list[str]) -> "Given":
    from shoal.roles.config import Given

    flags: dict[str, object] = {"data_dir": str(data_dir) if data_dir else None}
    for one in sets:
        name, equals, value = one.partition("=")
        if not equals:
            raise Invalid("invalid_setting", f"--set {one} has no '='.", hint="Write --set name=value.")
        flags[name] = value
    return Given(flags=flags, file=config)
