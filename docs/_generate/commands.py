"""The page of commands, from the objects typer makes of them: never from the width of a terminal."""

import typing
from collections.abc import Iterator
from typing import Any

import typer

from _generate.markdown import code, page, table
from shoal.cli.exits import BAD_NEWS, DEFECT, INTERRUPTED, exit_code_of
from shoal.cli.main import app
from shoal.runtime.errors import ShoalError

INTRODUCTION = """\
Every command says more with `--help`. Every command takes these options, and where it prints data also
`--json`:

{shared}

A command talks to the `shoal up` of its data directory. `SHOAL_API_URL` and `SHOAL_TOKEN` name another API.

## Exit codes

{exits}

Errors are printed to stderr: what was wrong, what to do, and the [code](errors.md) in brackets."""

SHARED = ("--data-dir", "--config", "--set")
NAMES = {"str": "TEXT", "int": "NUMBER", "float": "NUMBER", "Path": "PATH"}


def commands_page() -> str:
    root = typer.main.get_command(app)
    commands = dict(leaves(root, "shoal"))
    given = next(iter(commands.values()))
    shared = table(
        ["option", "what it does"],
        [[option_names(one), help_of(one)] for one in given.params if one.opts[0] in SHARED],
    )
    return page(
        "Commands",
        "the command line itself (`src/shoal/cli`)",
        INTRODUCTION.format(shared=shared, exits=exits()),
        [section(name, command) for name, command in commands.items()],
    )


def leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Every command that does something, in the order in which ``--help`` lists them."""
    if not hasattr(command, "commands"):
        yield name, command
        return
    for child, below in command.commands.items():
        if not below.hidden:
            yield from leaves(below, f"{name} {child}")


def section(name: str, command: Any) -> str:
    shown = [one for one in command.params if not one.hidden and one.opts[0] not in SHARED]
    arguments = [one for one in shown if not one.opts[0].startswith("-")]
    options = [one for one in shown if one.opts[0].startswith("-")]
    usage = " ".join([name, *map(argument_name, arguments), *(["[OPTIONS]"] if options else [])])
    parts = [f"## {name}", f"`{usage}`", " ".join(command.help.split())]
    if arguments:
        rows = [[code(argument_name(one)), help_of(one)] for one in arguments]
        parts.append(table(["argument", "what it is"], rows))
    if options:
        rows = [[option_names(one), default_of(one), help_of(one)] for one in options]
        parts.append(table(["option", "default", "what it does"], rows))
    return "\n\n".join(parts)


def argument_name(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def option_names(option: Any) -> str:
    names = ", ".join(option.opts)
    value = "" if option.is_flag else f" {option.metavar or value_name(option.type_descriptor.annotation)}"
    return code(names + value)


def value_name(annotation: Any) -> str:
    if typing.get_origin(annotation) is typing.Literal:
        return "|".join(map(str, typing.get_args(annotation)))
    if typing.get_origin(annotation) is list:
        return value_name(typing.get_args(annotation)[0])
    return NAMES.get(annotation.__name__, "TEXT")


def default_of(option: Any) -> str:
    return "" if option.is_flag or option.default is None else code(option.default)


def help_of(parameter: Any) -> str:
    bounds = " to ".join(str(one) for one in (parameter.min, parameter.max) if one is not None)
    repeated = " May be given several times." if parameter.multiple else ""
    return f"{parameter.help}{f' From {bounds}.' if bounds else ''}{repeated}"


def exits() -> str:
    rows = [["0", "done"], [str(BAD_NEWS), "it ran, and the answer is bad news (a job that failed, say)"]]
    kinds: dict[int, list[str]] = {}
    for kind in ShoalError.__subclasses__():
        kinds.setdefault(exit_code_of(kind("", "")), []).append(
            f"{kind.__name__}: {(kind.__doc__ or '').strip()}"
        )
    rows += [[str(number), " · ".join(sorted(said))] for number, said in sorted(kinds.items())]
    rows += [[str(DEFECT), "a defect in Shoal"], [str(INTERRUPTED), "interrupted"]]
    return table(["exit code", "what it means"], rows)
