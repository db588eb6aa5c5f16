"""Requests members from the gateway that the library has not loaded."""

from __future__ import annotations

import asyncio

import discord

from .pending import Pending
from .report import CompanionError, Reporter
from .world import World

TIMEOUT = 60.0


class MemberLoader:
    """Loads the members of guilds with bound roles, one guild of a shard at a time; then marks a snapshot."""

    def __init__(self, world: World, pending: Pending, reporter: Reporter) -> None:
        self._world = world
        self._pending = pending
        self._reporter = reporter
        self._failed: set[int] = set()
        self._tasks: dict[int, asyncio.Task[None]] = {}

    @property
    def is_loading(self) -> bool:
        return bool(self._tasks)

    def allow_retries(self) -> None:
        """Forgets which guilds failed."""
        self._failed.clear()

    def has_all(self, shard: int) -> bool:
        return self._world.sees_members and not self._world.without_members(shard)

    def start(self, shard: int) -> None:
        if not self._world.sees_members or shard in self._tasks:
            return
        guilds = [guild for guild in self._world.without_members(shard) if guild.id not in self._failed]
        if guilds:
            task = asyncio.create_task(self._load(shard, guilds), name=f"Companion: members of shard {shard}")
            self._tasks[shard] = task
            task.add_done_callback(lambda _: self._ended(shard))
            self._pending.is_idle.clear()

    def cancel(self) -> None:
        for task in self._tasks.values():
            task.cancel()

    def _ended(self, shard: int) -> None:
        self._tasks.pop(shard, None)
        self._pending.has_marks.set()

    async def _load(self, shard: int, guilds: list[discord.Guild]) -> None:
        for guild in guilds:
            try:
                await asyncio.wait_for(guild.chunk(cache=True), TIMEOUT)
                self._world.loaded.add(guild.id)
            except Exception as error:
                self._failed.add(guild.id)
                self._reporter.error(CompanionError("members_unknown", f"guild {guild.id}: {error!r}"))
        self._pending.shard(shard)
