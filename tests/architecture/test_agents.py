"""Worker and node run far from any server; each has a contract that says what it must not import."""

import configparser

import pytest

from .repository import PACKAGE, ROOT

AGENTS = [name for name in ("worker", "node") if (PACKAGE / name).is_dir()]
SERVER_PACKAGES = {"litestar", "redis", "uvicorn", "shoal.brain", "shoal.local"}
LEDGER_AND_VAULT = {"shoal.ledger", "shoal.vault", "asyncpg", "obstore"}


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_has_a_contract_that_keeps_servers_out(agent: str) -> None:
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    contract = contracts[f"importlinter:contract:{agent}"]

    forbidden = set(contract["forbidden_modules"].split())
    assert contract["type"] == "forbidden"
    assert contract["source_modules"].split() == [f"shoal.{agent}"]
    assert forbidden >= SERVER_PACKAGES
    if agent == "node":
        assert forbidden >= LEDGER_AND_VAULT
