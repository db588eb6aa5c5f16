"""Lines of a sync, and the difference between the current state and what the service was sent last."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import discord


def line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def guild_line(guild: discord.Guild, facts: Mapping[str, Any]) -> str:
    return line(
        {
            "kind": "guild",
            "id": str(guild.id),
            "name": guild.name,
            "icon": guild.icon.url if guild.icon else None,
            "members": max(guild.member_count or 0, 0),
            "owner": str(guild.owner_id),
            **facts,
        }
    )


def member_line(guild_id: int, user_id: int, roles: Iterable[int]) -> str:
    return line(
        {"kind": "member", "guild": str(guild_id), "user": str(user_id), "roles": [str(role) for role in roles]}
    )


@dataclass
class Reported:
    """A guild as lines of a sync: the current state, or the last one that the service accepted."""

    guild: str
    members: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def lines(self, guild_id: int) -> Iterator[str]:
        yield self.guild
        for user_id, roles in self.members.items():
            yield member_line(guild_id, user_id, roles)


@dataclass
class Change:
    """A line of a sync, about a guild or, if `user` is set, about a member."""

    guild: int
    line: str
    user: int | None = None
    roles: tuple[int, ...] = ()

    def apply(self, sent: dict[int, Reported]) -> None:
        """Records that the service accepted it."""
        if self.user is None:
            sent.setdefault(self.guild, Reported("")).guild = self.line
        elif self.roles:
            sent[self.guild].members[self.user] = self.roles
        else:
            sent[self.guild].members.pop(self.user, None)


def differences(guild_id: int, sent: Reported | None, now: Reported) -> Iterator[Change]:
    """Yields what turns `sent` into `now`, the guild before its members."""
    if sent is None or sent.guild != now.guild:
        yield Change(guild_id, now.guild)
    before = sent.members if sent else {}
    for user_id, roles in now.members.items():
        if before.get(user_id) != roles:
            yield member_change(guild_id, user_id, roles)
    for user_id in before.keys() - now.members.keys():
        yield member_change(guild_id, user_id, ())


def member_change(guild_id: int, user_id: int, roles: tuple[int, ...]) -> Change:
    return Change(guild_id, member_line(guild_id, user_id, roles), user_id, roles)
