"""Where the API listens, and what it accepts."""

from typing import Annotated

import msgspec


class ApiSettings(msgspec.Struct, frozen=True, kw_only=True):
    api_host: Annotated[
        str, msgspec.Meta(description="The address to listen on; 0.0.0.0 is all of them.")
    ] = "127.0.0.1"
    api_port: Annotated[
        int, msgspec.Meta(description="The port to listen on; 0 picks a free one.", ge=0, le=65535)
    ] = 8700
    api_public_url: Annotated[
        str,
        msgspec.Meta(
            description="What others call this API, as in https://shoal.example.org. "
            "Empty means the address it listens on."
        ),
    ] = ""
    api_max_body_bytes: Annotated[int, msgspec.Meta(description="The largest request body.", ge=1024)] = (
        1024 * 1024
    )
    api_max_batch_bytes: Annotated[
        int, msgspec.Meta(description="The largest request body that starts many jobs.", ge=1024)
    ] = 16 * 1024 * 1024
    cors_allowed_origins: Annotated[
        tuple[str, ...],
        msgspec.Meta(
            description="Origins whose pages may call the API, as in https://app.example.org. "
            "None by default."
        ),
    ] = ()
