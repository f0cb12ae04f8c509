"""What ``shoal beacon`` writes, judged by a real Centrifugo."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from shoal.beacon.gate import Gate
from shoal.beacon.hub.limits import Limits
from shoal.beacon.namespaces import NAMESPACES
from shoal.beacon.nodes import open_nodes
from shoal.events.hints import open_events
from shoal.jobs.channel import open_jobs
from shoal.jobs.live import Watched
from shoal.ledger.pool import Ledger
from shoal.ledger.settings import LedgerSettings
from shoal.roles.beacon import needed_environment, written_configuration
from shoal.roles.config import SECTIONS
from shoal.runtime.clock import SystemClock
from shoal.runtime.settings import Settings, read_settings
from tests.integration.cli.shoal_command import Shoal
from tests.support.centrifugo import check_configuration

from .site import KnownNodes

EXAMPLE = Path(__file__).parents[3] / "deploy" / "centrifugo.json"
EXAMPLES_ORIGIN = (
    *("--sentinel-url", "http://sentinel:8700"),
    *("--redis", "redis://redis:6379"),
    *("--origin", "https://shoal.example.org"),
)
GIVEN = {
    "centrifugo_api_key": "the api key",
    "centrifugo_token_secret": "the token secret, which is long",
    "centrifugo_proxy_secret": "the proxy secret",
}


def settings(**flags: str) -> Settings:
    return read_settings(SECTIONS, flags={**GIVEN, **flags}, environ={}, file=Path("/dev/null"))


def written(given: Settings, *, is_connect_asked: bool = False) -> dict[str, Any]:
    return written_configuration(
        given, sentinel_url=None, redis_url=None, origins=None, is_connect_asked=is_connect_asked
    )


def check_as_written(folder: Path, configuration: Any, environment: Mapping[str, str]) -> None:
    file = folder / "centrifugo.json"
    file.write_text(json.dumps(configuration))
    check_configuration(file, environment)


def test_the_example_is_what_the_command_writes(tmp_path: Path) -> None:
    given = {f"SHOAL_{name.upper()}": value for name, value in GIVEN.items()}
    shoal = Shoal(tmp_path, environment=given)
    said = shoal.ok("beacon", "config", *EXAMPLES_ORIGIN)
    assert json.loads(said) == json.loads(EXAMPLE.read_text(encoding="utf-8"))
    assert not [secret for secret in GIVEN.values() if secret in said]
    lines = shoal.ok("beacon", "environment", *EXAMPLES_ORIGIN[2:4]).splitlines()
    assert dict(line.split("=", 1) for line in lines) == needed_environment(settings(), redis_url=None)


@pytest.mark.parametrize("is_connect_asked", [False, True])
def test_a_real_centrifugo_knows_every_name_in_it(tmp_path: Path, is_connect_asked: bool) -> None:
    configuration = written(settings(), is_connect_asked=is_connect_asked)
    environment = needed_environment(settings(), redis_url=None)
    assert set(environment.values()) == set(GIVEN.values())
    check_as_written(tmp_path, configuration, environment)


def test_connect_and_refresh_are_asked_only_where_that_was_wanted() -> None:
    assert "proxy" not in written(settings())["client"]
    proxies = written(settings(), is_connect_asked=True)["client"]["proxy"]
    assert [proxy["enabled"] for proxy in proxies.values()] == [True, True]


def test_no_call_takes_longer_than_a_client_may_take_to_answer_a_ping() -> None:
    """Nor does an answer wait behind a call: one client's commands are decided side by side."""
    found = written(settings(), is_connect_asked=True)
    proxies = [*found["client"]["proxy"].values(), *found["channel"]["proxy"].values(), found["rpc"]["proxy"]]
    assert len(proxies) == 5
    assert all(float(proxy["timeout"].removesuffix("s")) < Limits().pong_timeout_s for proxy in proxies)
    assert found["client"]["concurrency"] > 1


def test_what_is_not_said_follows_from_our_own_settings() -> None:
    given = settings(
        api_public_url="https://shoal.example.org/", cors_allowed_origins="https://a.example.org"
    )
    found = written(given)
    assert found["client"]["allowed_origins"] == ["https://a.example.org", "https://shoal.example.org"]
    assert found["rpc"]["proxy"]["endpoint"] == "https://shoal.example.org/proxy/rpc"


@pytest.mark.parametrize(
    ("url", "named", "secret"),
    [
        ("redis://redis:6379", {"address": ["redis://redis:6379"]}, {}),
        (
            "redis://ann:hush@redis:6379/1",
            {"address": ["redis://redis:6379/1"]},
            {"CENTRIFUGO_ENGINE_REDIS_ADDRESS": "redis://ann:hush@redis:6379/1"},
        ),
        (
            "redis+sentinel://ann:hush@a:26379,b:26379/mymaster",
            {"sentinel_address": ["a:26379", "b:26379"], "sentinel_master_name": "mymaster"},
            {"CENTRIFUGO_ENGINE_REDIS_USER": "ann", "CENTRIFUGO_ENGINE_REDIS_PASSWORD": "hush"},
        ),
    ],
)
def test_a_redis_with_a_password_is_named_without_it(
    tmp_path: Path, url: str, named: dict[str, Any], secret: dict[str, str]
) -> None:
    given = settings(redis_url=url)
    found = written(given)
    assert found["engine"]["redis"] == named
    environment = needed_environment(given, redis_url=None)
    assert {name: value for name, value in environment.items() if "REDIS" in name} == secret
    check_as_written(tmp_path, found, environment)


def test_the_rooms_open_exactly_the_channels_that_are_written() -> None:
    gate = Gate()
    ledger = Ledger(LedgerSettings(database_url="postgresql://localhost/none"))
    open_jobs(gate, ledger, Watched(SystemClock()))
    open_nodes(gate, KnownNodes())
    open_events(gate)
    opened = {
        name: (channel.options, channel.subscribe is not None, channel.publish is not None)
        for name, channel in gate.namespaces.items()
    }
    declared = {name: (one.options, one.subscribe, one.publish) for name, one in NAMESPACES.items()}
    assert opened == declared
    assert not [one for one in gate.namespaces.values() if one.presence or one.history]
