"""What each command answers: who asks is known by their Discord account, and sees what is theirs."""

from importlib.metadata import version
from uuid import UUID

from shoal.discord import embeds
from shoal.discord.embeds import Embed
from shoal.discord.filters import Filters
from shoal.discord.links import Links
from shoal.discord.ports import JobDesk, Nodes, ReadStatus
from shoal.discord.rolls import Rolls
from shoal.runtime.errors import Conflict, Invalid
from shoal.wire.jobs import JobView

JOBS_SHOWN = 10


class Desk:
    def __init__(
        self,
        *,
        links: Links,
        jobs: JobDesk,
        nodes: Nodes,
        read_status: ReadStatus,
        filters: Filters,
        rolls: Rolls,
    ) -> None:
        self._links = links
        self._jobs = jobs
        self._nodes = nodes
        self._read_status = read_status
        self._filters = filters
        self._rolls = rolls

    # About the one who asks

    async def jobs(self, account: int) -> Embed:
        page = await self._jobs.list(_claims(await self._user(account)), page_size=JOBS_SHOWN)
        return embeds.jobs_embed(page.jobs)

    async def job(self, account: int, job_id: str) -> JobView:
        user = await self._user(account)
        try:
            wanted = UUID(job_id.strip().strip("`"))
        except ValueError:
            raise Invalid(
                "invalid_job_id", "That is not the id of a job.", hint="/jobs shows yours."
            ) from None
        return await self._jobs.read(_claims(user), wanted)

    async def job_choices(self, account: int, typed: str) -> list[tuple[str, str]]:
        """Jobs of theirs to choose from, as a name to show and an id. Nobody's, when they have no link."""
        user = await self._links.user_of(account)
        if user is None:
            return []
        page = await self._jobs.list(_claims(user), page_size=50)
        shown = [(f"{job.type} · {job.status} · {str(job.id)[-8:]}"[:100], str(job.id)) for job in page.jobs]
        return [one for one in shown if typed.lower() in f"{one[0]} {one[1]}".lower()][:25]

    async def nodes(self, account: int) -> Embed:
        return embeds.nodes_embed(await self._nodes.nodes_of(str(await self._user(account))))

    async def link(self, account: int, name: str, code: str) -> tuple[Embed, list[UUID]]:
        """Also the users whose grants change by it: who has the account now, and who had it."""
        before = await self._links.user_of(account)
        user = await self._links.redeem(code, discord_id=account, discord_name=name)
        changed = [user] if before is None or before == user else [user, before]
        return embeds.linked_embed(await self._links.name_of(user)), changed

    async def unlink(self, account: int) -> tuple[Embed, UUID | None]:
        user = await self._links.user_of(account)
        removed = user is not None and await self._links.remove(user)
        return embeds.unlinked_embed(was_linked=removed), user

    # About a guild, and about all

    async def members(self, guild_id: int, guild_name: str) -> Embed:
        nodes = await self._nodes.nodes_accepting(str(guild_id))
        owners = [UUID(owner) for owner in {node.owner for node in nodes}]
        accounts = {
            str(user): account
            for user, account in (await self._links.accounts_of(owners)).items()
            if self._rolls.is_member(guild_id, account)
        }
        return embeds.members_embed(guild_name, nodes, accounts)

    async def server(self, guild_id: int, guild_name: str) -> Embed:
        its, roll = self._filters.get(guild_id), self._rolls.get(guild_id)
        return embeds.server_embed(
            guild_name,
            members=None if roll is None else len(roll),
            nodes=await self._nodes.nodes_accepting(str(guild_id)),
            filter_bytes=None if its is None else its.size_in_bytes,
            is_fresh=self._rolls.is_member(guild_id, 0) is not None,
        )

    async def status(self, latency_ms: float | None) -> Embed:
        return embeds.status_embed(
            await self._read_status(), await self._nodes.counts(), latency_ms=latency_ms
        )

    def about(self, guilds: int) -> Embed:
        return embeds.about_embed(version("shoal"), guilds)

    async def _user(self, account: int) -> UUID:
        user = await self._links.user_of(account)
        if user is None:
            raise Conflict(
                "discord_not_linked",
                "I do not know yet who you are at Shoal.",
                hint="Make a code with `shoal discord link`, and give it to me with `/link`.",
            )
        return user


def _claims(user: UUID) -> dict[str, object]:
    return {"sub": str(user), "role": "authenticated"}
