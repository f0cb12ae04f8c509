"""Decisions of the room of events."""

from ipaddress import ip_address

import pytest

from shoal.events.rules import may_reach, meaning_of_status, read_networks, signature
from shoal.runtime.errors import Invalid

LAN = read_networks(["10.1.0.0/16", "127.0.0.0/8"])


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_a_success_is_no_failure(status: int) -> None:
    assert meaning_of_status(status) is None


@pytest.mark.parametrize(
    ("status", "meaning"),
    [
        (301, "failed"),
        (400, "refused"),
        (401, "failed"),
        (404, "failed"),
        (413, "refused"),
        (422, "refused"),
        (429, "away"),
        (500, "failed"),
        (503, "away"),
    ],
)
def test_what_an_answer_means_for_the_event(status: int, meaning: str) -> None:
    assert meaning_of_status(status) == meaning


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700:4700::1111"])
def test_public_addresses_are_reached_with_tls_alone(address: str) -> None:
    assert may_reach(ip_address(address), (), is_encrypted=True)
    assert not may_reach(ip_address(address), (), is_encrypted=False)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "0.0.0.0",  # noqa: S104 - an address that is refused
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "fc00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
    ],
)
def test_nothing_inside_is_reached_however_it_is_written(address: str) -> None:
    assert not may_reach(ip_address(address), (), is_encrypted=True)


@pytest.mark.parametrize("address", ["10.1.2.3", "127.0.0.1", "::ffff:10.1.2.3"])
def test_what_an_operator_named_is_reached(address: str) -> None:
    assert may_reach(ip_address(address), LAN, is_encrypted=False)
    assert not may_reach(ip_address("10.2.0.1"), LAN, is_encrypted=True)


def test_networks_that_are_none_are_refused() -> None:
    with pytest.raises(Invalid, match="webhook_networks"):
        read_networks(["10.1.0.0/8"])


def test_a_signature_is_that_of_the_standard() -> None:
    """The example of the documentation of Svix, from which the standard comes."""
    signed = signature(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        b'{"test": 2432232314}',
    )
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
