"""Settings of guilds: publishes their schema, keeps the values in memory, and confirms those that are in force."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from .records import line
from .report import CompanionError, Reporter
from .schema import Section
from .transport import Transport, back_off
from .world import World

CONFIRMING_AT_ONCE = 8
MAX_SILENCE = 45.0  # the change stream has a comment every 15 s


class GuildSettings(Mapping[str, Any]):
    """The settings of a guild by `section.field`: the value that is set, or else the default.

    An unknown key raises `KeyError`. Later changes do not alter the object.
    """

    def __init__(self, defaults: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        self._defaults = defaults
        self._values = values

    def __getitem__(self, key: str) -> Any:
        if key not in self._defaults:
            raise KeyError(f"{key} is no setting: there are {', '.join(self._defaults) or 'none'}")
        return self._values.get(key, self._defaults[key])

    def __contains__(self, key: object) -> bool:
        return key in self._defaults

    def __iter__(self) -> Iterator[str]:
        return iter(self._defaults)

    def __len__(self) -> int:
        return len(self._defaults)

    def __repr__(self) -> str:
        return f"GuildSettings({dict(self)!r})"


class SettingsProblem(Exception):
    """Raised by a handler of settings: maps each key that cannot come into force to the reason, for the site."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{key}: {message}" for key, message in problems.items()))
        self.problems = dict(problems)


Handler = Callable[[int, GuildSettings, frozenset[str]], object]  # plain or async


class Settings:
    """Follows the change stream. Only the lines of the service are kept, and parsed on access: at 100,000 guilds they
    take a fraction of the memory of dictionaries."""

    def __init__(
        self,
        sections: Sequence[Section],
        world: World,
        transport: Transport,
        reporter: Reporter,
        has_reported: Callable[[int], bool],
    ) -> None:
        try:
            self._schema = line({"sections": list(sections)}).encode()
            self._defaults = {f"{s['key']}.{f['key']}": f.get("default") for s in sections for f in s["fields"]}
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ValueError(
                "settings must be a list of sections with key, title, permission and fields, "
                "and each field must have key, type and title"
            ) from None
        self.handler: Handler | None = None
        self._world = world
        self._transport = transport
        self._reporter = reporter
        self._has_reported = has_reported
        self._position: str | None = None  # id of the last change that is in memory
        self._lines: dict[int, bytes] = {}
        self._due: dict[int, frozenset[str]] = {}  # guilds to confirm, and the keys that changed
        self._unapplied: dict[int, frozenset[str]] = {}  # keys that a handler did not bring into force
        self._queue: asyncio.Queue[int] = asyncio.Queue()
        self._busy: set[int] = set()

    def of(self, guild_id: int) -> GuildSettings:
        return GuildSettings(self._defaults, self._read(guild_id)[1])

    def tasks(self) -> list[asyncio.Task[None]]:
        """Starts everything, if there are settings."""
        if not self._defaults:
            return []
        running = [self._follow(), *(self._confirm_due() for _ in range(CONFIRMING_AT_ONCE))]
        return [asyncio.create_task(one, name="Companion: settings") for one in running]

    # Values ------------------------------------------------------------------------------------------------------

    def _read(self, guild_id: int) -> tuple[int, dict[str, Any]]:
        """Returns the revision and the values that are set."""
        if guild_id not in self._lines:
            return 0, {}
        record = json.loads(self._lines[guild_id])
        return record["revision"], record["values"]

    def _keep(self, guild_id: int, kept: bytes | None) -> frozenset[str]:
        """Replaces the values of a guild, and returns the keys whose value is different now."""
        before = self.of(guild_id)
        if kept is None:
            self._lines.pop(guild_id, None)
        else:
            self._lines[guild_id] = kept
        now = self.of(guild_id)
        return frozenset(key for key in now if before[key] != now[key])

    async def _load(self) -> None:
        """Reads the values of all guilds of this process. A guild whose values were confirmed before is not new."""
        shards, count = self._world.shard_ids(), self._world.shard_count
        queries = [f"?shard={shard}&shards={count}" for shard in shards] if len(shards) < count else [""]
        all_keys = frozenset(self._defaults)
        seen: set[int] = set()
        for query in queries:
            async for kept in self._transport.lines(f"/bot/settings/guilds{query}"):
                record = json.loads(kept)
                guild_id, revision = int(record["guild"]), record["revision"]
                seen.add(guild_id)
                if guild_id not in self._lines:
                    self._lines[guild_id] = kept
                    if record.get("applied", revision) != revision:  # changed while the bot was away, unknown how
                        self._is_due(guild_id, all_keys)
                elif self._lines[guild_id] != kept:
                    is_new = self._read(guild_id)[0] != revision
                    changed = self._keep(guild_id, kept)
                    if is_new or changed:
                        self._is_due(guild_id, changed)
        for guild_id in self._lines.keys() - seen:
            self._is_due(guild_id, self._keep(guild_id, None))

    async def _load_guild(self, guild_id: int) -> None:
        try:
            data = await self._transport.request("GET", f"/bot/guilds/{guild_id}/settings")
        except CompanionError as error:
            if error.status == 404:  # the guild is gone: the last values stay
                return
            raise
        values = {key: data["values"][key] for key in data["set"]}
        kept = line({"revision": data["revision"], "values": values}).encode()
        self._is_due(guild_id, self._keep(guild_id, kept))

    # Changes -----------------------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        failures = 0
        while True:
            try:
                if self._position is None:
                    await self._publish()
                async with aclosing(self._events()) as events:
                    async for event in events:
                        if "id" in event:
                            await self._receive(event)
                            self._position = event["id"]
                        failures = 0
                problem = CompanionError("unreachable", "the change stream ended")
            except Exception as error:
                problem = CompanionError.wrapping(error, "settings")
                self._reporter.error(problem)
            failures += 1
            await asyncio.sleep(back_off(failures, problem))

    async def _publish(self) -> None:
        """Sends the schema at each start: one request that changes nothing if the service has it already."""
        try:
            await self._transport.send("settings", "PUT", "/bot/settings", self._schema)
        except CompanionError as error:
            if error.is_outage:
                raise
            wrong = "".join(f"; {one.get('path')}: {one.get('message')}" for one in error.fields)
            message = f"the schema of the settings was refused, and the last one stays: {error}{wrong}"
            self._reporter.error(CompanionError(error.word, message, status=error.status, fields=error.fields))

    async def _events(self) -> AsyncGenerator[dict[str, str], None]:
        """Yields the blocks of the change stream. A comment is a block without an id."""
        headers = {} if self._position is None else {"Last-Event-ID": self._position}
        event: dict[str, str] = {}
        path = "/bot/changes?kinds=settings,schema"
        async with aclosing(self._transport.lines(path, headers, silence=MAX_SILENCE)) as lines:
            async for text in lines:
                if text:
                    name, _, value = text.decode().partition(":")
                    event[name] = value.removeprefix(" ")
                elif event:
                    yield event
                    event = {}

    async def _receive(self, event: Mapping[str, str]) -> None:
        data = json.loads(event.get("data", "{}"))
        name = event.get("event")
        if name == "reset":
            await self._publish()
        if self._position is None or name in ("reset", "schema") or (name == "settings" and "guild" not in data):
            await self._load()
        elif name == "settings":
            guild_id = int(data["guild"])
            is_ours = self._world.shard_of(guild_id) in self._world.shard_ids()
            if is_ours and data.get("revision") != self._read(guild_id)[0]:
                await self._load_guild(guild_id)

    # Confirmations -----------------------------------------------------------------------------------------------

    def were_reported(self, guild_ids: Iterable[int]) -> None:
        """Confirms guilds that waited for the service to know them."""
        for guild_id in guild_ids:
            if guild_id in self._due:
                self._queue.put_nowait(guild_id)

    def _is_due(self, guild_id: int, changed: frozenset[str]) -> None:
        before = self._due.get(guild_id)
        self._due[guild_id] = before | changed if before else changed
        self._queue.put_nowait(guild_id)

    async def _confirm_due(self) -> None:
        while True:
            guild_id = await self._queue.get()
            if guild_id in self._busy or not self._has_reported(guild_id) or guild_id not in self._due:
                continue
            self._busy.add(guild_id)
            try:
                await self._apply(guild_id, self._due.pop(guild_id))
            except Exception as error:
                self._reporter.error(CompanionError.wrapping(error, "settings"))
            finally:
                self._busy.discard(guild_id)
                self.were_reported([guild_id])  # it may have changed again

    async def _apply(self, guild_id: int, changed: frozenset[str]) -> None:
        """Calls the handler, and confirms the revision that it was called with."""
        revision, values = self._read(guild_id)
        settings = GuildSettings(self._defaults, values)
        changed |= self._unapplied.pop(guild_id, frozenset())
        problems: dict[str, str] = {}
        try:
            if self.handler is not None and changed:
                result = self.handler(guild_id, settings, changed)
                if inspect.isawaitable(result):
                    await result
        except SettingsProblem as problem:
            problems = problem.problems
            self._unapplied[guild_id] = frozenset(problems)
        except Exception as error:
            self._unapplied[guild_id] = changed
            self._reporter.error(CompanionError("callback_failed", f"settings of guild {guild_id}: {error!r}"))
            return
        if revision > 0:
            await self._confirm(guild_id, revision, problems)

    async def _confirm(self, guild_id: int, revision: int, problems: Mapping[str, str]) -> None:
        body: dict[str, Any] = {"revision": revision}
        if problems:
            body["problems"] = [{"key": key, "message": message} for key, message in problems.items()]
        failures = 0
        while guild_id not in self._due:  # otherwise the next revision is confirmed in its place
            path = f"/bot/guilds/{guild_id}/settings/applied"
            try:
                await self._transport.send("settings", "PUT", path, line(body).encode())
                return
            except CompanionError as error:
                self._reporter.error(error)
                if not error.is_outage:
                    return
                failures += 1
                await asyncio.sleep(back_off(failures, error))
