"""The vault's settings. The credentials of a bucket are where its own tools look for them."""

from typing import Annotated

import msgspec

from shoal.runtime.settings import SECRET

WEEK_S = 7 * 24 * 3600
"""Buckets sign no longer."""


class VaultSettings(msgspec.Struct, frozen=True, kw_only=True):
    vault_url: Annotated[
        str,
        msgspec.Meta(
            description=(
                "Where bytes are kept: gs://bucket/prefix, s3://bucket/prefix, "
                "az://container/prefix or file:///path. Credentials come from the environment "
                "(GOOGLE_…, AWS_…, AZURE_…)."
            )
        ),
    ] = ""
    vault_link_secret: Annotated[
        str,
        msgspec.Meta(
            description="Signs links into a folder; at least 32 characters. Buckets need none.",
            extra=SECRET,
        ),
    ] = ""
    vault_link_url: Annotated[
        str,
        msgspec.Meta(description="Where the API is reached from outside; links into a folder start with it."),
    ] = ""
    link_expiry_s: Annotated[
        int,
        msgspec.Meta(description="For how long a link can be used, in seconds.", ge=1, le=WEEK_S),
    ] = 3600
