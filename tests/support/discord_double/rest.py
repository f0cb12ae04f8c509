"""The REST API, as far as a bot of slash commands needs it."""

import re
import time
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from .interactions import (
    ANSWER_WITHIN_S,
    ANSWERED_TWICE,
    AUTOCOMPLETE,
    DEFERRED_MESSAGE,
    EDIT_WITHIN_S,
    MESSAGE,
    NO_INTERACTION,
    NO_MESSAGE,
    Asked,
    message_of,
    problem_with_message,
)
from .limits import Limits
from .payloads import APPLICATION, BOT, Json, application, member, new_id, said, user
from .world import MEMBERS_INTENT, World

BASE = "/api/v10"
COMMAND_NAME = re.compile(r"[-_a-z0-9]{1,32}")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def refusal(status: int, code: int, message: str) -> web.Response:
    return said({"code": code, "message": message}, status=status)


class Rest:
    def __init__(self, world: World, limits: Limits) -> None:
        self._world = world
        self._limits = limits
        self.asked: dict[str, Asked] = {}
        self.requests: list[str] = []
        self.unknown: list[str] = []
        self.is_away = False
        self.gateway_url = ""

    def add_to(self, app: web.Application) -> None:
        bot, open_to_all = self._for_bots, self._limited
        webhook = BASE + "/webhooks/{application}/{token}"
        app.add_routes(
            [
                web.get(BASE + "/users/@me", bot(self._me)),
                web.get(BASE + "/oauth2/applications/@me", bot(self._application)),
                web.get(BASE + "/gateway/bot", bot(self._gateway)),
                web.get(BASE + "/applications/{application}/commands", bot(self._commands)),
                web.put(BASE + "/applications/{application}/commands", bot(self._put_commands)),
                web.get(BASE + "/guilds/{guild}/members/{user}", bot(self._member)),
                web.get(BASE + "/guilds/{guild}/members", bot(self._members)),
                # Who holds the token of an interaction needs no other.
                web.post(BASE + "/interactions/{id}/{token}/callback", self._callback),
                web.post(webhook, open_to_all(self._follow_up)),
                web.get(webhook + "/messages/@original", open_to_all(self._original)),
                web.patch(webhook + "/messages/@original", open_to_all(self._edit)),
                web.route("*", "/{anything:.*}", self._not_here),
            ]
        )

    def _for_bots(self, handler: Handler) -> Handler:
        async def checked(request: web.Request) -> web.StreamResponse:
            if request.headers.get("Authorization") != f"Bot {self._world.token}":
                return refusal(401, 0, "401: Unauthorized")
            if not request.headers.get("User-Agent", "").startswith("DiscordBot ("):
                return refusal(403, 40333, "internal network error")
            return await handler(request)

        return self._limited(checked)

    def _limited(self, handler: Handler) -> Handler:
        async def limited(request: web.Request) -> web.StreamResponse:
            self.requests.append(f"{request.method} {request.path}")
            if self.is_away:
                return web.Response(status=503, text="upstream connect error")
            resource = request.match_info.route.resource
            route = f"{request.method} {resource.canonical if resource else ''}".replace(BASE, "")
            given = request.match_info
            major = "+".join(given[name] for name in ("guild", "application", "token") if name in given)
            refused, headers = self._limits.check(request.method, request.path, route=route, major=major)
            if refused is not None:
                return refused
            answer = await handler(request)
            answer.headers.update(headers)
            return answer

        return limited

    async def _me(self, _: web.Request) -> web.Response:
        return said(user(BOT))

    async def _application(self, _: web.Request) -> web.Response:
        return said(application(self._world.flags))

    async def _gateway(self, _: web.Request) -> web.Response:
        limits = {"total": 1000, "remaining": 999, "reset_after": 86_400_000, "max_concurrency": 1}
        return said({"url": self.gateway_url, "shards": 1, "session_start_limit": limits})

    async def _commands(self, _: web.Request) -> web.Response:
        return said(list(self._world.commands.values()))

    async def _put_commands(self, request: web.Request) -> web.Response:
        given = await request.json()
        for one in given:
            if problem := problem_with_command(one):
                return refusal(400, 50035, f"Invalid Form Body: {one.get('name')}: {problem}")
        self._world.commands = {
            one["name"]: {
                **one,
                "id": str(new_id()),
                "application_id": str(APPLICATION),
                "version": str(new_id()),
            }
            for one in given
        }
        return said(list(self._world.commands.values()))

    async def _member(self, request: web.Request) -> web.Response:
        guild = self._world.guilds.get(int(request.match_info["guild"]))
        if guild is None:
            return refusal(404, 10004, "Unknown Guild")
        if not self._world.allowed_intents & MEMBERS_INTENT:
            return refusal(403, 50001, "Missing Access")
        asked = int(request.match_info["user"])
        if asked not in guild.members:
            return refusal(404, 10007, "Unknown Member")
        return said(member(asked))

    async def _members(self, request: web.Request) -> web.Response:
        guild = self._world.guilds.get(int(request.match_info["guild"]))
        if guild is None:
            return refusal(404, 10004, "Unknown Guild")
        if not self._world.allowed_intents & MEMBERS_INTENT:
            return refusal(403, 50001, "Missing Access")
        limit, after = int(request.query.get("limit", 1)), int(request.query.get("after", 0))
        found = sorted(one for one in guild.members if one > after)[: min(limit, 1000)]
        return said([member(one) for one in found])

    async def _callback(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(f"{request.method} {request.path}")
        asked = self.asked.get(request.match_info["token"])
        now = time.monotonic()
        if asked is None or str(asked.id) != request.match_info["id"] or now - asked.at > ANSWER_WITHIN_S:
            return refusal(404, NO_INTERACTION, "Unknown interaction")
        if asked.kind is not None:
            return refusal(400, ANSWERED_TWICE, "Interaction has already been acknowledged.")
        answer = await request.json()
        data: Json = answer.get("data") or {}
        if answer["type"] == AUTOCOMPLETE:
            asked.choices = data["choices"]
        elif answer["type"] in {MESSAGE, DEFERRED_MESSAGE}:
            asked.flags = data.get("flags", 0)
            if answer["type"] == MESSAGE:
                if problem := problem_with_message(data):
                    return refusal(400, 50035, problem)
                asked.message = message_of(asked, data)
        else:
            return refusal(400, 50035, f"type {answer['type']}")
        asked.kind, asked.answered_after_s = answer["type"], now - asked.at
        await asked.changed()
        told: Json = {"id": str(asked.id), "type": 2, "response_message_ephemeral": asked.is_private}
        resource: Json = {"type": answer["type"]}
        if asked.message is not None:
            told["response_message_id"] = asked.message["id"]
            resource["message"] = asked.message
        return said({"interaction": told, "resource": resource})

    def _still_open(self, request: web.Request) -> Asked | None:
        asked = self.asked.get(request.match_info["token"])
        if asked is None or asked.kind is None or time.monotonic() - asked.at > EDIT_WITHIN_S:
            return None
        return asked

    async def _edit(self, request: web.Request) -> web.StreamResponse:
        asked = self._still_open(request)
        if asked is None:
            return refusal(404, NO_MESSAGE, "Unknown Message")
        data = await request.json()
        if problem := problem_with_message({**(asked.message or {}), **data}):
            return refusal(400, 50035, problem)
        asked.message = message_of(asked, data, edited=asked.message is not None)
        asked.edits.append(time.monotonic())
        await asked.changed()
        return said(asked.message)

    async def _original(self, request: web.Request) -> web.StreamResponse:
        asked = self._still_open(request)
        if asked is None or asked.message is None:
            return refusal(404, NO_MESSAGE, "Unknown Message")
        return said(asked.message)

    async def _follow_up(self, request: web.Request) -> web.StreamResponse:
        asked = self._still_open(request)
        if asked is None:
            return refusal(404, NO_INTERACTION, "Unknown interaction")
        data = await request.json()
        if problem := problem_with_message(data):
            return refusal(400, 50035, problem)
        if asked.message is None:  # the first one takes the place of "is thinking"
            made = asked.message = message_of(asked, data)
        else:
            made = {**message_of(asked, data), "id": str(new_id()), "flags": data.get("flags", 0)}
            asked.followups.append(made)
        await asked.changed()
        return said(made)

    async def _not_here(self, request: web.Request) -> web.StreamResponse:
        self.unknown.append(f"{request.method} {request.path}")
        return refusal(404, 0, "404: Not Found")


def problem_with_command(one: dict[str, Any]) -> str | None:
    if not COMMAND_NAME.fullmatch(one.get("name", "")):
        return "its name"
    if not 1 <= len(one.get("description", "")) <= 100:
        return "its description"
    for option in one.get("options", []):
        if not COMMAND_NAME.fullmatch(option["name"]) or not 1 <= len(option["description"]) <= 100:
            return f"its option {option['name']}"
    return None
