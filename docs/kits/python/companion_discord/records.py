"""Lines of a sync, and the difference between the current state and what the service was sent last."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import discord

MAX_LINE = 256 * 1024  # bytes that the service accepts in a line of a sync
MAX_OUTLINE_ENTRIES = 500
CHANNEL_KINDS = {
    "text": "text",
    "voice": "voice",
    "stage_voice": "voice",
    "category": "category",
    "forum": "forum",
    "media": "forum",
    "news": "announcement",
}


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


def outline_line(guild: discord.Guild) -> str:
    """Returns the names of channels and roles, in the platform's order; threads and `@everyone` are left out."""
    text = _outline_line(guild, 100)
    return text if len(text.encode()) <= MAX_LINE else _outline_line(guild, 25)


def _outline_line(guild: discord.Guild, max_name: int) -> str:
    known = [channel for channel in guild.channels if str(channel.type) in CHANNEL_KINDS]
    channels = sorted(known, key=lambda channel: (channel.position, channel.id))[:MAX_OUTLINE_ENTRIES]
    named = [role for role in guild.roles if not role.is_default()]
    roles = sorted(named, key=lambda role: (-role.position, role.id))[:MAX_OUTLINE_ENTRIES]
    return line(
        {
            "kind": "outline",
            "guild": str(guild.id),
            "channels": [
                {"id": str(channel.id), "name": channel.name[:max_name], "kind": CHANNEL_KINDS[str(channel.type)]}
                for channel in channels
            ],
            "roles": [
                {
                    "id": str(role.id),
                    "name": role.name[:max_name],
                    "color": f"#{role.color.value:06X}" if role.color.value else None,
                }
                for role in roles
            ],
        }
    )


@dataclass
class Reported:
    """A guild as lines of a sync: the current state, or the last one that was sent.

    A request without an answer may have been applied or not. What it was about is unconfirmed: it is sent again even if the
    state has returned to what was sent before.
    """

    guild: str
    members: dict[int, tuple[int, ...]] = field(default_factory=dict)
    unconfirmed: set[int | None] = field(default_factory=set)  # users, and `None` for the guild itself
    outline: int | None = None  # hash of the last outline that was sent

    def lines(self, guild_id: int) -> Iterator[str]:
        yield self.guild
        for user_id, roles in self.members.items():
            yield member_line(guild_id, user_id, roles)

    def mark_unconfirmed(self, other: Reported | None = None) -> None:
        """Makes everything unconfirmed, and everything of `other` as well."""
        self.members = {**(other.members if other else {}), **self.members}
        self.unconfirmed |= {None, *self.members, *(other.unconfirmed if other else ())}

    def has_member(self, user_id: int, roles: tuple[int, ...]) -> bool:
        return user_id not in self.unconfirmed and self.members.get(user_id, ()) == roles

    def has_guild(self, guild: str) -> bool:
        return None not in self.unconfirmed and self.guild == guild


@dataclass
class Change:
    """A line of a sync, about a guild or, if `user` is set, about a member."""

    guild: int
    line: str
    user: int | None = None
    roles: tuple[int, ...] = ()

    def apply(self, sent: dict[int, Reported], *, is_certain: bool) -> None:
        """Records that it was sent, and whether the service accepted it."""
        reported = sent.setdefault(self.guild, Reported(""))
        if self.user is None:
            reported.guild = self.line
        elif self.roles:
            reported.members[self.user] = self.roles
        else:
            reported.members.pop(self.user, None)
        if is_certain:
            reported.unconfirmed.discard(self.user)
        else:
            reported.unconfirmed.add(self.user)


def differences(guild_id: int, sent: Reported | None, now: Reported) -> Iterator[Change]:
    """Yields what turns `sent` into `now`, the guild before its members."""
    before = sent or Reported("")
    if not before.has_guild(now.guild):
        yield Change(guild_id, now.guild)
    for user_id, roles in now.members.items():
        if not before.has_member(user_id, roles):
            yield member_change(guild_id, user_id, roles)
    yield from lost_members(guild_id, sent, now)


def lost_members(guild_id: int, sent: Reported | None, now: Reported) -> Iterator[Change]:
    """Yields a change for each member that was sent with roles, or is unconfirmed, and has none now."""
    if sent is not None:
        for user_id in sent.members.keys() | sent.unconfirmed:
            if user_id is not None and user_id not in now.members:
                yield member_change(guild_id, user_id, ())


def member_change(guild_id: int, user_id: int, roles: tuple[int, ...]) -> Change:
    return Change(guild_id, member_line(guild_id, user_id, roles), user_id, roles)
