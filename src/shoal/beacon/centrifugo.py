"""A Centrifugo server as the beacon, through its server API.

* Messages travel in batches, and the answer to each is looked at: Centrifugo says 200, and the error inside.
* A call that got no answer is repeated once, at once. That is safe: a message carries a key by which
  Centrifugo knows that it has it, and everything else may happen twice.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar
from uuid import uuid4

import structlog
from aiohttp import ClientSession
from cent import (
    AsyncClient,
    CentApiResponseError,
    CentError,
    CentRequest,
    CentResult,
    CentUnauthorizedError,
    ChannelsRequest,
    Disconnect,
    DisconnectRequest,
    InfoRequest,
    PresenceRequest,
    PublishRequest,
    PublishResult,
)
from cent.dto import Error, Response
from prometheus_client import CollectorRegistry, Counter

from shoal.beacon.model import DisconnectCode
from shoal.beacon.settings import BeaconSettings
from shoal.runtime.errors import Invalid, ShoalError, Unavailable
from shoal.runtime.lifecycle import Part

log = structlog.get_logger(__name__)

TIMEOUT_S = 1.5
"""Less than the patience of a health check."""
MOST_AT_ONCE = 200

Answer = TypeVar("Answer")


class Centrifugo(Part):
    name = "centrifugo"

    def __init__(self, settings: BeaconSettings, registry: CollectorRegistry) -> None:
        self._settings = settings
        self._session: ClientSession | None = None
        self._lost = Counter(
            "sentinel_beacon_messages_lost_total",
            "Messages that the beacon did not take.",
            registry=registry,
        )

    async def start(self) -> None:
        """It need not be there yet: what it misses are hints."""
        self._session = ClientSession()

    async def stop(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def publish(self, channel: str, data: Any) -> bool:
        return await self.publish_many([(channel, data)])

    async def publish_many(self, messages: Sequence[tuple[str, Any]]) -> bool:
        lost = 0
        for start in range(0, len(messages), MOST_AT_ONCE):
            lost += await self._publish_batch(messages[start : start + MOST_AT_ONCE])
        self._lost.inc(lost)
        return lost == 0

    async def disconnect(self, user: str, code: DisconnectCode, reason: str) -> None:
        request = DisconnectRequest(user=user, disconnect=Disconnect(code=code, reason=reason))
        await self._ask(lambda client: client.disconnect(request))

    async def presence(self, channel: str) -> Mapping[str, str]:
        answer = await self._ask(lambda client: client.presence(PresenceRequest(channel=channel)))
        return {client: info.user for client, info in answer.presence.items()}

    async def active(self, namespace: str) -> Sequence[str]:
        request = ChannelsRequest(pattern=f"{namespace}:*")
        answer = await self._ask(lambda client: client.channels(request))
        return list(answer.channels)

    async def check(self) -> None:
        await self._ask(lambda client: client.info(InfoRequest()))

    async def _publish_batch(self, messages: Sequence[tuple[str, Any]]) -> int:
        """How many of them were lost."""
        batch = PublishBatch.of(messages)
        try:
            answer = await self._ask(lambda client: client.publish_batch(batch))
        except ShoalError as error:
            log.warning("messages lost", count=len(messages), error=error.message)
            return len(messages)
        lost = 0
        for (channel, _), reply in zip(messages, answer.replies, strict=True):
            if reply.error is not None:
                log.warning(
                    "message refused", channel=channel, code=reply.error.code, error=reply.error.message
                )
                lost += 1
        return lost

    async def _ask(self, ask: "Callable[[_Client], Awaitable[Answer]]") -> Answer:
        if self._session is None:
            raise _unreachable("not connected")
        client = _Client(
            f"{self._settings.centrifugo_url.rstrip('/')}/api",
            self._settings.centrifugo_api_key,
            timeout=TIMEOUT_S,
            session=self._session,
        )
        try:
            try:
                return await ask(client)
            except (CentUnauthorizedError, CentApiResponseError):
                raise
            except CentError:
                return await ask(client)
        except CentUnauthorizedError as error:
            raise Invalid(
                "beacon_key_refused",
                "Centrifugo refused the key of its server API.",
                hint="SHOAL_CENTRIFUGO_API_KEY must be what CENTRIFUGO_HTTP_API_KEY is there.",
            ) from error
        except CentError as error:
            raise _unreachable(str(error) or type(error).__name__) from error


class Reply(CentResult):
    """What became of one message: the one or the other."""

    publish: PublishResult | None = None
    error: Error | None = None


class Replies(CentResult):
    replies: list[Reply]


class PublishBatch(CentRequest[Replies]):
    """Several messages in one call. The client's own batch breaks where one of the replies is an error."""

    __returning__ = Replies
    __api_method__ = "batch"

    commands: list[dict[str, Any]]

    @classmethod
    def of(cls, messages: Sequence[tuple[str, Any]]) -> "PublishBatch":
        requests = [
            PublishRequest(channel=channel, data=data, idempotency_key=uuid4().hex)
            for channel, data in messages
        ]
        return cls(commands=[{"publish": request.api_payload} for request in requests])

    def parse_response(self, content: str) -> Response[CentResult]:
        # A batch is answered without the wrapper that every other answer has.
        return super().parse_response(f'{{"result":{content}}}')


class _Client(AsyncClient):
    async def publish_batch(self, batch: PublishBatch) -> Replies:
        return await self._send(batch)


def require_complete(settings: BeaconSettings) -> None:
    for name in ("centrifugo_api_key", "centrifugo_token_secret", "centrifugo_proxy_secret"):
        if not getattr(settings, name):
            raise Invalid(
                "beacon_secret_missing",
                f"centrifugo_url is set, and {name} is not.",
                hint=f"Set SHOAL_{name.upper()} to what stands in Centrifugo's environment.",
            )
    if not settings.centrifugo_url.startswith(("http://", "https://")):
        raise Invalid(
            "invalid_centrifugo_url",
            "The setting centrifugo_url is not an http address.",
            hint="Write http://host:9000: where Centrifugo takes its server API.",
        )


def _unreachable(why: str) -> Unavailable:
    return Unavailable(
        "beacon_unreachable",
        f"Centrifugo does not answer: {why}.",
        hint="Is it running, and is SHOAL_CENTRIFUGO_URL right?",
    )
