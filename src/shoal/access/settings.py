"""How users prove who they are."""

from typing import Annotated
from uuid import UUID

import msgspec

from shoal.runtime.settings import SECRET


class AccessSettings(msgspec.Struct, frozen=True, kw_only=True):
    jwt_secret: Annotated[
        str,
        msgspec.Meta(
            description="The secret of HS256 tokens, 32 bytes or more (Supabase: JWT secret). "
            "Empty accepts none.",
            extra=SECRET,
        ),
    ] = ""
    jwks_url: Annotated[
        str,
        msgspec.Meta(
            description="Where the public keys of RS256, ES256 and EdDSA tokens are, as in "
            "https://host/auth/v1/.well-known/jwks.json. Empty accepts none."
        ),
    ] = ""
    jwt_audience: Annotated[
        str, msgspec.Meta(description="The audience ('aud') a user's token must be for.")
    ] = "authenticated"
    operator_ids: Annotated[
        tuple[UUID, ...],
        msgspec.Meta(
            description="Users who may do what is otherwise for services, such as limiting and pausing types "
            "of tasks. With 'shoal up', its local owner."
        ),
    ] = ()
