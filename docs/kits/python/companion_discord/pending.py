"""Marks: ids of what may have changed and was not sent yet."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field


@dataclass
class Marks:
    """Ids alone, so that the size is bounded by the bot's guilds and `max_members`."""

    shards: set[int] = field(default_factory=set)  # snapshots to send
    kinds: set[str] = field(default_factory=set)
    whole: set[int] = field(default_factory=set)  # guilds to compare with all of their members
    guilds: set[int] = field(default_factory=set)
    members: set[tuple[int, int]] = field(default_factory=set)  # guild and user
    outlines: set[int] = field(default_factory=set)  # guilds whose channels or roles to compare

    def __len__(self) -> int:
        guilds = len(self.whole) + len(self.guilds) + len(self.outlines)
        return len(self.shards) + len(self.kinds) + guilds + len(self.members)

    def add_member(self, guild_id: int, user_id: int, most: int) -> None:
        self.members.add((guild_id, user_id))
        if len(self.members) > most:  # comparing whole guilds costs less than remembering every member
            self.whole |= {guild for guild, _ in self.members}
            self.members.clear()

    def put_back(self, other: Marks) -> None:
        self.shards |= other.shards
        self.kinds |= other.kinds
        self.whole |= other.whole
        self.guilds |= other.guilds
        self.members |= other.members

    def take_guilds(self, belongs: Callable[[int], bool]) -> Marks:
        """Moves the marks of guilds that `belongs` accepts into the result."""
        taken = Marks(
            whole={guild for guild in self.whole if belongs(guild)},
            guilds={guild for guild in self.guilds if belongs(guild)},
            members={mark for mark in self.members if belongs(mark[0])},
        )
        self.whole -= taken.whole
        self.guilds -= taken.guilds
        self.members -= taken.members
        return taken


class Pending:
    """The current marks, and the signals between those that mark and the task that sends."""

    def __init__(self, max_members: int, counts_every: float, has_outlines: bool) -> None:
        self.marks = Marks()
        self.has_outlines = has_outlines
        self.has_marks = asyncio.Event()
        self.in_a_hurry = asyncio.Event()
        self.is_idle = asyncio.Event()
        self._max_members = max_members
        self._counts_every = counts_every
        self._counts: set[int] = set()

    def shard(self, shard: int) -> None:
        self.marks.shards.add(shard)
        self.wake()

    def kinds(self, kinds: Iterable[str]) -> None:
        self.marks.kinds.update(kinds)
        self.wake()

    def whole(self, guild_id: int) -> None:
        self.marks.whole.add(guild_id)
        self.wake()

    def guild(self, guild_id: int) -> None:
        self.marks.guilds.add(guild_id)
        self.wake()

    def member(self, guild_id: int, user_id: int) -> None:
        self.marks.add_member(guild_id, user_id, self._max_members)
        self.wake()

    def outline(self, guild_id: int) -> None:
        if self.has_outlines:
            self.marks.outlines.add(guild_id)
            self.wake()

    def count(self, guild_id: int) -> None:
        """Marks a guild within `counts_every` seconds: the number of members changes too often to be sent at once."""
        if not self._counts:
            asyncio.get_running_loop().call_later(self._counts_every, self.counts_are_due)
        self._counts.add(guild_id)

    def counts_are_due(self) -> None:
        counts, self._counts = self._counts, set()
        for guild_id in counts:
            self.guild(guild_id)

    def forget_count(self, guild_id: int) -> None:
        self._counts.discard(guild_id)

    def wake(self) -> None:
        self.is_idle.clear()
        self.has_marks.set()
