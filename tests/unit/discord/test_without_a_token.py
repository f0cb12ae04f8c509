"""Whoever has no bot pays nothing for it."""

import subprocess
import sys

PROGRAM = """
import sys
from shoal.roles.config import SECTIONS
from shoal.roles.sentinel import sentinel_parts
from shoal.runtime.settings import read_settings
given = {"database_url": "postgresql://localhost/none", "redis_url": "redis://localhost:1",
         "vault_url": "file:///nowhere", "vault_link_secret": "0" * 32, "vault_link_url": "http://localhost",
         "discord_token": sys.argv[1]}
parts, _ = sentinel_parts(read_settings(SECTIONS, flags=given, environ={}))
print("discord bot" in [part.name for part in parts], "discord" in sys.modules, "rbloom" in sys.modules)
"""


def built_with(token: str) -> list[str]:
    asked = [sys.executable, "-W", "ignore", "-c", PROGRAM, token]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()


def test_without_a_token_there_is_no_bot_and_discord_py_is_not_imported() -> None:
    assert built_with("") == ["False", "False", "False"]
    assert built_with("a token") == ["True", "True", "True"]
