"""Which beacon, where clients find it, and the secrets both sides share."""

from typing import Annotated

import msgspec

from shoal.runtime.settings import SECRET

CLIENT_PATH = "/connection/websocket"


class BeaconSettings(msgspec.Struct, frozen=True, kw_only=True):
    centrifugo_url: Annotated[
        str,
        msgspec.Meta(
            description="Where Centrifugo (6 or newer) takes its server API, as in http://centrifugo:9000. "
            "Empty means the hub inside the sentinel, which is for one sentinel alone."
        ),
    ] = ""
    centrifugo_client_url: Annotated[
        str,
        msgspec.Meta(
            description="Where clients reach it, as in wss://beacon.example.org/connection/websocket. "
            "Empty means the same host and port as centrifugo_url."
        ),
    ] = ""
    centrifugo_api_key: Annotated[
        str, msgspec.Meta(description="The key of Centrifugo's server API.", extra=SECRET)
    ] = ""
    centrifugo_token_secret: Annotated[
        str,
        msgspec.Meta(
            description="What connection tokens are signed with, 32 bytes or more; also the hub needs it. "
            "Empty means no live messages: clients then look by themselves.",
            extra=SECRET,
        ),
    ] = ""
    centrifugo_proxy_secret: Annotated[
        str,
        msgspec.Meta(
            description="What Centrifugo shows in X-Centrifugo-Proxy-Secret when it asks a sentinel.",
            extra=SECRET,
        ),
    ] = ""

    @property
    def client_url(self) -> str:
        """Empty for the hub: it is where the API is."""
        if self.centrifugo_client_url or not self.centrifugo_url:
            return self.centrifugo_client_url
        return websocket_url(self.centrifugo_url)


def websocket_url(http_url: str) -> str:
    """``http://host`` → ``ws://host/connection/websocket``, and ``wss`` for ``https``."""
    return "ws" + http_url.removeprefix("http").rstrip("/") + CLIENT_PATH
