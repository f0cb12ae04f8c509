"""Websocket frames that are made once and written to many."""

from collections.abc import Sequence

from websockets.frames import Frame, Opcode


def text_frame(messages: Sequence[bytes]) -> bytes:
    """Several messages in one frame, as the protocol allows; no message has a newline in it."""
    return Frame(Opcode.TEXT, b"\n".join(messages)).serialize(mask=False)
