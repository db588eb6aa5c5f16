"""Keeps a Companion service informed about a discord.py bot.

One file to copy beside the bot; it needs discord.py 2.x and nothing else. `docs/kits/README.md` says what is sent
when, and what it costs.

    companion = Companion(bot, "http://127.0.0.1:8081", key, guild=facts_of_guild)

The kit remembers what the service holds and compares. Events only mark what may have changed; a moment later the
current state is read from the library's cache, and what differs is sent in one request. So a lost answer, a restart of
the service or a burst of events needs no queue of events: whatever is marked is compared again.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import json
import logging
import math
import os
import random
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

import aiohttp
import discord

__all__ = ["Companion", "CompanionError", "GuildFacts", "Posted", "Stats"]

log = logging.getLogger("companion")

BOUND_KEYS = ("MOD", "ADMIN", "ERLC_STAFF", "ERLC_ADMIN", "ERLC_MANAGER", "SESSION_STARTER")
FACT_KINDS = ("plus", "staff", "team", "feedback", "blocked")
LINES_PER_REQUEST = 5_000
LONGEST_PAUSE = 60.0
MOST_REJECTIONS = 10


class GuildFacts(TypedDict, total=False):
    """What only the bot knows about a guild. What is left out is false or empty."""

    setup: bool
    linked: bool
    roles: Mapping[str, Iterable[int | str]]


GuildCallback = Callable[[discord.Guild], GuildFacts | Awaitable[GuildFacts]]
FactsCallback = Callable[[], Any]  # an iterable of records, or something that gives one when awaited


@dataclass(frozen=True)
class Posted:
    """A request that the service accepted, for the hook `on_posted`."""

    what: str  # snapshot, changes, removal, facts or heartbeat
    lines: int
    size: int  # bytes of the body
    seconds: float
    added: int
    changed: int
    removed: int


@dataclass
class Stats:
    """Totals since the start, for the bot's own metrics."""

    requests: int = 0
    failures: int = 0
    bytes: int = 0
    lines: int = 0
    snapshots: int = 0
    heartbeats: int = 0


class CompanionError(Exception):
    """Something did not work. `word` is the service's error word, or `unreachable`, `unreadable`, `callback_failed`,
    `members_unknown` or `kit_failed`, which are the kit's own."""

    def __init__(
        self,
        word: str,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        fields: Iterable[Mapping[str, str]] = (),
    ) -> None:
        super().__init__(f"{word}: {message}")
        self.word = word
        self.status = status
        self.retry_after = retry_after
        self.fields = tuple(fields)

    def wrong_line(self) -> int | None:
        """The number of the line that a sync was refused for."""
        for problem in self.fields:
            if match := re.match(r"line (\d+)", problem.get("path", "")):
                return int(match[1])
        return None


@dataclass
class _Known:
    """A guild as the lines of a sync: what is so now, or what the service was told last."""

    guild: str
    members: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def lines(self, guild_id: int) -> Iterator[str]:
        yield self.guild
        for user_id, roles in self.members.items():
            yield _member_line(guild_id, user_id, roles)


@dataclass
class _Pending:
    """What may have changed: ids alone, so that its size is bounded by the bot's guilds and `max_members`."""

    shards: set[int] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)
    whole: set[int] = field(default_factory=set)
    guilds: set[int] = field(default_factory=set)
    members: set[tuple[int, int]] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.shards or self.kinds or self.whole or self.guilds or self.members)

    def put_back(self, other: _Pending) -> None:
        self.shards |= other.shards
        self.kinds |= other.kinds
        self.whole |= other.whole
        self.guilds |= other.guilds
        self.members |= other.members

    def mark_member(self, guild_id: int, user_id: int, most: int) -> None:
        self.members.add((guild_id, user_id))
        if len(self.members) > most:  # comparing whole guilds costs less than remembering who changed
            self.whole |= {guild for guild, _ in self.members}
            self.members.clear()

    def take_guilds_of(self, belongs: Callable[[int], bool]) -> _Pending:
        """Takes out what a snapshot of those guilds makes superfluous."""
        taken = _Pending(
            whole={guild for guild in self.whole if belongs(guild)},
            guilds={guild for guild in self.guilds if belongs(guild)},
            members={mark for mark in self.members if belongs(mark[0])},
        )
        self.whole -= taken.whole
        self.guilds -= taken.guilds
        self.members -= taken.members
        return taken


class Companion:
    """Reports the guilds, members and shards of `client` to the management API at `url`.

    `guild` gives the bot's own facts about a guild; `plus`, `staff`, `team`, `feedback` and `blocked` give all records
    of their kind, in the fields of the management API. A kind without a callback is never touched. Callbacks and hooks
    may be plain or async functions.
    """

    def __init__(
        self,
        client: discord.Client,
        url: str,
        key: str,
        *,
        cluster: str | None = None,
        guild: GuildCallback | None = None,
        plus: FactsCallback | None = None,
        staff: FactsCallback | None = None,
        team: FactsCallback | None = None,
        feedback: FactsCallback | None = None,
        blocked: FactsCallback | None = None,
        on_posted: Callable[[Posted], Any] | None = None,
        on_error: Callable[[CompanionError], Any] | None = None,
        flush_after: float = 2.0,
        counts_every: float = 60.0,
        heartbeat_every: float = 20.0,
        snapshot_every: float = 6 * 3600.0,
        snapshot_after_outage: float = 300.0,
        stop_within: float = 5.0,
        max_members: int = 10_000,
    ) -> None:
        self.client = client
        self.stats = Stats()
        self._url = url.rstrip("/")
        self._key = key
        self._cluster = cluster
        self._guild_callback = guild
        given = {"plus": plus, "staff": staff, "team": team, "feedback": feedback, "blocked": blocked}
        self._callbacks: dict[str, FactsCallback] = {kind: call for kind, call in given.items() if call is not None}
        self._on_posted = on_posted
        self._on_error = on_error
        self._flush_after = flush_after
        self._counts_every = counts_every
        self._heartbeat_every = heartbeat_every
        self._snapshot_every = snapshot_every
        self._snapshot_after_outage = snapshot_after_outage
        self._stop_within = stop_within
        self._max_members = max_members
        self._sees_members: bool = client.intents.members

        self._guilds: dict[int, discord.Guild] = {}
        self._facts: dict[int, dict[str, Any]] = {}
        self._sent: dict[int, _Known] = {}
        self._pending = _Pending()
        self._counts: set[int] = set()
        self._connecting: set[int] = set()
        self._ready: set[int] = set()
        self._incomplete: set[int] = set()
        self._left_over: dict[int, discord.Guild] = {}  # in the library's cache, though they were left
        self._left: set[int] = set()
        self._loaded: set[int] = set()
        self._not_loadable: set[int] = set()
        self._loaders: dict[int, asyncio.Task[None]] = {}

        self._started_at = time.time()
        self._session: aiohttp.ClientSession | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._wake = asyncio.Event()
        self._hurry = asyncio.Event()
        self._idle = asyncio.Event()
        self._stopping = asyncio.Event()
        self._failures = 0
        self._down_since: float | None = None
        self._attach()
        if client.is_ready():
            self._join_late()

    # What the bot calls ------------------------------------------------------------------------------------------

    def guild_changed(self, guild: discord.Guild | int) -> None:
        """Says that the bot's own facts about a guild are different now."""
        self._mark(whole=guild if isinstance(guild, int) else guild.id)

    def facts_changed(self, *kinds: str) -> None:
        """Says that records of these kinds (`plus`, `staff`, `team`, `feedback`, `blocked`) are different now."""
        for kind in kinds:
            if kind in self._callbacks:
                self._mark(kind=kind)
            else:
                self._report(CompanionError("callback_failed", f"there is no callback for {kind}"))

    @property
    def pending(self) -> int:
        """How much is marked as changed and not sent yet."""
        marks = self._pending
        return len(marks.shards) + len(marks.kinds) + len(marks.whole) + len(marks.guilds) + len(marks.members)

    async def flush(self, timeout: float | None = None) -> bool:
        """Sends what is pending without the usual delay; whether all of it arrived in time."""
        for guild_id in self._take_counts():
            self._mark(guild=guild_id)
        self._hurry.set()
        self._wake.set()
        try:
            await asyncio.wait_for(self._idle.wait(), timeout)
        except asyncio.TimeoutError:
            return False
        finally:
            self._hurry.clear()
        return True

    async def stop(self) -> None:
        """Sends what is pending, for `stop_within` seconds at most, and ends. `client.close()` calls it."""
        if self._stopping.is_set():
            return
        for loader in self._loaders.values():
            loader.cancel()
        if self._tasks and self._failures == 0:
            await self.flush(self._stop_within)
        self._stopping.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    # Events ------------------------------------------------------------------------------------------------------

    def _attach(self) -> None:
        if isinstance(self.client, discord.AutoShardedClient):
            self._listen("shard_connect", self._connected)
            self._listen("shard_ready", self._is_ready)
        else:
            self._listen("connect", lambda: self._connected(self.client.shard_id or 0))
            self._listen("ready", lambda: self._is_ready(self.client.shard_id or 0))
        self._listen("guild_join", self._guild_came)
        self._listen("guild_available", self._guild_came)
        self._listen("guild_remove", self._guild_left)
        self._listen("guild_update", lambda _, guild: self._mark(guild=guild.id))
        self._listen("guild_role_delete", self._role_deleted)
        self._listen("member_join", lambda member: self._member_moved(member.guild.id, member.id))
        self._listen("raw_member_remove", lambda event: self._member_moved(event.guild_id, event.user.id))
        self._listen("member_update", self._member_changed)
        self._close_with_client()

    def _listen(self, event: str, handle: Callable[..., None]) -> None:
        name = f"on_{event}"

        async def guarded(*args: Any) -> None:
            try:
                self._start()
                handle(*args)
            except Exception as error:  # the bot must never see a mistake of ours
                self._report(CompanionError("kit_failed", f"{name}: {error!r}"))

        if hasattr(self.client, "add_listener"):
            self.client.add_listener(guarded, name)
            return
        # A plain Client has one handler for each event, so that one is called afterwards.
        previous = getattr(self.client, name, None)

        async def chained(*args: Any) -> None:
            await guarded(*args)
            if previous is not None:
                await previous(*args)

        setattr(self.client, name, chained)

    def _close_with_client(self) -> None:
        close = self.client.close

        async def stop_and_close() -> None:
            try:
                await self.stop()
            except Exception as error:
                self._report(CompanionError("kit_failed", f"stop: {error!r}"))
            await close()

        self.client.close = stop_and_close  # type: ignore[method-assign]

    def _start(self) -> None:
        if self._tasks or self._stopping.is_set():
            return
        self._tasks = [asyncio.create_task(self._send_loop()), asyncio.create_task(self._heartbeat_loop())]

    def _join_late(self) -> None:
        """Made while the bot runs: what connecting would have said is in the cache."""
        self._guilds = {guild.id: guild for guild in self.client.guilds}
        self._ready = set(self._shard_ids())
        self._mark_everything()
        self._start()

    def _connected(self, shard: int) -> None:
        """A new gateway session. The library makes a new object for each guild that it names; a sharded client keeps
        those of guilds that were left meanwhile, and they are told apart by being the same objects as before. They stay
        in its cache, so the next session meets them again."""
        now = {guild.id: guild for guild in self.client.guilds if guild.shard_id == shard}
        before = {**self._left_over, **self._guilds}
        named = {guild_id: guild for guild_id, guild in now.items() if before.get(guild_id) is not guild}
        self._left_over = {id_: guild for id_, guild in self._left_over.items() if guild.shard_id != shard}
        self._left_over.update({id_: guild for id_, guild in now.items() if id_ not in named})
        for guild_id in [guild_id for guild_id in self._guilds if self._shard_of(guild_id) == shard]:
            del self._guilds[guild_id]
            self._loaded.discard(guild_id)
            if guild_id not in named:
                self._facts.pop(guild_id, None)
        self._guilds.update(named)
        self._connecting.add(shard)

    def _is_ready(self, shard: int) -> None:
        self._connecting.discard(shard)
        self._ready.add(shard)
        self._not_loadable.clear()
        self._mark(shard=shard)
        if shard == 0:
            for kind in self._callbacks:
                self._mark(kind=kind)

    def _guild_came(self, guild: discord.Guild) -> None:
        if self.client.get_guild(guild.id) is not guild:
            return  # left again: while it gets ready, the library keeps what it has to tell
        self._guilds[guild.id] = guild
        self._left.discard(guild.id)
        if guild.shard_id in self._connecting:
            return  # the snapshot will have it
        self._mark(whole=guild.id)
        self._complete(guild.shard_id)

    def _guild_left(self, guild: discord.Guild) -> None:
        self._guilds.pop(guild.id, None)
        self._loaded.discard(guild.id)
        self._facts.pop(guild.id, None)
        self._counts.discard(guild.id)
        self._left.add(guild.id)
        self._mark(guild=guild.id)
        self._complete(guild.shard_id)

    def _complete(self, shard: int) -> None:
        """A snapshot that had to leave a guild out removed nothing; it is made up for once all are known."""
        if shard in self._incomplete and not any(
            not _is_known(guild) and guild.id not in self._sent
            for guild in self._guilds.values()
            if guild.shard_id == shard
        ):
            self._mark(shard=shard)

    def _role_deleted(self, role: discord.Role) -> None:
        if role.id in self._bound(role.guild.id):
            self._mark(whole=role.guild.id)

    def _member_moved(self, guild_id: int, user_id: int) -> None:
        """Someone joined or left: the count, which moves all the time, can wait; roles cannot."""
        if not self._counts:
            asyncio.get_running_loop().call_later(self._counts_every, self._counts_are_due)
        self._counts.add(guild_id)
        self._mark_member(guild_id, user_id)

    def _member_changed(self, before: discord.Member, after: discord.Member) -> None:
        if before.roles != after.roles:
            self._mark_member(after.guild.id, after.id)

    def _mark_member(self, guild_id: int, user_id: int) -> None:
        if self._bound(guild_id):
            self._pending.mark_member(guild_id, user_id, self._max_members)
            self._note()

    def _counts_are_due(self) -> None:
        for guild_id in self._take_counts():
            self._mark(guild=guild_id)

    def _take_counts(self) -> set[int]:
        counts, self._counts = self._counts, set()
        return counts

    def _mark(
        self,
        *,
        shard: int | None = None,
        kind: str | None = None,
        whole: int | None = None,
        guild: int | None = None,
    ) -> None:
        for marks, mark in (
            (self._pending.shards, shard),
            (self._pending.kinds, kind),
            (self._pending.whole, whole),
            (self._pending.guilds, guild),
        ):
            if mark is not None:
                marks.add(mark)  # type: ignore[arg-type]
        self._note()

    def _note(self) -> None:
        self._idle.clear()
        self._wake.set()

    def _mark_everything(self) -> None:
        self._not_loadable.clear()
        for shard in self._ready:
            self._mark(shard=shard)
        if 0 in self._ready:
            for kind in self._callbacks:
                self._mark(kind=kind)

    # Sending -----------------------------------------------------------------------------------------------------

    async def _send_loop(self) -> None:
        # Before Python 3.12 `wait_for` can swallow a cancellation, so the flag is what ends it.
        while not self._stopping.is_set():
            if not self._pending:
                self._wake.clear()
                if not self._loaders:
                    self._idle.set()
                await self._wake.wait()
                continue
            await self._pause(self._flush_after)  # what comes meanwhile goes along
            try:
                await self._send_pending()
            except Exception as error:
                problem = error if isinstance(error, CompanionError) else CompanionError("kit_failed", repr(error))
                self._report(problem)
                self._failures += 1
                await self._back_off(problem)
            else:
                self._failures = 0

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._hurry.wait(), seconds)

    async def _back_off(self, problem: CompanionError) -> None:
        doubled = min(LONGEST_PAUSE, 0.5 * 2 ** min(self._failures, 10))
        delay = doubled * random.uniform(0.5, 1.0)
        if problem.retry_after is not None:  # a little later than allowed, so that many bots do not come at once
            delay = max(delay, problem.retry_after * random.uniform(1.0, 1.1))
        await asyncio.sleep(delay)

    async def _send_pending(self) -> None:
        """Everything that is marked. A callback that fails is heard again later, and holds nothing else up."""
        steps: list[Callable[[], Awaitable[None]]]
        steps = [functools.partial(self._send_snapshot, shard) for shard in sorted(self._pending.shards)]
        failed: CompanionError | None = None
        for step in [*steps, self._send_facts, self._send_changes]:
            try:
                await step()
            except CompanionError as error:
                if error.word != "callback_failed":
                    raise
                failed = error
        if failed is not None:
            raise failed

    async def _send_snapshot(self, shard: int) -> None:
        taken = self._pending.take_guilds_of(lambda guild_id: self._shard_of(guild_id) == shard)
        taken.shards.add(shard)
        self._pending.shards.discard(shard)
        try:
            world, unknown, failed = await self._world_of(shard)
            refused = await self._post_snapshot(shard, world, complete=not unknown and not failed)
        except BaseException:
            self._pending.put_back(taken)
            raise
        self._sent = {
            guild_id: known for guild_id, known in self._sent.items() if self._shard_of(guild_id) != shard
        } | {guild_id: known for guild_id, known in world.items() if guild_id not in refused}
        if unknown or refused:
            self._incomplete.add(shard)
            if unknown:
                self._complete(shard)  # the last of them may have come while it was on its way
        else:
            self._incomplete.discard(shard)
        self.stats.snapshots += 1
        self._load_members_of(shard)
        if failed:
            self._pending.shards.add(shard)
            raise CompanionError("callback_failed", f"facts of {failed} guilds of shard {shard} are not known")

    async def _world_of(self, shard: int) -> tuple[dict[int, _Known], int, int]:
        """All guilds of a shard; how many of them are unavailable and were never seen; and whose facts failed."""
        world: dict[int, _Known] = {}
        unknown = failed = 0
        for guild in [guild for guild in self._guilds.values() if guild.shard_id == shard]:
            if not _is_known(guild):
                if guild.id in self._sent:
                    world[guild.id] = self._sent[guild.id]
                else:
                    unknown += 1
            elif await self._ask_facts(guild):
                world[guild.id] = self._describe(guild)
            else:
                failed += 1
        return world, unknown, failed

    async def _post_snapshot(self, shard: int, world: Mapping[int, _Known], *, complete: bool) -> set[int]:
        """Posts all of a shard; gives the guilds that the service refused. Only a complete snapshot removes things."""
        refused: set[int] = set()
        while True:
            lines = [(id_, line) for id_, known in world.items() if id_ not in refused for line in known.lines(id_)]
            query = ""
            if complete and not refused:
                kinds = "guilds,members" if self._members_known(shard) else "guilds"
                query = f"?replace={kinds}&shard={shard}&shards={self.client.shard_count or 1}"
            try:
                await self._post("snapshot", query, [line for _, line in lines])
                return refused
            except CompanionError as error:
                refused.add(self._refused_guild(error, lines, len(refused)))

    def _refused_guild(self, error: CompanionError, lines: list[tuple[int, str]], so_far: int) -> int:
        """One wrong line refuses a whole sync: its guild is left out and the rest goes again."""
        number = error.wrong_line()
        if number is None or not 1 <= number <= len(lines) or so_far >= MOST_REJECTIONS:
            raise error
        self._report(error)
        return lines[number - 1][0]

    async def _send_facts(self) -> None:
        """All records of the kinds that changed. Mistakes in them are the callback's, and wait for its next word."""
        kinds, self._pending.kinds = sorted(self._pending.kinds), set()
        if not kinds:
            return
        lines: list[str] = []
        failed: list[str] = []
        for kind in kinds:
            try:
                lines += [_fact_line(kind, record) for record in await _result(self._callbacks[kind]())]
            except Exception as error:
                failed.append(kind)
                self._report(CompanionError("callback_failed", f"{kind}: {error!r}"))
        good = [kind for kind in kinds if kind not in failed]
        try:
            if good:
                await self._post("facts", f"?replace={','.join(good)}", lines)
        except CompanionError as error:
            if error.status != 422:
                self._pending.kinds.update(kinds)
                raise
            self._report(error)
        if failed:
            self._pending.kinds.update(failed)
            raise CompanionError("callback_failed", f"there are no records of {', '.join(failed)}")

    async def _send_changes(self) -> None:
        taken, self._pending = self._pending, _Pending(shards=self._pending.shards, kinds=self._pending.kinds)
        taken.shards, taken.kinds = set(), set()
        try:
            for guild_id in sorted(taken.whole | taken.guilds):
                if guild_id in self._left:
                    await self._send_removal(guild_id)
            changes, failed = await self._changes(taken)
            for start in range(0, len(changes), LINES_PER_REQUEST):
                await self._post_changes(changes[start : start + LINES_PER_REQUEST])
        except BaseException:
            self._pending.put_back(taken)
            raise
        if failed:
            self._pending.whole |= failed
            raise CompanionError("callback_failed", f"facts of {len(failed)} guilds are not known")

    async def _send_removal(self, guild_id: int) -> None:
        began = time.monotonic()
        data = await self._request("DELETE", f"/bot/guilds/{guild_id}")
        self._sent.pop(guild_id, None)
        self._left.discard(guild_id)
        self._tell(self._on_posted, _posted("removal", 1, 0, began, data))

    async def _changes(self, taken: _Pending) -> tuple[list[_Change], set[int]]:
        """What differs from what the service was told, guilds before their members."""
        changes: list[_Change] = []
        failed: set[int] = set()
        for guild_id in sorted(taken.whole | taken.guilds | {guild for guild, _ in taken.members}):
            guild = self._guilds.get(guild_id)
            if guild is None or not _is_known(guild):
                continue  # when it becomes available it is marked again
            is_whole = guild_id in taken.whole or guild_id not in self._sent
            if (is_whole or guild_id not in self._facts) and not await self._ask_facts(guild):
                failed.add(guild_id)
                continue
            sent = self._sent.get(guild_id)
            if is_whole:
                changes += _differences(guild_id, sent, self._describe(guild))
                self._load_members_of(guild.shard_id)
                continue
            if guild_id in taken.guilds and (line := self._guild_line(guild)) != (sent and sent.guild):
                changes.append(_Change(guild_id, line))
        changed_whole = taken.whole | failed
        for guild_id, user_id in sorted(taken.members):
            if guild_id not in changed_whole and guild_id in self._sent and guild_id in self._guilds:
                changes += self._member_change(self._guilds[guild_id], user_id)
        return changes, failed

    def _member_change(self, guild: discord.Guild, user_id: int) -> Iterator[_Change]:
        member = guild.get_member(user_id)
        roles = self._bound_roles(member) if member is not None else ()
        if _is_known(guild) and roles != self._sent[guild.id].members.get(user_id, ()):
            yield _Change(guild.id, _member_line(guild.id, user_id, roles), user_id, roles)

    async def _post_changes(self, changes: list[_Change]) -> None:
        refused: set[int] = set()
        while changes := [change for change in changes if change.guild not in refused]:
            try:
                await self._post("changes", "", [change.line for change in changes])
                break
            except CompanionError as error:
                numbered = [(change.guild, change.line) for change in changes]
                refused.add(self._refused_guild(error, numbered, len(refused)))
        for change in changes:
            change.apply(self._sent)

    # The state of now --------------------------------------------------------------------------------------------

    async def _ask_facts(self, guild: discord.Guild) -> bool:
        """Asks the bot about a guild. Where that fails its last word counts; whether there is any."""
        try:
            given: GuildFacts = await _result(self._guild_callback(guild)) if self._guild_callback else {}
            self._facts[guild.id] = _checked_facts(given)
        except Exception as error:
            self._report(CompanionError("callback_failed", f"guild {guild.id}: {error!r}"))
        return guild.id in self._facts

    def _bound(self, guild_id: int) -> set[int]:
        roles = self._facts.get(guild_id, {}).get("roles", {})
        return {int(role) for bound in roles.values() for role in bound}

    def _describe(self, guild: discord.Guild) -> _Known:
        known = _Known(self._guild_line(guild))
        if self._sees_members and (bound := self._bound(guild.id)):
            for member in guild.members:
                if roles := _roles_among(member, bound):
                    known.members[member.id] = roles
            if not self._has_all_members(guild) and guild.id in self._sent:
                known.members |= self._not_in_cache(guild, bound)
        return known

    def _not_in_cache(self, guild: discord.Guild, bound: set[int]) -> dict[int, tuple[int, ...]]:
        """Members whom the service was told of and the library has not loaded: nobody saw them lose anything."""
        return {
            user_id: kept
            for user_id, roles in self._sent[guild.id].members.items()
            if guild.get_member(user_id) is None and (kept := tuple(role for role in roles if role in bound))
        }

    def _bound_roles(self, member: discord.Member) -> tuple[int, ...]:
        return _roles_among(member, self._bound(member.guild.id)) if self._sees_members else ()

    def _guild_line(self, guild: discord.Guild) -> str:
        return _line(
            {
                "kind": "guild",
                "id": str(guild.id),
                "name": guild.name,
                "icon": guild.icon.url if guild.icon else None,
                "members": max(guild.member_count or 0, 0),
                "owner": str(guild.owner_id),
                **self._facts[guild.id],
            }
        )

    # Members that the library has not loaded ---------------------------------------------------------------------

    def _has_all_members(self, guild: discord.Guild) -> bool:
        return guild.chunked or guild.id in self._loaded

    def _without_members(self, shard: int) -> list[discord.Guild]:
        return [
            guild
            for guild in self._guilds.values()
            if guild.shard_id == shard
            and _is_known(guild)
            and self._bound(guild.id)
            and not self._has_all_members(guild)
        ]

    def _members_known(self, shard: int) -> bool:
        return self._sees_members and not self._without_members(shard)

    def _load_members_of(self, shard: int) -> None:
        """Asks the gateway for members of guilds with bound roles, one guild after another; then a snapshot again."""
        if not self._sees_members or shard in self._loaders:
            return
        guilds = [guild for guild in self._without_members(shard) if guild.id not in self._not_loadable]
        if guilds:
            task = asyncio.create_task(self._load_members(shard, guilds))
            self._loaders[shard] = task
            task.add_done_callback(lambda _: self._has_loaded(shard))
            self._idle.clear()

    def _has_loaded(self, shard: int) -> None:
        self._loaders.pop(shard, None)
        self._wake.set()

    async def _load_members(self, shard: int, guilds: list[discord.Guild]) -> None:
        for guild in guilds:
            try:
                await asyncio.wait_for(guild.chunk(cache=True), 60)
                self._loaded.add(guild.id)
            except Exception as error:
                self._not_loadable.add(guild.id)
                self._report(CompanionError("members_unknown", f"guild {guild.id}: {error!r}"))
        self._mark(shard=shard)

    # Heartbeats --------------------------------------------------------------------------------------------------

    async def _heartbeat_loop(self) -> None:
        snapshot_at = time.monotonic() + self._snapshot_every * random.uniform(0.9, 1.1)
        while not self._stopping.is_set():
            wait = self._heartbeat_every
            try:
                await self._send_heartbeat()
            except CompanionError as error:
                self._report(error)
                wait = max(wait, error.retry_after or 0)
            except Exception as error:
                self._report(CompanionError("kit_failed", f"heartbeat: {error!r}"))
            if time.monotonic() >= snapshot_at:
                snapshot_at = time.monotonic() + self._snapshot_every * random.uniform(0.9, 1.1)
                self._mark_everything()
            await asyncio.sleep(wait)

    async def _send_heartbeat(self) -> None:
        report = {"memory": _memory(), "started_at": int(self._started_at), "shards": self._shards()}
        body = _line(report).encode()
        began = time.monotonic()
        data = await self._request("PUT", f"/bot/clusters/{self._cluster_name()}/heartbeat", body, timeout=10)
        self.stats.heartbeats += 1
        self._tell(self._on_posted, _posted("heartbeat", 1, len(body), began, data))

    def _cluster_name(self) -> str:
        return self._cluster or f"cluster-{min(self._shard_ids(), default=0)}"

    def _shard_ids(self) -> list[int]:
        if isinstance(self.client, discord.AutoShardedClient):
            return list(self.client.shards)
        return [self.client.shard_id or 0]

    def _shards(self) -> dict[str, dict[str, float]]:
        """Shards with an acknowledged heartbeat. The library keeps its times by a monotonic clock of its own and shows
        only the difference, so they are read where it keeps them."""
        shards: dict[str, dict[str, float]] = {}
        to_wall_clock = time.time() - time.perf_counter()
        for shard in self._shard_ids():
            try:
                keeper: Any = self.client._get_websocket(shard_id=shard)._keep_alive
                latency, sent, acknowledged = keeper.latency, keeper._last_send, keeper._last_ack
            except (AttributeError, KeyError):
                continue  # not connected
            if math.isfinite(latency):
                shards[str(shard)] = {
                    "heartbeatSent": round(sent + to_wall_clock, 3),
                    "heartbeatAcknowledged": round(acknowledged + to_wall_clock, 3),
                    "latency": round(max(latency, 0.0) * 1000, 1),
                }
        return shards

    # Requests ----------------------------------------------------------------------------------------------------

    async def _post(self, what: str, query: str, lines: list[str]) -> None:
        body = "".join(f"{line}\n" for line in lines).encode()
        began = time.monotonic()
        data = await self._request("POST", f"/bot/sync{query}", body, timeout=120)
        self.stats.lines += len(lines)
        self._tell(self._on_posted, _posted(what, len(lines), len(body), began, data))

    async def _request(self, method: str, path: str, body: bytes = b"", *, timeout: float = 30) -> dict[str, Any]:
        if self._session is None:
            self._session = aiohttp.ClientSession(headers={"Authorization": f"Bearer {self._key}"})
        self.stats.requests += 1
        self.stats.bytes += len(body)
        try:
            async with self._session.request(
                method,
                self._url + path,
                data=body,
                timeout=aiohttp.ClientTimeout(total=timeout),
                allow_redirects=False,  # the key goes nowhere else
            ) as answer:
                data = await _data_of(answer)
        except (aiohttp.ClientError, asyncio.TimeoutError, OSError, ValueError) as error:
            self._failed()
            raise CompanionError("unreachable", repr(error)) from error
        except CompanionError:
            self._failed()
            raise
        self._succeeded()
        return data

    def _failed(self) -> None:
        self.stats.failures += 1
        if self._down_since is None:
            self._down_since = time.monotonic()

    def _succeeded(self) -> None:
        """After a long outage the service may have been restored from a backup: everything is said again."""
        if self._down_since is not None and time.monotonic() - self._down_since >= self._snapshot_after_outage:
            self._mark_everything()
        self._down_since = None

    # Hooks -------------------------------------------------------------------------------------------------------

    def _report(self, error: CompanionError) -> None:
        log.warning("%s", error)
        self._tell(self._on_error, error)

    def _tell(self, hook: Callable[[Any], Any] | None, what: Any) -> None:
        if hook is None:
            return
        try:
            result = hook(what)
            if inspect.isawaitable(result):
                asyncio.ensure_future(_quietly(result))
        except Exception:
            log.exception("a hook of the Companion kit failed")

    def _shard_of(self, guild_id: int) -> int:
        return (guild_id >> 22) % (self.client.shard_count or 1)


@dataclass
class _Change:
    """A line of a sync, and what it does to our memory of what the service holds."""

    guild: int
    line: str
    user: int | None = None
    roles: tuple[int, ...] = ()

    def apply(self, sent: dict[int, _Known]) -> None:
        if self.user is None:
            sent.setdefault(self.guild, _Known("")).guild = self.line
        elif self.roles:
            sent[self.guild].members[self.user] = self.roles
        else:
            sent[self.guild].members.pop(self.user, None)


def _differences(guild_id: int, sent: _Known | None, now: _Known) -> Iterator[_Change]:
    if sent is None or sent.guild != now.guild:
        yield _Change(guild_id, now.guild)
    before = sent.members if sent else {}
    for user_id, roles in now.members.items():
        if before.get(user_id) != roles:
            yield _Change(guild_id, _member_line(guild_id, user_id, roles), user_id, roles)
    for user_id in before.keys() - now.members.keys():
        yield _Change(guild_id, _member_line(guild_id, user_id, ()), user_id, ())


def _is_known(guild: discord.Guild) -> bool:
    """Whether the cache holds the guild. One that became unavailable is kept as it was; one that was unavailable when
    the session began is only an id."""
    return guild.owner_id is not None


def _roles_among(member: discord.Member, bound: set[int]) -> tuple[int, ...]:
    return tuple(sorted(role for role in bound if member.get_role(role) is not None))


def _checked_facts(given: GuildFacts) -> dict[str, Any]:
    """The bot's facts in the form of the service; raises on what the service would refuse."""
    roles: dict[str, list[str]] = {}
    for key, ids in (given.get("roles") or {}).items():
        if key not in BOUND_KEYS:
            raise ValueError(f"{key!r} is none of {', '.join(BOUND_KEYS)}")
        if bound := sorted({int(role) for role in ids}):
            roles[key] = [str(role) for role in bound]
    return {"setup": bool(given.get("setup")), "linked": bool(given.get("linked")), "roles": roles}


def _fact_line(kind: str, record: Any) -> str:
    if kind == "blocked" and not isinstance(record, Mapping):
        record = {"user": record}
    return _line({"kind": kind, **_with_text_ids(record)})


def _with_text_ids(record: Mapping[str, Any]) -> dict[str, Any]:
    """discord.py has ids as numbers, the service as text."""
    texts: dict[str, Any] = {name: str(record[name]) for name in ("id", "user", "discord_id") if name in record}
    if "guilds" in record:
        texts["guilds"] = [str(guild) for guild in record["guilds"]]
    if "submitter" in record:
        texts["submitter"] = _with_text_ids(record["submitter"])
    return {**record, **texts}


def _member_line(guild_id: int, user_id: int, roles: Iterable[int]) -> str:
    return _line(
        {"kind": "member", "guild": str(guild_id), "user": str(user_id), "roles": [str(role) for role in roles]}
    )


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _posted(what: str, lines: int, size: int, began: float, data: Mapping[str, Any]) -> Posted:
    counts = (int(data.get(name, 0)) for name in ("added", "changed", "removed"))
    return Posted(what, lines, size, time.monotonic() - began, *counts)


async def _data_of(answer: aiohttp.ClientResponse) -> dict[str, Any]:
    """What an answer brings; what is no success, or not from the service, is an error."""
    try:
        envelope = json.loads(await answer.text())
        data, message = envelope["data"], str(envelope["message"])
    except (ValueError, KeyError, TypeError):
        data, message = {"error": "unreadable"}, f"the answer ({answer.status}) is not the service's"
        if answer.status < 400:
            raise CompanionError("unreadable", message, status=answer.status) from None
    if answer.status == 200:
        return dict(data)
    retry_after = answer.headers.get("Retry-After", "")
    raise CompanionError(
        data.get("error", "unreadable"),
        message,
        status=answer.status,
        retry_after=float(retry_after) if retry_after.isdecimal() else None,
        fields=data.get("fields", ()),
    )


async def _result(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


async def _quietly(awaitable: Awaitable[Any]) -> None:
    try:
        await awaitable
    except Exception:
        log.exception("a hook of the Companion kit failed")


def _memory() -> float:
    """Megabytes that the process holds; where the system does not say, the most it ever held."""
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            return round(int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20, 2)
    except (OSError, ValueError, AttributeError):
        pass
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    unit = 1 if os.uname().sysname == "Darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20, 2)
