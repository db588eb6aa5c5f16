"""What only the bot knows: facts about guilds, and records of the kinds that are not read from the platform."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypedDict

import discord

from .records import line
from .report import CompanionError, Reporter

BOUND_KEYS = ("MOD", "ADMIN", "ERLC_STAFF", "ERLC_ADMIN", "ERLC_MANAGER", "SESSION_STARTER")


class GuildFacts(TypedDict, total=False):
    """What only the bot knows about a guild. An absent field is false or empty."""

    setup: bool
    linked: bool
    roles: Mapping[str, Iterable[int | str]]


GuildCallback = Callable[[discord.Guild], GuildFacts | Awaitable[GuildFacts]]
GuildsCallback = Callable[[Sequence[discord.Guild]], Mapping[int, GuildFacts] | Awaitable[Mapping[int, GuildFacts]]]
RecordsCallback = Callable[[], Any]  # an iterable of records, or an awaitable of one


class Facts:
    """Calls the bot's callbacks and keeps the last facts of each guild."""

    def __init__(
        self,
        guild: GuildCallback | None,
        guilds: GuildsCallback | None,
        kinds: Mapping[str, RecordsCallback],
        reporter: Reporter,
    ) -> None:
        if guild is not None and guilds is not None:
            raise ValueError("guild and guilds exclude each other: pass one of them")
        self.kinds = kinds
        self._guild = guild
        self._guilds = guilds
        self._reporter = reporter
        self._known: dict[int, dict[str, Any]] = {}

    def of(self, guild_id: int) -> dict[str, Any] | None:
        """Returns the last facts of a guild, as fields of its record."""
        return self._known.get(guild_id)

    def forget(self, guild_id: int) -> None:
        self._known.pop(guild_id, None)

    def bound_roles(self, guild_id: int) -> set[int]:
        roles = self._known.get(guild_id, {}).get("roles", {})
        return {int(role) for bound in roles.values() for role in bound}

    async def ask(self, guilds: Sequence[discord.Guild]) -> None:
        """Asks the bot about guilds. If that fails for a guild, its last facts remain."""
        answers: dict[int, dict[str, Any]] = {}
        if self._guilds is not None and guilds:
            answers = await self._ask_together(guilds, self._guilds)
        elif self._guilds is None:
            for guild in guilds:
                try:
                    given: GuildFacts = await _result(self._guild(guild)) if self._guild is not None else {}
                    answers[guild.id] = _checked(given)
                except Exception as error:
                    self._failed(f"guild {guild.id}", error)
        self._known.update(answers)

    async def _ask_together(
        self, guilds: Sequence[discord.Guild], callback: GuildsCallback
    ) -> dict[int, dict[str, Any]]:
        answers: dict[int, dict[str, Any]] = {}
        try:
            given: Mapping[int, GuildFacts] = dict(await _result(callback(guilds)))
        except Exception as error:
            self._failed(f"{len(guilds)} guilds", error)
            return answers
        for guild in guilds:
            try:
                answers[guild.id] = _checked(given.get(guild.id, {}))
            except Exception as error:
                self._failed(f"guild {guild.id}", error)
        return answers

    async def lines_of(self, kind: str) -> list[str] | None:
        """Returns all records of a kind as lines of a sync, or `None` if the callback failed."""
        try:
            return [_record_line(kind, record) for record in await _result(self.kinds[kind]())]
        except Exception as error:
            self._failed(kind, error)
            return None

    def _failed(self, what: str, error: Exception) -> None:
        self._reporter.error(CompanionError("callback_failed", f"{what}: {error!r}"))


def _checked(given: GuildFacts) -> dict[str, Any]:
    """Returns facts as fields of a record; raises on what the service would refuse."""
    roles: dict[str, list[str]] = {}
    for key, ids in (given.get("roles") or {}).items():
        if key not in BOUND_KEYS:
            raise ValueError(f"{key!r} is none of {', '.join(BOUND_KEYS)}")
        if bound := sorted({int(role) for role in ids}):
            roles[key] = [str(role) for role in bound]
    return {"setup": bool(given.get("setup")), "linked": bool(given.get("linked")), "roles": roles}


def _record_line(kind: str, record: Any) -> str:
    if kind == "blocked" and not isinstance(record, Mapping):
        record = {"user": record}
    return line({"kind": kind, **_with_text_ids(record)})


def _with_text_ids(record: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a record whose ids are text: they are numbers in discord.py."""
    texts: dict[str, Any] = {name: str(record[name]) for name in ("id", "user", "discord_id") if name in record}
    if "guilds" in record:
        texts["guilds"] = [str(guild) for guild in record["guilds"]]
    if "submitter" in record:
        texts["submitter"] = _with_text_ids(record["submitter"])
    return {**record, **texts}


async def _result(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value
