"""A bot of the real discord.py with the kit, between a gateway on loopback and the running service."""

from __future__ import annotations

import asyncio
import tempfile
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import discord
import yarl
from companion_discord import Companion, CompanionError, Posted
from discord.ext import commands
from fake_gateway import FakeGateway, Guild, role_label
from harness import KEY, PATIENCE, Service, key_of, until

INTENTS = discord.Intents(guilds=True, members=True, presences=True)


class Bot(commands.AutoShardedBot):
    """An ordinary bot; whatever the kit raised into it would be in `failures`."""

    def __init__(self, shards: int, guild_ready_timeout: float = 0.3, shard_ids: list[int] | None = None) -> None:
        options: Any = {"shard_count": shards, "shard_ids": shard_ids, "guild_ready_timeout": guild_ready_timeout}
        super().__init__("!", intents=INTENTS, **options)
        self.failures: list[str] = []

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """The platform wants five seconds between two shards, and ours does not."""

    async def on_error(self, event_method: str, /, *args: Any, **kwargs: Any) -> None:
        self.failures.append(f"{event_method}: {traceback.format_exc()}")


class Rig:
    """A gateway, a bot with the kit, and the service."""

    def __init__(self, gateway: FakeGateway, service: Service) -> None:
        self.gateway = gateway
        self.service = service
        self.bot: Bot | None = None
        self.kit: Companion | None = None
        self.posted: list[Posted] = []
        self.errors: list[CompanionError] = []
        self._running: asyncio.Task[None] | None = None

    def facts(self, guild: discord.Guild) -> Any:
        known = self.gateway.guilds.get(guild.id)
        if known is None:
            return {}
        return {"setup": known.setup, "linked": not known.setup, "roles": known.bound}

    def connect(self, url: str | None = None, **options: Any) -> Companion:
        self.bot = Bot(self.gateway.shards)
        options = {
            "guild": self.facts,
            "on_posted": self.posted.append,
            "on_error": self.errors.append,
            "flush_after": 0.2,
            "counts_every": 0.5,
            "heartbeat_every": 0.5,
        } | options
        self.kit = Companion(self.bot, url or self.service.management, KEY, **options)
        self._running = asyncio.create_task(self.bot.start("a-token"))
        return self.kit

    async def ready(self) -> None:
        assert self.bot is not None and self.kit is not None
        await until("the bot is ready", lambda: self._running.done() or self.bot.is_ready())
        if self._running.done():
            await self._running  # says why the bot ended
        await until("the first snapshots are in", lambda: self.kit.stats.snapshots >= self.gateway.shards)
        await self.settled()

    async def settled(self) -> None:
        """Waits until the bot has seen what happened, and the service was told."""
        await until("the bot has seen everything", self.bot_is_up_to_date)
        assert self.kit is not None
        await until("the kit has sent everything", lambda: self.kit.flush(PATIENCE))

    def bot_is_up_to_date(self) -> bool:
        """Whether every event has reached the library's cache and has been handled."""
        assert self.bot is not None
        for shard in range(self.gateway.shards):
            if self.bot._get_websocket(shard_id=shard).sequence != self.gateway.last_sequence(shard):
                return False
        if any(task.get_name().startswith("discord.py: on_") for task in asyncio.all_tasks()):
            return False
        for expected in self.gateway.guilds.values():
            guild = self.bot.get_guild(expected.id)
            if guild is None or bool(guild.unavailable) != expected.unavailable:
                return False
            if not expected.unavailable and _seen(guild, expected) != _expected(expected):
                return False
        return True

    def world(self) -> dict[str, Any]:
        """What the service should hold, by the gateway's own model."""
        world = {}
        for guild in self.gateway.guilds.values():
            records = [guild_record(guild)]
            bound = {role for roles in guild.bound.values() for role in roles}
            for user, roles in guild.members.items():
                if mine := sorted(str(role) for role in roles & bound):
                    records.append({"kind": "member", "guild": str(guild.id), "user": str(user), "roles": mine})
            world.update({key_of(record): record for record in records})
        return world

    async def differences(self) -> list[str]:
        stored, world = await self.service.stored(), self.world()
        return [
            f"{key}: stored {stored.get(key)}, expected {world.get(key)}"
            for key in sorted(stored.keys() | world.keys())
            if stored.get(key) != world.get(key)
        ]

    async def close(self) -> None:
        if self.bot is not None and not self.bot.is_closed():
            await self.bot.close()
        if self._running is not None:
            await asyncio.gather(self._running, return_exceptions=True)


@asynccontextmanager
async def rig(guilds: int, shards: int = 2, large: int = 0) -> AsyncIterator[Rig]:
    gateway = FakeGateway(shards)
    for number in range(guilds):
        guild = gateway.new_guild(members=8 if number < large else 5, large=number < large)
        gateway.guilds[guild.id] = guild
    await gateway.start()
    discord.http.Route.BASE = f"http://127.0.0.1:{gateway.port}/api/v10"
    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway.url)
    with tempfile.TemporaryDirectory() as folder:
        service = Service(folder)
        await service.start()
        made = Rig(gateway, service)
        try:
            yield made
        finally:
            await made.close()
            service.end()
            await gateway.stop()


def _seen(guild: discord.Guild, expected: Guild) -> Any:
    members = {member.id: {role.id for role in member.roles} - {guild.id} for member in guild.members}
    if expected.large and not expected.bound:
        members = expected.members  # nobody asks for them
    return guild.name, guild.owner_id, guild.icon.key if guild.icon else None, guild.member_count, members


def _expected(guild: Guild) -> Any:
    return guild.name, guild.owner, guild.icon, len(guild.members), guild.members


def guild_record(guild: Guild) -> dict[str, Any]:
    icon = guild.icon and f"https://cdn.discordapp.com/icons/{guild.id}/{guild.icon}.png?size=1024"
    return {
        "kind": "guild",
        "id": str(guild.id),
        "name": guild.name,
        "icon": icon,
        "members": len(guild.members),
        "owner": str(guild.owner),
        "setup": guild.setup,
        "linked": not guild.setup,
        "roles": {key: sorted(str(role) for role in roles) for key, roles in guild.bound.items()},
    }


def outline_record(guild: Guild) -> dict[str, Any]:
    kinds = {"stage": "voice", "media": "forum", "news": "announcement"}
    labels = {role: role_label(guild, role) for role in sorted(guild.roles)}
    return {
        "kind": "outline",
        "guild": str(guild.id),
        "channels": [
            {"id": str(channel), "name": name, "kind": kinds.get(type_, type_)}
            for channel, (name, type_) in guild.channels.items()
        ],
        "roles": [
            {"id": str(role), "name": name, "color": f"#{color:06X}" if color else None}
            for role, (name, color) in labels.items()
        ],
    }
