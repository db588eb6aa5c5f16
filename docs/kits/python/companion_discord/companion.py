"""The class that a bot creates."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import discord

from .arguments import check_client, checked_cluster
from .events import Events
from .facts import Facts, GuildCallback, GuildsCallback, RecordsCallback
from .heartbeat import Heartbeats
from .members import MemberLoader
from .pending import Pending
from .report import CompanionError, Posted, Reporter, Stats
from .schema import Section
from .settings import GuildSettings, Handler, Settings
from .sync import Sync
from .transport import Transport
from .world import World

Guild = discord.Guild | int | str
Guilds = Guild | Iterable[Guild]
AnyHandler = TypeVar("AnyHandler", bound=Handler)


class Companion:
    """Reports the guilds, members and shards of `client` to the management API at `url`.

    `guild` returns the bot's own facts about a guild, `guilds` those of many guilds in one call. `plus`, `staff`,
    `team`, `feedback` and `blocked` return all records of their kind, in the fields of the management API. A kind
    without a callback is never touched. Callbacks and hooks may be plain or async functions.

    `settings` declares what people can set for a guild on the site. With it, or with `outlines`, the names of channels
    and roles are reported too.

    Raises `ValueError` if an argument cannot work.
    """

    def __init__(
        self,
        client: discord.Client,
        url: str,
        key: str,
        *,
        cluster: str | None = None,
        guild: GuildCallback | None = None,
        guilds: GuildsCallback | None = None,
        plus: RecordsCallback | None = None,
        staff: RecordsCallback | None = None,
        team: RecordsCallback | None = None,
        feedback: RecordsCallback | None = None,
        blocked: RecordsCallback | None = None,
        settings: Sequence[Section] = (),
        outlines: bool = False,
        on_posted: Callable[[Posted], Any] | None = None,
        on_error: Callable[[CompanionError], Any] | None = None,
        flush_after: float = 2.0,
        counts_every: float = 60.0,
        heartbeat_every: float = 20.0,
        first_heartbeat_within: float = 60.0,
        snapshot_every: float = 6 * 3600.0,
        snapshot_after_outage: float = 300.0,
        stop_within: float = 5.0,
        max_members: int = 10_000,
    ) -> None:
        check_client(client)
        cluster = checked_cluster(cluster)
        given = {"plus": plus, "staff": staff, "team": team, "feedback": feedback, "blocked": blocked}
        kinds = {kind: callback for kind, callback in given.items() if callback is not None}
        self.client = client
        self._snapshot_every = snapshot_every
        self._snapshot_after_outage = snapshot_after_outage
        self._stop_within = stop_within
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = asyncio.Event()

        self._reporter = reporter = Reporter(on_posted, on_error)
        self._transport = transport = Transport(url, key, reporter)
        self._facts = facts = Facts(guild, guilds, kinds, reporter)
        self._world = world = World(client, facts)
        self._pending = pending = Pending(max_members, counts_every, outlines or bool(settings))
        self._members = members = MemberLoader(world, pending, reporter)
        self._sync = sync = Sync(world, facts, pending, members, transport, reporter, flush_after)
        self._settings = Settings(settings, world, transport, reporter, sync.has_reported)
        sync.on_reported = self._settings.were_reported
        self._heartbeats = Heartbeats(
            client,
            world,
            transport,
            reporter,
            cluster=cluster,
            every=heartbeat_every,
            first_within=first_heartbeat_within,
        )
        transport.on_reconnected = self._reconnected
        self._events = Events(
            client,
            world,
            facts,
            pending,
            members,
            sync,
            reporter,
            before_event=self._start,
            before_close=self.stop,
        )
        if client.is_ready():
            world.join_late()
            sync.mark_everything()
            self._start()

    @property
    def stats(self) -> Stats:
        return self._transport.stats

    @property
    def pending(self) -> int:
        """The number of ids that are marked as changed and not sent yet."""
        return len(self._pending.marks)

    def settings(self, guild: Guild) -> GuildSettings:
        """Returns the settings of a guild from memory: what the service sent last, and before that the defaults."""
        return self._settings.of(next(_ids([guild])))

    def on_settings(self, handler: AnyHandler) -> AnyHandler:
        """Registers the function that is called when settings change, as a decorator or directly.

        It is called with the id of the guild, its settings, and the keys that changed: all keys if the change was made
        while the bot was away. After it returned, the site shows the settings as in force; it may raise
        `SettingsProblem` for keys that are not. Calls for one guild never overlap.
        """
        self._settings.handler = handler
        return handler

    def guild_changed(self, *guilds: Guilds) -> None:
        """Tells the kit that the bot's own facts about these guilds changed.

        Takes guilds, ids and iterables of them.
        """
        for guild_id in _ids(guilds):
            self._pending.whole(guild_id)

    def facts_changed(self, *kinds: str) -> None:
        """Tells the kit that records of these kinds (`plus`, `staff`, `team`, `feedback`, `blocked`) changed."""
        for kind in kinds:
            if kind in self._facts.kinds:
                self._pending.kinds([kind])
            else:
                self._reporter.error(CompanionError("callback_failed", f"there is no callback for {kind}"))

    async def flush(self, timeout: float | None = None) -> bool:
        """Sends what is pending without the usual delay; returns whether all of it arrived in time."""
        if self._stopping.is_set():
            return not self.pending
        self._pending.counts_are_due()
        self._pending.in_a_hurry.set()
        self._pending.has_marks.set()
        try:
            await asyncio.wait_for(self._pending.is_idle.wait(), timeout)
        except asyncio.TimeoutError:
            return False
        finally:
            self._pending.in_a_hurry.clear()
        return True

    async def stop(self) -> None:
        """Sends what is pending, for `stop_within` seconds at most, signs off, and detaches from the client.

        `client.close()` calls it.
        """
        if self._stopping.is_set():
            return
        self._members.cancel()
        try:
            if self._tasks and self._sync.failures == 0:
                await self.flush(self._stop_within)
        finally:
            self._stopping.set()
            self._events.detach()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._heartbeats.sign_off()
            await self._transport.close()

    def _start(self) -> None:
        if self._tasks or self._stopping.is_set():
            return
        self._tasks = [
            asyncio.create_task(self._sync.run(self._stopping), name="Companion: sync"),
            asyncio.create_task(self._heartbeats.run(), name="Companion: heartbeats"),
            asyncio.create_task(self._take_snapshots(), name="Companion: snapshots"),
            *self._settings.tasks(),
        ]

    async def _take_snapshots(self) -> None:
        while True:
            await asyncio.sleep(self._snapshot_every * random.uniform(0.9, 1.1))
            self._sync.mark_everything()

    def _reconnected(self, seconds: float) -> None:
        """Sends snapshots after a long outage: the service may have been restored from a backup."""
        if seconds >= self._snapshot_after_outage:
            self._sync.forget_outlines()
            self._sync.mark_everything()


def _ids(guilds: Iterable[Guilds]) -> Iterator[int]:
    for guild in guilds:
        if isinstance(guild, (int, str)):
            yield int(guild)
        elif isinstance(guild, discord.Guild):
            yield guild.id
        else:
            yield from _ids(guild)
