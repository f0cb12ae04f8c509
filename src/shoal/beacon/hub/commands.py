"""What a client says: frames of newline-separated commands. What we do not know in them is ignored."""

from typing import Annotated, Any, TypeAlias

import msgspec

Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)]
Offset: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class Unreadable(Exception):
    """The frame is not made of commands."""


class Position(msgspec.Struct, frozen=True):
    """A place in the stream of a channel; ``recover`` asks for what was published after it."""

    offset: Offset = 0
    epoch: str = ""
    recover: bool = False


class Connect(msgspec.Struct, frozen=True):
    token: str = ""
    subs: dict[str, Position] = {}


class Subscribe(msgspec.Struct, frozen=True):
    channel: str = ""
    token: str = ""
    data: Any = None
    recover: bool = False
    offset: Offset = 0
    epoch: str = ""
    flag: int = 0
    type: int = 0

    @property
    def position(self) -> Position:
        return Position(self.offset, self.epoch, self.recover)


class Unsubscribe(msgspec.Struct, frozen=True):
    channel: str = ""


class Publish(msgspec.Struct, frozen=True):
    channel: str = ""
    data: Any = None


class Presence(msgspec.Struct, frozen=True):
    channel: str = ""


class PresenceStats(msgspec.Struct, frozen=True):
    channel: str = ""


class History(msgspec.Struct, frozen=True):
    channel: str = ""
    limit: int = 0
    """0 asks for the position only; less than 0 for all there is."""
    since: Position | None = None
    reverse: bool = False


class Rpc(msgspec.Struct, frozen=True):
    method: str = ""
    data: Any = None


class Refresh(msgspec.Struct, frozen=True):
    token: str = ""


class SubRefresh(msgspec.Struct, frozen=True):
    channel: str = ""


class Send(msgspec.Struct, frozen=True):
    pass


Request: TypeAlias = (
    Connect
    | Subscribe
    | Unsubscribe
    | Publish
    | Presence
    | PresenceStats
    | History
    | Rpc
    | Refresh
    | SubRefresh
    | Send
)


class Command(msgspec.Struct, frozen=True):
    """One of the requests. None of them, with no id, is the answer to a ping."""

    id: Number = 0
    connect: Connect | None = None
    subscribe: Subscribe | None = None
    unsubscribe: Unsubscribe | None = None
    publish: Publish | None = None
    presence: Presence | None = None
    presence_stats: PresenceStats | None = None
    history: History | None = None
    rpc: Rpc | None = None
    send: Send | None = None
    refresh: Refresh | None = None
    sub_refresh: SubRefresh | None = None

    @property
    def is_pong(self) -> bool:
        return self.id == 0 and self.send is None

    @property
    def request(self) -> Request | None:
        for name in REQUESTS:
            if (found := getattr(self, name)) is not None:
                request: Request = found
                return request
        return None


REQUESTS = Command.__struct_fields__[1:]
_DECODER = msgspec.json.Decoder(Command)


def read_frame(frame: bytes) -> list[Command]:
    try:
        commands = _DECODER.decode_lines(frame)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(str(error)) from None
    if not commands:
        raise Unreadable("an empty frame")
    return commands
