"""What the hub says: replies to commands, pushes to channels, and the ping."""

from collections.abc import Mapping
from typing import Any

import msgspec

from shoal.beacon.model import Refused

PING = b"{}"

_encode = msgspec.json.Encoder().encode


def encode(value: Any) -> msgspec.Raw:
    """JSON without a newline in it, to be put into several messages."""
    return msgspec.Raw(_encode(value))


def reply(number: int, method: str, result: Mapping[str, Any]) -> bytes:
    return _encode({"id": number, method: result})


def refusal(number: int, refused: Refused) -> bytes:
    error: dict[str, Any] = {"code": int(refused.code), "message": refused.message}
    if refused.temporary:
        error["temporary"] = True
    return _encode({"id": number, "error": error})


def push(channel: str, kind: str, body: Any) -> bytes:
    return _encode({"push": {"channel": channel, kind: body}})
