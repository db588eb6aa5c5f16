"""Sends what is marked: snapshots of shards, records of other kinds, and differences."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from .facts import Facts
from .members import MemberLoader
from .pending import Marks, Pending
from .records import Change, Reported, differences, lost_members, member_change, outline_line
from .report import CompanionError, Reporter
from .transport import Transport, back_off
from .world import World, is_known

LINES_PER_REQUEST = 5_000
OUTLINES_PER_REQUEST = 2**21  # characters


class Sync:
    """Keeps what was sent last, and one request for changes in flight at a time."""

    def __init__(
        self,
        world: World,
        facts: Facts,
        pending: Pending,
        members: MemberLoader,
        transport: Transport,
        reporter: Reporter,
        flush_after: float,
    ) -> None:
        self.failures = 0  # in a row
        self.on_reported: Callable[[Iterable[int]], None] = lambda _: None
        """Called with guilds that the service has accepted."""
        self._world = world
        self._facts = facts
        self._pending = pending
        self._members = members
        self._transport = transport
        self._reporter = reporter
        self._flush_after = flush_after
        self._sent: dict[int, Reported] = {}
        self._incomplete: set[int] = set()  # shards whose last snapshot could not remove anything

    def mark_everything(self) -> None:
        self._members.allow_retries()
        for shard in self._world.ready:
            self._pending.shard(shard)
        if 0 in self._world.ready:
            self._pending.kinds(self._facts.kinds)

    def complete(self, shard: int) -> None:
        """Marks the snapshot of a shard again if its last one was incomplete and no guild is unknown any more."""
        if shard in self._incomplete and not any(
            not is_known(guild) and guild.id not in self._sent for guild in self._world.guilds_of(shard)
        ):
            self._pending.shard(shard)

    async def run(self, stopping: asyncio.Event) -> None:
        # Before Python 3.12 `wait_for` can swallow a cancellation, so the event ends the loop.
        while not stopping.is_set():
            if not self._pending.marks:
                self._pending.has_marks.clear()
                if not self._members.is_loading:
                    self._pending.is_idle.set()
                await self._pending.has_marks.wait()
                continue
            with contextlib.suppress(asyncio.TimeoutError):  # marks of this time are sent together
                await asyncio.wait_for(self._pending.in_a_hurry.wait(), self._flush_after)
            try:
                await self._send_marked()
                self.failures = 0
            except Exception as error:
                problem = CompanionError.wrapping(error, "sync")
                self._reporter.error(problem)
                self.failures += 1
                await asyncio.sleep(back_off(self.failures, problem))

    async def _send_marked(self) -> None:
        """Sends everything that is marked. A failed callback blocks nothing else and is called again later."""
        steps: list[Callable[[], Awaitable[None]]]
        steps = [partial(self._send_snapshot, shard) for shard in sorted(self._pending.marks.shards)]
        failed: CompanionError | None = None
        for step in [*steps, self._send_kinds, self._send_changes, self._send_outlines]:
            try:
                await step()
            except CompanionError as error:
                if error.word != "callback_failed":
                    raise
                failed = error
        if failed is not None:
            raise failed

    # Snapshots ---------------------------------------------------------------------------------------------------

    async def _send_snapshot(self, shard: int) -> None:
        marks = self._pending.marks
        taken = marks.take_guilds(lambda guild_id: self._world.shard_of(guild_id) == shard)
        taken.shards.add(shard)
        marks.shards.discard(shard)
        state: dict[int, Reported] = {}
        try:
            state, unknown, failed = await self._state_of(shard)
            query = "" if unknown or failed else self._replace(shard)
            lines = [(id_, line) for id_, now in state.items() for line in now.lines(id_)]
            if "members" not in query:
                lost = (change for id_, now in state.items() for change in lost_members(id_, self._sent.get(id_), now))
                lines += [(change.guild, change.line) for change in lost]
            refused = await self._transport.sync_guilds("snapshot", query, lines)
        except BaseException:
            for guild_id, now in state.items():
                now.mark_unconfirmed(self._sent.get(guild_id))
            self._sent.update(state)
            self._pending.marks.put_back(taken)
            raise
        for guild_id in [guild_id for guild_id in self._sent if self._world.shard_of(guild_id) == shard]:
            del self._sent[guild_id]
        for guild_id, now in state.items():
            if guild_id not in refused:
                now.unconfirmed.clear()
                self._sent[guild_id] = now
        if unknown or refused:
            self._incomplete.add(shard)
            if unknown:
                self.complete(shard)  # the last unknown guild may have come during the request
        else:
            self._incomplete.discard(shard)
        self._transport.stats.snapshots += 1
        self._were_reported(state.keys() - refused)
        self._members.start(shard)
        if failed:
            self._pending.marks.shards.add(shard)
            raise CompanionError("callback_failed", f"no facts of {failed} guilds of shard {shard}")

    def _replace(self, shard: int) -> str:
        """Returns the query that lets a complete snapshot remove what it leaves out."""
        kinds = "guilds,members" if self._members.has_all(shard) else "guilds"
        return f"?replace={kinds}&shard={shard}&shards={self._world.shard_count}"

    async def _state_of(self, shard: int) -> tuple[dict[int, Reported], int, int]:
        """Returns the guilds of a shard, how many of them are unknown, and how many have no facts."""
        known = [guild for guild in self._world.guilds_of(shard) if is_known(guild)]
        await self._facts.ask(known)
        asked = {guild.id for guild in known}
        state: dict[int, Reported] = {}
        unknown = failed = 0
        for guild in self._world.guilds_of(shard):
            sent = self._sent.get(guild.id)
            if not is_known(guild) and sent is not None:
                state[guild.id] = sent
            elif is_known(guild) and self._facts.of(guild.id) is not None:
                state[guild.id] = self._world.report(guild, sent)
            elif guild.id in asked:
                failed += 1
            else:
                unknown += 1
        return state, unknown, failed

    # Other kinds -------------------------------------------------------------------------------------------------

    async def _send_kinds(self) -> None:
        """Replaces all records of the marked kinds. Records that the service refuses wait for the next mark."""
        kinds, self._pending.marks.kinds = sorted(self._pending.marks.kinds), set()
        found = {kind: await self._facts.lines_of(kind) for kind in kinds}
        lines = {kind: lines for kind, lines in found.items() if lines is not None}
        try:
            if lines:
                await self._transport.sync("facts", f"?replace={','.join(lines)}", sum(lines.values(), []))
        except CompanionError as error:
            if error.status != 422:
                self._pending.marks.kinds.update(kinds)
                raise
            self._reporter.error(error)
        if failed := [kind for kind in kinds if kind not in lines]:
            self._pending.marks.kinds.update(failed)
            raise CompanionError("callback_failed", f"no records of {', '.join(failed)}")

    # Differences -------------------------------------------------------------------------------------------------

    async def _send_changes(self) -> None:
        taken = self._pending.marks.take_guilds(lambda _: True)
        try:
            for guild_id in sorted(taken.whole | taken.guilds):
                if guild_id in self._world.left:
                    await self._send_removal(guild_id)
            changes, failed = await self._changes(taken)
            for start in range(0, len(changes), LINES_PER_REQUEST):
                await self._post_changes(changes[start : start + LINES_PER_REQUEST])
        except BaseException:
            self._pending.marks.put_back(taken)
            raise
        if failed:
            self._pending.marks.whole |= failed
            raise CompanionError("callback_failed", f"no facts of {len(failed)} guilds")

    def has_reported(self, guild_id: int) -> bool:
        """Returns whether the service has accepted the guild."""
        sent = self._sent.get(guild_id)
        return sent is not None and None not in sent.unconfirmed

    def _were_reported(self, guild_ids: Iterable[int]) -> None:
        for guild_id in guild_ids:
            self._pending.outline(guild_id)
        self.on_reported(guild_ids)

    async def _post_changes(self, changes: list[Change]) -> None:
        for change in changes:
            change.apply(self._sent, is_certain=False)
        refused = await self._transport.sync_guilds("changes", "", [(one.guild, one.line) for one in changes])
        for change in changes:
            if change.guild not in refused:
                change.apply(self._sent, is_certain=True)
        self._were_reported({change.guild for change in changes if change.user is None} - refused)

    async def _send_removal(self, guild_id: int) -> None:
        if guild_id in self._sent:
            self._sent[guild_id].mark_unconfirmed()
            self._sent[guild_id].outline = None
        await self._transport.send("removal", "DELETE", f"/bot/guilds/{guild_id}")
        self._sent.pop(guild_id, None)
        self._world.left.discard(guild_id)

    async def _changes(self, taken: Marks) -> tuple[list[Change], set[int]]:
        """Returns the differences of marked guilds, guilds before their members, and the guilds without facts."""
        marked = taken.whole | taken.guilds | {guild for guild, _ in taken.members}
        known = [guild for id_ in sorted(marked) if (guild := self._world.guilds.get(id_)) and is_known(guild)]
        whole = {guild.id for guild in known if guild.id in taken.whole or not self.has_reported(guild.id)}
        await self._facts.ask([guild for guild in known if guild.id in whole or self._facts.of(guild.id) is None])
        changes: list[Change] = []
        failed: set[int] = set()
        for guild in known:
            sent = self._sent.get(guild.id)
            if guild.id not in self._world.guilds:
                continue  # left in the meantime, and marked again
            if self._facts.of(guild.id) is None:
                failed.add(guild.id)
            elif guild.id in whole:
                changes += differences(guild.id, sent, self._world.report(guild, sent))
                self._members.start(guild.shard_id)
            elif guild.id in taken.guilds and not self._sent[guild.id].has_guild(line := self._world.guild_line(guild)):
                changes.append(Change(guild.id, line))
        compared = {guild.id: guild for guild in known if guild.id not in whole | failed}
        for guild_id, user_id in sorted(taken.members):
            if guild_id in compared and guild_id in self._world.guilds:
                roles = self._world.roles_of(compared[guild_id], user_id)
                if not self._sent[guild_id].has_member(user_id, roles):
                    changes.append(member_change(guild_id, user_id, roles))
        return changes, failed

    # Outlines ----------------------------------------------------------------------------------------------------

    def forget_outlines(self) -> None:
        """Lets every outline be sent again with the next snapshot of its shard."""
        for reported in self._sent.values():
            reported.outline = None

    async def _send_outlines(self) -> None:
        """Sends marked outlines that differ from the last ones, in one request: the next ones follow later changes."""
        marks = self._pending.marks
        lines: list[tuple[int, str]] = []
        size = 0
        while marks.outlines and size < OUTLINES_PER_REQUEST:
            guild_id = marks.outlines.pop()
            guild = self._world.guilds.get(guild_id)
            if guild is None or not is_known(guild) or not self.has_reported(guild_id):
                continue  # marked again once the service has the guild
            line = outline_line(guild)
            size += len(line)
            if self._sent[guild_id].outline != hash(line):
                lines.append((guild_id, line))
                self._sent[guild_id].outline = None
        if not lines:
            return
        try:
            await self._transport.sync_guilds("outlines", "", lines)
        except BaseException as error:
            if isinstance(error, CompanionError) and error.status == 422:
                self._reporter.error(error)  # changes must not wait for outlines that are refused
                return
            marks.outlines.update(guild_id for guild_id, _ in lines)
            raise
        for guild_id, line in lines:  # a refused one is sent again when it has changed
            self._sent[guild_id].outline = hash(line)
