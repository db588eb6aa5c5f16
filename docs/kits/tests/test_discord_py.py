"""The discord.py kit, with the real library, between a gateway on loopback and the running service.

    COMPANION_BIN=target/debug/companion python docs/kits/tests/test_discord_py.py

needs `pip install -r docs/kits/tests/requirements.txt`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import discord
import yarl
from aiohttp import web
from discord.ext import commands

sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent)]
from fake_gateway import FakeGateway, Guild  # noqa: E402

from companion_discord_py import Companion, CompanionError, Posted  # noqa: E402

KEY = "a-key-for-tests-only"
PATIENCE = 20.0
INTENTS = discord.Intents(guilds=True, members=True, presences=True)


class Service:
    """The program under test, over a SQLite file that outlives its process."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.public, self.management = (f"http://127.0.0.1:{port}" for port in _free_ports(2))
        self._process: subprocess.Popen[bytes] | None = None

    def _environment(self) -> dict[str, str]:
        ours = {
            "COMPANION_STORAGE__URL": f"sqlite:{self.folder / 'companion.db'}",
            "COMPANION_HTTP__LISTEN": self.public.removeprefix("http://"),
            "COMPANION_MANAGEMENT__LISTEN": self.management.removeprefix("http://"),
            "COMPANION_MANAGEMENT__KEY": KEY,
            "COMPANION_LOG__LEVEL": "error",
        }
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("COMPANION_")}
        return inherited | ours

    def _command(self, *arguments: str) -> list[str]:
        return [os.path.abspath(os.environ["COMPANION_BIN"]), *arguments]

    async def start(self) -> None:
        self._process = subprocess.Popen(
            self._command("serve"),
            cwd=self.folder,
            env=self._environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        await until("the service is ready", self._is_ready)

    async def _is_ready(self) -> bool:
        try:
            return (await self.get(f"{self.management}/health/ready"))["code"] == 200
        except OSError:
            return False

    def end(self, how: signal.Signals = signal.SIGKILL) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(10)
            self._process = None

    def forget(self) -> None:
        for file in self.folder.glob("companion.db*"):
            file.unlink()

    async def get(self, url: str) -> Any:
        return await asyncio.to_thread(self._ask, url)

    def _ask(self, url: str, body: bytes | None = None) -> Any:
        request = urllib.request.Request(url, body, {"Authorization": f"Bearer {KEY}"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    async def sync(self, *records: dict[str, Any]) -> None:
        body = "\n".join(json.dumps(record) for record in records).encode()
        await asyncio.to_thread(self._ask, f"{self.management}/bot/sync", body)

    async def stored(self) -> dict[str, Any]:
        """What `companion export` says, by key. A member without roles is the same as one who was never reported."""
        done = await asyncio.to_thread(
            subprocess.run,
            self._command("export"),
            cwd=self.folder,
            env=self._environment(),
            capture_output=True,
            check=True,
        )
        stored = {}
        for line in done.stdout.splitlines():
            record = json.loads(line)
            if record["kind"] != "member":
                stored[_key(record)] = record
            elif record["roles"]:
                stored[_key(record)] = record | {"roles": sorted(record["roles"])}
        return stored


class Bot(commands.AutoShardedBot):
    """An ordinary bot; whatever the kit raised into it would be in `failures`."""

    def __init__(self, shards: int) -> None:
        super().__init__("!", intents=INTENTS, shard_count=shards, guild_ready_timeout=0.3)
        self.failures: list[str] = []

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """The platform wants five seconds between two shards, and ours does not."""

    async def on_error(self, event_method: str, /, *args: Any, **kwargs: Any) -> None:
        self.failures.append(f"{event_method}: {traceback.format_exc()}")


class Rig:
    """A gateway, a bot with the kit, and the service."""

    def __init__(self, gateway: FakeGateway, service: Service) -> None:
        self.gateway = gateway
        self.service = service
        self.bot: Bot | None = None
        self.kit: Companion | None = None
        self.posted: list[Posted] = []
        self.errors: list[CompanionError] = []
        self._running: asyncio.Task[None] | None = None

    def facts(self, guild: discord.Guild) -> Any:
        known = self.gateway.guilds.get(guild.id)
        if known is None:
            return {}
        return {"setup": known.setup, "linked": not known.setup, "roles": known.bound}

    def connect(self, url: str | None = None, **options: Any) -> Companion:
        self.bot = Bot(self.gateway.shards)
        options = {
            "guild": self.facts,
            "on_posted": self.posted.append,
            "on_error": self.errors.append,
            "flush_after": 0.2,
            "counts_every": 0.5,
            "heartbeat_every": 0.5,
        } | options
        self.kit = Companion(self.bot, url or self.service.management, KEY, **options)
        self._running = asyncio.create_task(self.bot.start("a-token"))
        return self.kit

    async def ready(self) -> None:
        assert self.bot is not None and self.kit is not None
        await until("the bot is ready", lambda: self._running.done() or self.bot.is_ready())
        if self._running.done():
            await self._running  # says why the bot ended
        await until("the first snapshots are in", lambda: self.kit.stats.snapshots >= self.gateway.shards)
        await self.settled()

    async def settled(self) -> None:
        """Waits until the bot has seen what happened, and the service was told."""
        await until("the bot has seen everything", self.bot_is_up_to_date)
        assert self.kit is not None
        await until("the kit has sent everything", lambda: self.kit.flush(PATIENCE))

    def bot_is_up_to_date(self) -> bool:
        """Whether every event has reached the library's cache and has been handled."""
        assert self.bot is not None
        for shard in range(self.gateway.shards):
            if self.bot._get_websocket(shard_id=shard).sequence != self.gateway.last_sequence(shard):
                return False
        if any(task.get_name().startswith("discord.py: on_") for task in asyncio.all_tasks()):
            return False
        for expected in self.gateway.guilds.values():
            guild = self.bot.get_guild(expected.id)
            if guild is None or bool(guild.unavailable) != expected.unavailable:
                return False
            if not expected.unavailable and _seen(guild, expected) != _expected(expected):
                return False
        return True

    def world(self) -> dict[str, Any]:
        """What the service should hold, by the gateway's own model."""
        world = {}
        for guild in self.gateway.guilds.values():
            records = [_guild_record(guild)]
            bound = {role for roles in guild.bound.values() for role in roles}
            for user, roles in guild.members.items():
                if mine := sorted(str(role) for role in roles & bound):
                    records.append({"kind": "member", "guild": str(guild.id), "user": str(user), "roles": mine})
            world.update({_key(record): record for record in records})
        return world

    async def differences(self) -> list[str]:
        stored, world = await self.service.stored(), self.world()
        return [
            f"{key}: stored {stored.get(key)}, expected {world.get(key)}"
            for key in sorted(stored.keys() | world.keys())
            if stored.get(key) != world.get(key)
        ]

    async def close(self) -> None:
        if self.bot is not None and not self.bot.is_closed():
            await self.bot.close()
        if self._running is not None:
            await asyncio.gather(self._running, return_exceptions=True)


@asynccontextmanager
async def rig(guilds: int, shards: int = 2, large: int = 0) -> AsyncIterator[Rig]:
    gateway = FakeGateway(shards)
    for number in range(guilds):
        guild = gateway.new_guild(members=8 if number < large else 5, large=number < large)
        gateway.guilds[guild.id] = guild
    await gateway.start()
    discord.http.Route.BASE = f"http://127.0.0.1:{gateway.port}/api/v10"
    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway.url)
    with tempfile.TemporaryDirectory() as folder:
        service = Service(folder)
        await service.start()
        made = Rig(gateway, service)
        try:
            yield made
        finally:
            await made.close()
            service.end()
            await gateway.stop()


# The tests -----------------------------------------------------------------------------------------------------------


async def both_sides_hold_the_same_world_after_churn_restarts_and_reconnects() -> None:
    async with rig(1000, shards=4, large=20) as it:
        began = time.monotonic()
        it.connect()
        await it.ready()
        expect(await it.differences(), [], "after the first snapshots")
        first = it.kit.stats.bytes

        churn = asyncio.create_task(it.gateway.churn(2500))
        await until("the churn is under way", lambda: it.gateway.events > 2200)
        it.service.end(signal.SIGKILL)
        await until("the kit has noticed", lambda: it.kit.stats.failures >= 2)
        await churn
        await it.gateway.ask_to_reconnect(0)
        await it.gateway.end_session(1)
        await it.gateway.churn(1500)  # shard 0 hears of it when it resumes; shard 1 never does
        await it.service.start()
        await it.gateway.churn(500)
        for guild in it.gateway.guilds.values():
            if guild.unavailable and it.gateway.shard_of(guild.id) == 1:
                # What became of it before it was unavailable, and nobody was told, shows when it is back.
                await it.gateway.make_available(guild)
        await it.settled()

        different = await it.differences()
        stats = it.kit.stats
        print(
            f"  {len(it.gateway.guilds)} guilds, {it.gateway.events} events, {stats.requests} requests "
            f"({stats.snapshots} snapshots, {stats.heartbeats} heartbeats, {stats.failures} failed), "
            f"{stats.lines} lines, {stats.bytes} bytes ({first} for the first snapshots), "
            f"{len(different)} differences, "
            f"{time.monotonic() - began:.1f} s"
        )
        expect(different, [], "in the end")
        expect(it.bot.failures, [], "exceptions in the bot")


async def an_unavailable_guild_is_not_removed_and_one_left_while_away_is() -> None:
    async with rig(20) as it:
        away, gone = it.gateway.new_guild(), it.gateway.new_guild()
        while it.gateway.shard_of(gone.id) != it.gateway.shard_of(away.id):
            gone = it.gateway.new_guild()
        await it.service.sync(_guild_record(away), _guild_record(gone))
        it.gateway.guilds[away.id] = away
        away.unavailable = True
        it.connect()
        await it.ready()
        stored = await it.service.stored()
        expect({f"guild {away.id}", f"guild {gone.id}"} <= stored.keys(), True, "nothing is removed yet")

        await it.gateway.make_available(away)
        await it.settled()
        expect(await it.differences(), [], "once every guild is known")

        await it.gateway.make_unavailable(away)
        await it.gateway.end_session(it.gateway.shard_of(away.id))
        snapshots = it.kit.stats.snapshots
        await until("a snapshot follows the new session", lambda: it.kit.stats.snapshots > snapshots)
        await it.settled()
        expect(await it.differences(), [], "while it is unavailable")

        shard = it.gateway.shard_of(away.id)
        left = next(guild for guild in it.gateway.guilds if guild != away.id and it.gateway.shard_of(guild) == shard)
        del it.gateway.guilds[left]  # and nobody is told
        for session in ("the next session", "one more session"):
            snapshots = it.kit.stats.snapshots
            await it.gateway.end_session(shard)
            await until("a snapshot follows the session", lambda: it.kit.stats.snapshots > snapshots)
            await it.settled()
            expect(await it.differences(), [], f"after {session}")


async def heartbeats_have_times_and_latency_of_acknowledged_shards_only() -> None:
    async with rig(8, shards=3) as it:
        it.gateway.muted.add(2)
        it.connect()
        await it.ready()

        async def shards() -> dict[str, Any]:
            return (await it.service.get(it.service.public))["data"]["health"]["bot"]["shards"]

        async def both() -> bool:
            return set(await shards()) == {"0", "1"}

        await until("both shards are shown", both)
        for shard in (await shards()).values():
            expect(abs(shard["heartbeatSent"] - time.time()) < 60, True, "sent by the wall clock")
            expect(shard["heartbeatAcknowledged"] >= shard["heartbeatSent"], True, "acknowledged after that")
            expect(0 <= shard["latency"] < 10_000, True, "milliseconds")


async def a_service_that_lost_its_data_gets_a_snapshot_after_a_long_outage() -> None:
    async with rig(20) as it:
        it.connect(snapshot_after_outage=0.1)
        await it.ready()
        it.service.end()
        it.service.forget()
        await until("the kit has noticed", lambda: it.kit.stats.failures >= 2)
        await it.service.start()
        snapshots = it.kit.stats.snapshots
        await until("all is said again", lambda: it.kit.stats.snapshots >= snapshots + 2)
        await it.settled()
        expect(await it.differences(), [], "in the end")


async def facts_of_the_bot_come_through_callbacks() -> None:
    async with rig(4) as it:
        guild = next(iter(it.gateway.guilds.values()))
        submitter = {"username": "owl", "name": "Owl", "id": 12, "avatar": "https://cdn.example/1.png"}
        staff = [{"user": 11, "permissions": ["SUPPORT"]}]

        async def plus() -> Any:
            return [{"user": 11, "guilds": [guild.id], "slots": 3}]

        it.connect(
            plus=plus,
            staff=lambda: staff,
            team=lambda: [
                {"username": "owl", "name": "Owl", "avatar": "https://cdn.example/1.png", "discord_id": 12}
                | {"role": "Lead", "color": "#1ABC9C", "category": "Development", "position": 1}
            ],
            feedback=lambda: [{"id": "a1", "feedback": "Fine.", "rating": 5, "timestamp": 1, "submitter": submitter}],
            blocked=lambda: [13],
        )
        await it.ready()
        stored = await it.service.stored()
        expect(
            {key.split()[0] for key in stored} - {"guild", "member"},
            {"plus", "staff", "team", "feedback", "blocked"},
            "",
        )
        expect(stored["plus 11"]["guilds"], [str(guild.id)], "ids become text")

        staff.clear()
        it.kit.facts_changed("staff")
        guild.setup, guild.bound = not guild.setup, {"ERLC_STAFF": sorted(guild.roles)[:2]}
        it.kit.guild_changed(guild.id)
        await it.settled()
        stored = await it.service.stored()
        expect("staff 11" in stored, False, "what the callback no longer names is gone")
        expect([key for key in it.world() if stored.get(key) != it.world()[key]], [], "the guild's facts")


async def nothing_reaches_the_bot_when_callbacks_and_hooks_fail() -> None:
    async with rig(10) as it:
        wrong, failing = list(it.gateway.guilds)[:2]
        broken = True

        def facts(guild: discord.Guild) -> Any:
            if broken and guild.id == failing:
                raise RuntimeError("no database")
            if broken and guild.id == wrong:
                return {"roles": {"JANITOR": [1]}}
            return it.facts(guild)

        def hook(_: Any) -> None:
            raise RuntimeError("a broken hook")

        logging.disable(logging.CRITICAL)
        it.connect(guild=facts, on_posted=hook)
        await until("the mistakes are reported", lambda: len(it.errors) >= 3)
        expect({error.word for error in it.errors}, {"callback_failed"}, "the error's word")

        async def others() -> bool:
            return sum(key.startswith("guild ") for key in await it.service.stored()) == 8

        await until("the other guilds are there", others)
        broken = False
        await it.ready()
        logging.disable(logging.NOTSET)
        expect(await it.differences(), [], "once the callbacks work")
        expect(it.bot.failures, [], "exceptions in the bot")


async def a_guild_that_the_service_refuses_holds_up_no_other() -> None:
    async with rig(10) as it:
        refused = next(iter(it.gateway.guilds.values()))
        name, refused.name = refused.name, "x" * 300
        it.connect()
        await it.ready()
        expect([error.word for error in it.errors], ["input_invalid"], "errors")
        expect(sum(key.startswith("guild ") for key in await it.service.stored()), 9, "guilds")
        refused.name = name
        await it.gateway.change_icon(refused)
        await it.settled()
        expect(await it.differences(), [], "once it is valid")


async def retry_after_is_honoured_and_what_failed_is_sent_again() -> None:
    async with rig(5, shards=1) as it:
        arrivals: list[float] = []

        async def answer(request: web.Request) -> web.Response:
            if "heartbeat" in request.path:
                return web.json_response({"code": 200, "message": "", "data": {}})
            await request.read()
            arrivals.append(time.monotonic())
            if len(arrivals) == 1:
                error = {"code": 503, "message": "Busy.", "data": {"error": "storage_unavailable"}}
                return web.json_response(error, status=503, headers={"Retry-After": "2"})
            return web.json_response({"code": 200, "message": "", "data": {"added": 5, "changed": 0, "removed": 0}})

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            it.connect(f"http://127.0.0.1:{runner.addresses[0][1]}")
            await it.ready()
        finally:
            await it.close()
            await runner.cleanup()
        expect([error.word for error in it.errors], ["storage_unavailable"], "errors")
        expect(arrivals[1] - arrivals[0] >= 2.0, True, f"the pause, {arrivals[1] - arrivals[0]:.2f} s")


async def a_burst_is_a_few_requests_and_its_queue_is_bounded() -> None:
    async with rig(50) as it:
        it.connect(max_members=10, flush_after=1.0)
        await it.ready()
        before = it.kit.stats.requests - it.kit.stats.heartbeats
        longest = 0
        for number in range(200):
            await it.gateway.change_roles(it.gateway.random.choice(list(it.gateway.guilds.values())))
            if number % 10 == 0:
                await until("it is handled", it.bot_is_up_to_date)
            longest = max(longest, it.kit.pending)
        await it.settled()
        sent = it.kit.stats.requests - it.kit.stats.heartbeats - before
        expect(0 < longest <= 60, True, f"ten members and fifty guilds pending at most, {longest}")
        expect(sent <= 5, True, f"requests for 200 events, {sent}")
        expect(await it.differences(), [], "in the end")


async def closing_the_bot_sends_the_last_change_and_ends() -> None:
    async with rig(5) as it:
        it.connect(flush_after=60.0)
        await until("the bot is ready", it.bot.is_ready)
        await it.settled()
        guild = next(iter(it.gateway.guilds.values()))
        await it.gateway.rename(guild)
        await until("the bot has seen it", it.bot_is_up_to_date)
        began = time.monotonic()
        await it.close()
        expect(time.monotonic() - began < 5, True, "it does not hold the bot up")
        expect(await it.differences(), [], "the last change")
        left = [task for task in asyncio.all_tasks() if "Companion" in repr(task)]
        expect(left, [], "tasks left over")


async def a_kit_that_is_made_while_the_bot_runs_catches_up() -> None:
    async with rig(6) as it:
        it.connect("http://127.0.0.1:9")  # nobody is there
        await until("the bot is ready", it.bot.is_ready)
        late = Companion(it.bot, it.service.management, KEY, guild=it.facts, flush_after=0.1)
        await until("its snapshots are in", lambda: late.stats.snapshots >= it.gateway.shards)
        expect(await it.differences(), [], "what was there before")
        await it.gateway.rename(next(iter(it.gateway.guilds.values())))
        await until("the bot has seen it", it.bot_is_up_to_date)
        await late.flush(PATIENCE)
        expect(await it.differences(), [], "what happened afterwards")


async def the_lines_of_the_page_connect_a_bot() -> None:
    page = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    lines = page.split("```python\n")[1].split("```")[0]
    expect(len([line for line in lines.splitlines() if line.strip()]) <= 10, True, "ten lines")
    async with rig(6, shards=1) as it:
        for guild in it.gateway.guilds.values():
            guild.setup, guild.bound = True, {"MOD": [min(guild.roles)]}
        before = (
            "import discord, signal, yarl\n"
            # A shell that works in the background has its children ignore it.
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            f"discord.http.Route.BASE = {discord.http.Route.BASE!r}\n"
            f"discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL({it.gateway.url!r})\n"
        )
        script = before + lines.replace("http://127.0.0.1:8081", it.service.management)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", script,
            cwd=Path(__file__).parent.parent, env=os.environ | {"COMPANION_KEY": KEY, "TOKEN": "a-token"},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:

            async def is_there() -> bool:
                return not await it.differences()

            await until("the world is there", is_there)
        finally:
            process.send_signal(signal.SIGINT)
            await asyncio.wait_for(process.wait(), 10)


async def a_plain_client_keeps_its_own_handlers() -> None:
    async with rig(5, shards=1) as it:
        seen: list[str] = []
        client = discord.Client(intents=INTENTS, guild_ready_timeout=0.3)

        @client.event
        async def on_ready() -> None:
            seen.append("ready")

        kit = Companion(client, it.service.management, KEY, guild=it.facts, flush_after=0.1)
        running = asyncio.create_task(client.start("a-token"))
        await until("its handler was called", lambda: seen == ["ready"])
        await until("the snapshot is in", lambda: kit.stats.snapshots == 1)
        await client.close()
        await asyncio.gather(running, return_exceptions=True)
        expect(await it.differences(), [], "the world")


# What the tests stand on ---------------------------------------------------------------------------------------------


def _seen(guild: discord.Guild, expected: Guild) -> Any:
    members = {member.id: {role.id for role in member.roles} - {guild.id} for member in guild.members}
    if expected.large and not expected.bound:
        members = expected.members  # nobody asks for them
    return guild.name, guild.owner_id, guild.icon.key if guild.icon else None, guild.member_count, members


def _expected(guild: Guild) -> Any:
    return guild.name, guild.owner, guild.icon, len(guild.members), guild.members


def _guild_record(guild: Guild) -> dict[str, Any]:
    icon = guild.icon and f"https://cdn.discordapp.com/icons/{guild.id}/{guild.icon}.png?size=1024"
    return {
        "kind": "guild",
        "id": str(guild.id),
        "name": guild.name,
        "icon": icon,
        "members": len(guild.members),
        "owner": str(guild.owner),
        "setup": guild.setup,
        "linked": not guild.setup,
        "roles": {key: sorted(str(role) for role in roles) for key, roles in guild.bound.items()},
    }


def _key(record: dict[str, Any]) -> str:
    names = {"guild": ("id",), "member": ("guild", "user"), "feedback": ("id",), "team": ("discord_id", "category")}
    return " ".join([record["kind"], *(record[name] for name in names.get(record["kind"], ("user",)))])


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


async def until(what: str, condition: Callable[[], bool | Awaitable[bool]]) -> None:
    """Waits for a condition, and gives up loudly."""
    deadline = time.monotonic() + PATIENCE
    while True:
        result = condition()
        if (await result) if isinstance(result, Awaitable) else result:
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain until {what}")
        await asyncio.sleep(0.02)


def expect(found: Any, wanted: Any, what: str) -> None:
    if found != wanted:
        shown = "\n    ".join(map(str, found[:5])) if isinstance(found, list) else found
        raise AssertionError(f"{what}: found {shown}, wanted {wanted}")


TESTS = [
    both_sides_hold_the_same_world_after_churn_restarts_and_reconnects,
    an_unavailable_guild_is_not_removed_and_one_left_while_away_is,
    heartbeats_have_times_and_latency_of_acknowledged_shards_only,
    a_service_that_lost_its_data_gets_a_snapshot_after_a_long_outage,
    facts_of_the_bot_come_through_callbacks,
    nothing_reaches_the_bot_when_callbacks_and_hooks_fail,
    a_guild_that_the_service_refuses_holds_up_no_other,
    retry_after_is_honoured_and_what_failed_is_sent_again,
    a_burst_is_a_few_requests_and_its_queue_is_bounded,
    closing_the_bot_sends_the_last_change_and_ends,
    a_kit_that_is_made_while_the_bot_runs_catches_up,
    the_lines_of_the_page_connect_a_bot,
    a_plain_client_keeps_its_own_handlers,
]


def main() -> int:
    if "COMPANION_BIN" not in os.environ:
        print("COMPANION_BIN must name the program")
        return 2
    logging.getLogger("companion").setLevel(logging.CRITICAL)
    wanted = sys.argv[1:]
    failed = passed = 0
    print(f"discord.py {discord.__version__}")
    for test in TESTS:
        if wanted and not any(word in test.__name__ for word in wanted):
            continue
        began = time.monotonic()
        try:
            asyncio.run(test())
        except Exception:
            failed += 1
            print(f"FAILED {test.__name__}\n{traceback.format_exc()}")
        else:
            passed += 1
            print(f"ok {test.__name__} ({time.monotonic() - began:.1f} s)")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
