import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.runtime.errors import Forbidden
from shoal.runtime.tickets import Ticket, TicketSigner, read_ticket

SIGNER = TicketSigner("a secret")
TICKET = Ticket("job", 3, "ab" * 32, "uploader", "downloader", "job.3.1", 1000)


def read(shown: bytes, *, uploader: str = "uploader", now_ms: int = 999) -> Ticket:
    return read_ticket(shown, public_key=SIGNER.public_key, uploader=uploader, now_ms=now_ms)


def test_a_ticket_says_what_was_signed() -> None:
    assert read(SIGNER.sign(TICKET)) == TICKET


def test_the_same_secret_makes_the_same_key() -> None:
    assert TicketSigner("a secret").public_key == SIGNER.public_key
    assert TicketSigner("another").public_key != SIGNER.public_key


def test_a_ticket_ends_and_is_for_one_uploader() -> None:
    with pytest.raises(Forbidden, match="ended"):
        read(SIGNER.sign(TICKET), now_ms=1000)
    with pytest.raises(Forbidden, match="another server"):
        read(SIGNER.sign(TICKET), uploader="somebody")


def test_a_ticket_of_another_coordinator_is_refused() -> None:
    with pytest.raises(Forbidden):
        read(TicketSigner("another").sign(TICKET))


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_no_byte_of_a_ticket_can_be_changed(position: int, change: int) -> None:
    shown = bytearray(SIGNER.sign(TICKET))
    shown[position % len(shown)] ^= change
    with pytest.raises(Forbidden):
        read(bytes(shown))


@given(st.binary(max_size=300))
def test_what_is_no_ticket_is_refused(shown: bytes) -> None:
    with pytest.raises(Forbidden):
        read(shown)
