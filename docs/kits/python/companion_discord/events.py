"""Listens to the library's events and marks what they may have changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import discord

from .facts import Facts
from .members import MemberLoader
from .pending import Pending
from .report import CompanionError, Reporter
from .sync import Sync
from .world import World


class Events:
    """Attached to the client from its creation until `detach`."""

    def __init__(
        self,
        client: discord.Client,
        world: World,
        facts: Facts,
        pending: Pending,
        members: MemberLoader,
        sync: Sync,
        reporter: Reporter,
        *,
        before_event: Callable[[], None],
        before_close: Callable[[], Awaitable[None]],
    ) -> None:
        self._client = client
        self._world = world
        self._facts = facts
        self._pending = pending
        self._members = members
        self._sync = sync
        self._reporter = reporter
        self._before_event = before_event
        self._before_close = before_close
        self._undo: list[Callable[[], None]] = []
        self._attach()

    def detach(self) -> None:
        """Removes every listener and restores the client's own handlers and `close`."""
        while self._undo:
            self._undo.pop()()

    def _attach(self) -> None:
        if isinstance(self._client, discord.AutoShardedClient):
            self._listen("shard_connect", self._world.connected)
            self._listen("shard_ready", self._is_ready)
        else:
            self._listen("connect", lambda: self._world.connected(self._client.shard_id or 0))
            self._listen("ready", lambda: self._is_ready(self._client.shard_id or 0))
        self._listen("guild_join", self._guild_came)
        self._listen("guild_available", self._guild_came)
        self._listen("guild_remove", self._guild_left)
        self._listen("guild_update", lambda _, guild: self._pending.guild(guild.id))
        self._listen("guild_role_delete", self._role_deleted)
        if self._pending.has_outlines:
            for event in ("guild_channel_create", "guild_channel_delete", "guild_channel_update"):
                self._listen(event, self._outline_changed)
            for event in ("guild_role_create", "guild_role_delete", "guild_role_update"):
                self._listen(event, self._outline_changed)
        self._listen("member_join", lambda member: self._member_moved(member.guild.id, member.id))
        self._listen("raw_member_remove", lambda event: self._member_moved(event.guild_id, event.user.id))
        self._listen("member_update", self._member_changed)
        self._replace("close", self._closing(self._client.close))

    def _listen(self, event: str, handle: Callable[..., None]) -> None:
        name = f"on_{event}"

        async def guarded(*args: Any) -> None:
            try:
                self._before_event()
                handle(*args)
            except Exception as error:  # a defect of the kit must not reach the bot
                self._reporter.error(CompanionError("kit_failed", f"{name}: {error!r}"))

        bot: Any = self._client
        if hasattr(bot, "add_listener"):
            bot.add_listener(guarded, name)
            self._undo.append(lambda: bot.remove_listener(guarded, name))
            return
        # A plain Client has one handler for each event: it is called afterwards.
        previous = getattr(bot, name, None)

        async def chained(*args: Any) -> None:
            if self._undo:
                await guarded(*args)
            if previous is not None:
                await previous(*args)

        self._replace(name, chained)

    def _closing(self, close: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
        async def stop_and_close() -> None:
            try:
                await self._before_close()
            except Exception as error:
                self._reporter.error(CompanionError("kit_failed", f"stop: {error!r}"))
            await close()

        return stop_and_close

    def _replace(self, name: str, function: Callable[..., Any]) -> None:
        """Sets an attribute of the client until `detach`, unless it is replaced again in the meantime."""
        attributes = vars(self._client)
        previous = attributes.get(name)

        def undo() -> None:
            if attributes.get(name) is not function:
                return
            if previous is None:
                delattr(self._client, name)
            else:
                setattr(self._client, name, previous)

        setattr(self._client, name, function)
        self._undo.append(undo)

    # Events ------------------------------------------------------------------------------------------------------

    def _is_ready(self, shard: int) -> None:
        self._world.is_ready(shard)
        self._members.allow_retries()
        self._pending.shard(shard)
        if shard == 0:
            self._pending.kinds(self._facts.kinds)

    def _guild_came(self, guild: discord.Guild) -> None:
        if self._world.came(guild) and guild.shard_id not in self._world.connecting:  # else the snapshot has it
            self._pending.whole(guild.id)
            self._pending.outline(guild.id)
            self._sync.complete(guild.shard_id)

    def _guild_left(self, guild: discord.Guild) -> None:
        self._world.gone(guild.id)
        self._pending.forget_count(guild.id)
        self._pending.guild(guild.id)
        self._sync.complete(guild.shard_id)

    def _role_deleted(self, role: discord.Role) -> None:
        if role.id in self._facts.bound_roles(role.guild.id):
            self._pending.whole(role.guild.id)

    def _outline_changed(self, *changed: discord.abc.GuildChannel | discord.Role) -> None:
        self._pending.outline(changed[0].guild.id)

    def _member_moved(self, guild_id: int, user_id: int) -> None:
        """Marks the roles of a member who joined or left, and later the count."""
        self._pending.count(guild_id)
        self._mark_member(guild_id, user_id)

    def _member_changed(self, before: discord.Member, after: discord.Member) -> None:
        if before.roles != after.roles:
            self._mark_member(after.guild.id, after.id)

    def _mark_member(self, guild_id: int, user_id: int) -> None:
        if self._facts.bound_roles(guild_id):
            self._pending.member(guild_id, user_id)
