"""A vault in a real folder, and one in obstore's own memory store, behind the same calls."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from obstore.store import MemoryStore

from shoal.runtime.clock import SystemClock
from shoal.vault.bucket import Bucket
from shoal.vault.settings import VaultSettings
from shoal.vault.store import Vault, open_vault

NOW = datetime(2026, 7, 1, 12, 0, 0, tzinfo=UTC)


class StoppedClock:
    def now(self) -> datetime:
        return NOW

    def monotonic(self) -> float:
        return 0.0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "vault"


@pytest.fixture
def folder(root: Path) -> Vault:
    settings = VaultSettings(
        vault_url=root.as_uri(),
        vault_link_secret="s" * 32,
        vault_link_url="http://127.0.0.1:8700",
    )
    return open_vault(settings, clock=StoppedClock())


def _memory() -> Vault:
    # A store of obstore itself, with the calls of the others but for signing.
    bucket = Bucket(MemoryStore())  # type: ignore[arg-type]
    return Vault(bucket, signer=None, clock=SystemClock())


@pytest.fixture(params=["folder", "bucket"])
def vault(request: pytest.FixtureRequest) -> Vault:
    make: Callable[[], Vault] = {
        "folder": lambda: request.getfixturevalue("folder"),
        "bucket": _memory,
    }[request.param]
    return make()
