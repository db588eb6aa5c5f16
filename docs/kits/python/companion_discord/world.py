"""The guilds of this process as the library's cache has them."""

from __future__ import annotations

import discord

from .facts import Facts
from .records import Reported, guild_line


class World:
    """Knows which guilds the gateway sessions have named, and reads their current state from the cache."""

    def __init__(self, client: discord.Client, facts: Facts) -> None:
        self.guilds: dict[int, discord.Guild] = {}
        self.connecting: set[int] = set()  # shards with a new session that are not ready yet
        self.ready: set[int] = set()
        self.left: set[int] = set()  # guilds that the service has to remove
        self.loaded: set[int] = set()  # guilds whose members were requested and came
        self.sees_members: bool = client.intents.members
        self._client = client
        self._facts = facts
        self._left_over: dict[int, discord.Guild] = {}  # still in the library's cache after the bot left

    @property
    def shard_count(self) -> int:
        return self._client.shard_count or 1

    def shard_ids(self) -> list[int]:
        """Returns all shards of this process, including those that are not connected yet."""
        if isinstance(self._client, discord.AutoShardedClient):
            return list(self._client.shard_ids or range(self.shard_count))
        return [self._client.shard_id or 0]

    def shard_of(self, guild_id: int) -> int:
        return (guild_id >> 22) % self.shard_count

    def guilds_of(self, shard: int) -> list[discord.Guild]:
        return [guild for guild in self.guilds.values() if guild.shard_id == shard]

    # Sessions and guilds -----------------------------------------------------------------------------------------

    def join_late(self) -> None:
        """Adopts the guilds of a client that is already connected."""
        self.guilds = {guild.id: guild for guild in self._client.guilds}
        self.ready = set(self.shard_ids())

    def connected(self, shard: int) -> None:
        """Adopts the guilds of a new gateway session.

        The library creates a new object for each guild that the session names. A sharded client keeps those of guilds
        that were left in the meantime, and the next session meets them again: they are the same objects as before.
        """
        now = {guild.id: guild for guild in self._client.guilds if guild.shard_id == shard}
        before = {**self._left_over, **self.guilds}
        named = {guild_id: guild for guild_id, guild in now.items() if before.get(guild_id) is not guild}
        self._left_over = {id_: guild for id_, guild in self._left_over.items() if guild.shard_id != shard}
        self._left_over.update({id_: guild for id_, guild in now.items() if id_ not in named})
        for guild_id in [guild_id for guild_id in self.guilds if self.shard_of(guild_id) == shard]:
            del self.guilds[guild_id]
            self.loaded.discard(guild_id)
            if guild_id not in named:
                self._facts.forget(guild_id)
        self.guilds.update(named)
        self.connecting.add(shard)

    def is_ready(self, shard: int) -> None:
        if shard not in self.connecting and shard not in self.ready:  # the kit was created after the session began
            self.guilds.update({guild.id: guild for guild in self._client.guilds if guild.shard_id == shard})
        self.connecting.discard(shard)
        self.ready.add(shard)

    def came(self, guild: discord.Guild) -> bool:
        """Adds a guild; returns whether it is still in the cache: a starting library dispatches events late."""
        if self._client.get_guild(guild.id) is not guild:
            return False
        self.guilds[guild.id] = guild
        self.left.discard(guild.id)
        return True

    def gone(self, guild_id: int) -> None:
        self.guilds.pop(guild_id, None)
        self.loaded.discard(guild_id)
        self._facts.forget(guild_id)
        self.left.add(guild_id)

    # Current state -----------------------------------------------------------------------------------------------

    def report(self, guild: discord.Guild, sent: Reported | None) -> Reported:
        """Returns the current state of a guild whose facts are known."""
        now = Reported(self.guild_line(guild), outline=sent.outline if sent else None)
        bound = self._facts.bound_roles(guild.id)
        if not self.sees_members or not bound:
            return now
        for member in guild.members:
            if roles := _roles_among(member, bound):
                now.members[member.id] = roles
        if sent is not None and not self.has_all_members(guild):
            for user_id, before in sent.members.items():  # no event said that a member outside the cache changed
                kept = tuple(role for role in before if role in bound)
                if kept and guild.get_member(user_id) is None:
                    now.members[user_id] = kept
        return now

    def guild_line(self, guild: discord.Guild) -> str:
        return guild_line(guild, self._facts.of(guild.id) or {})

    def roles_of(self, guild: discord.Guild, user_id: int) -> tuple[int, ...]:
        """Returns the bound roles of a member, or none if the cache does not have the member."""
        member = guild.get_member(user_id)
        if member is None or not self.sees_members:
            return ()
        return _roles_among(member, self._facts.bound_roles(guild.id))

    def has_all_members(self, guild: discord.Guild) -> bool:
        return guild.chunked or guild.id in self.loaded

    def without_members(self, shard: int) -> list[discord.Guild]:
        """Returns guilds with bound roles whose members are not all in the cache."""
        return [
            guild
            for guild in self.guilds_of(shard)
            if is_known(guild) and self._facts.bound_roles(guild.id) and not self.has_all_members(guild)
        ]


def is_known(guild: discord.Guild) -> bool:
    """Returns whether the cache has more than an id: a guild that becomes unavailable keeps its state, but one that was
    unavailable when the session began has none."""
    return guild.owner_id is not None


def _roles_among(member: discord.Member, bound: set[int]) -> tuple[int, ...]:
    return tuple(sorted(role for role in bound if member.get_role(role) is not None))
