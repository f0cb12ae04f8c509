"""Lua scripts, called by name: read once from beside their room's store, run by their hash."""

import difflib
import hashlib
from collections.abc import Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import takewhile
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.exceptions import NoScriptError

from shoal.brain.headers import Header, Names, read_header
from shoal.runtime.errors import Invalid

Word = str | bytes | int | float
Words = Mapping[str, Word | Sequence[Word]]


class Script:
    """One script. ``keys`` and ``args`` are given by the names its header declares."""

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.source = source
        self.header: Header = read_header(name, source)
        self.sha = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()

    async def __call__(self, client: Redis, *, keys: Words | None = None, args: Words | None = None) -> Any:
        """Run it. When the server does not know it (any more), load it and run it once more."""
        key_words, words = self._words(keys, args)
        try:
            return await client.evalsha(self.sha, len(key_words), *key_words, *words)
        except NoScriptError:
            # In one transaction, so that no SCRIPT FLUSH comes between the two.
            async with client.pipeline(transaction=True) as both:
                both.script_load(self.source)
                both.evalsha(self.sha, len(key_words), *key_words, *words)
                return (await both.execute())[1]

    def queue(self, pipeline: Pipeline, *, keys: Words | None = None, args: Words | None = None) -> None:
        """Add it to a pipeline; its answer comes at its place among the pipeline's answers.

        It travels as EVAL with its whole text. So the pipeline cannot meet a server that does not
        know the script, whenever that server forgot it, and needs no round trip to find out. The
        server compiles the text only when it is new. What is called by the thousand takes a tail
        and carries many at once, instead of many entries in a pipeline.
        """
        key_words, words = self._words(keys, args)
        pipeline.eval(self.source, len(key_words), *key_words, *words)

    def _words(self, keys: Words | None, args: Words | None) -> tuple[list[Word], list[Word]]:
        return (
            _in_order(self.name, "key", self.header.keys, keys or {}),
            _in_order(self.name, "arg", self.header.args, args or {}),
        )


class Scripts:
    """The scripts of one folder, as attributes by file name."""

    def __init__(self, package: str, scripts: Mapping[str, Script]) -> None:
        self._package = package
        self._scripts = dict(scripts)

    def __getattr__(self, name: str) -> Script:
        scripts: dict[str, Script] = self.__dict__.get("_scripts", {})
        if name in scripts:
            return scripts[name]
        near = difflib.get_close_matches(name, scripts, n=1)
        meant = f" Did you mean {near[0]}?" if near else ""
        raise AttributeError(f"There is no script {name}.lua in {self._package}.{meant}")

    def __dir__(self) -> list[str]:
        return sorted(self._scripts)


def load_scripts(package: str, folder: str = "lua", *, instead: Mapping[str, str] | None = None) -> Scripts:
    """Every ``*.lua`` in ``folder`` of ``package``; a file with a bad header is refused.

    What several scripts share lies in ``parts`` below it: a header's ``uses`` names the parts whose code
    comes before the script's own. A simulation gives other code ``instead`` of a part, such as a clock.
    """
    found = resources.files(package).joinpath(folder)
    parts = _sources(found.joinpath("parts")) | dict(instead or {})
    return Scripts(
        package,
        {name: Script(name, _with_parts(name, source, parts)) for name, source in _sources(found).items()},
    )


def _sources(folder: Traversable) -> dict[str, str]:
    if not folder.is_dir():
        return {}
    return {
        file.name.removesuffix(".lua"): file.read_text(encoding="utf-8")
        for file in folder.iterdir()
        if file.name.endswith(".lua")
    }


def _with_parts(name: str, source: str, parts: Mapping[str, str]) -> str:
    uses = read_header(name, source).uses
    if missing := [part for part in uses if part not in parts]:
        raise Invalid(
            "invalid_script",
            f"The script {name}.lua cannot be loaded: it uses the part '{missing[0]}', which is not there.",
            hint=f"Put {missing[0]}.lua into the folder parts beside it.",
        )
    if not uses:
        return source
    lines = source.splitlines(keepends=True)
    header = list(takewhile(lambda line: line.startswith("--"), lines))
    return "\n".join(["".join(header), *(parts[part] for part in uses), "".join(lines[len(header) :])])


def _in_order(script: str, kind: str, names: Names, given: Words) -> list[Word]:
    if missing := [name for name in names.all if name not in given]:
        raise TypeError(f"{script}.lua needs the {kind} {missing[0]!r}")
    if extra := [name for name in given if name not in names.all]:
        raise TypeError(f"{script}.lua takes no {kind} {extra[0]!r}")
    ordered = [_word(script, name, given[name]) for name in names.fixed]
    if names.tail:
        rest = given[names.tail]
        if isinstance(rest, str | bytes) or not isinstance(rest, Sequence):
            raise TypeError(f"{script}.lua takes a list for {names.tail!r}")
        ordered += [_word(script, names.tail, one) for one in rest]
    return ordered


def _word(script: str, name: str, value: Word | Sequence[Word]) -> Word:
    if isinstance(value, bool) or not isinstance(value, str | bytes | int | float):
        raise TypeError(
            f"{script}.lua: {name!r} is a {type(value).__name__}; Redis takes str, bytes, int and float"
        )
    return value
