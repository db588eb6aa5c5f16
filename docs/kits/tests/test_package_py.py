"""The package for discord.py: installation, arguments, log, life cycle and types.

    COMPANION_BIN=target/debug/companion python docs/kits/tests/test_package_py.py

needs a virtual environment with `docs/kits/tests/requirements.txt`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
from harness import KEY, KITS, Service, expect, free_ports, install_kit, main, recording_server, until  # noqa: E402

install_kit()
import companion_discord  # noqa: E402
import discord  # noqa: E402
from companion_discord import Companion  # noqa: E402
from discord.ext import commands  # noqa: E402
from rig import INTENTS, Bot, Rig, rig  # noqa: E402

TOWN = "190000000000000001"
PLAIN_WORLD = {
    f"guild {TOWN}": {"kind": "guild", "id": TOWN, "name": "Harbour Town", "icon": None, "members": 1200}
    | {"owner": "190000000000000002", "setup": True, "linked": False, "roles": {"MOD": ["190000000000000003"]}},
    f"member {TOWN} 190000000000000004": {"kind": "member", "guild": TOWN, "user": "190000000000000004"}
    | {"roles": ["190000000000000003"]},
    "blocked 7": {"kind": "blocked", "user": "7"},
}
VERSION = re.findall(r'^version = "(.*)"$', (KITS.parent.parent / "Cargo.toml").read_text(), re.MULTILINE)[0]


async def the_installed_package_has_the_version_of_the_workspace() -> None:
    folder = Path(companion_discord.__file__).parent
    expect(folder.is_relative_to(sysconfig.get_path("purelib")), True, f"installed, {folder}")
    expect(companion_discord.__version__, VERSION, "the version")
    expect((folder / "py.typed").is_file(), True, "py.typed is part of the wheel")


async def requests_name_the_kit_and_its_version() -> None:
    async with rig(2, shards=1) as it, recording_server() as (url, received):
        it.connect(url)
        await it.ready()
        await it.close()
        expect({request.headers["User-Agent"] for request in received}, {f"companion-discord-py/{VERSION}"}, "agents")
        expect({request.headers["Authorization"] for request in received}, {f"Bearer {KEY}"}, "keys")


async def wrong_arguments_are_refused_with_their_fix() -> None:
    bot: Any = Bot(1)
    blind = discord.Client(intents=discord.Intents.none())
    url = "http://127.0.0.1:8081"
    for client, address, key, options, said in [
        (bot, None, KEY, {}, "url is missing: pass the address of the management API"),
        (bot, "", KEY, {}, "url is empty: pass the address of the management API"),
        (bot, 8081, KEY, {}, "url must be a str, not int"),
        (bot, "127.0.0.1:8081", KEY, {}, "url must begin with http:// or https://"),
        (bot, KEY, url, {}, "url must begin with http:// or https://"),
        (bot, f"{url}\n", KEY, {}, "url contains a space or a line break"),
        (bot, f" {url}", KEY, {}, "url contains a space or a line break"),
        (bot, "http://", KEY, {}, "url needs a host"),
        (bot, "http://host:80800", KEY, {}, "url needs a host and, behind a colon, a port from 1 to 65535"),
        (bot, f"http://{KEY}:x@host", KEY, {}, "url must have no user name"),
        (bot, url, None, {}, "key is missing: pass a key of the management API"),
        (bot, url, "", {}, "key is empty: pass a key of the management API"),
        (bot, url, f"{KEY}\n", {}, "key contains a space, a line break"),
        (bot, url, f"{KEY} x", {}, "key contains a space, a line break"),
        (bot, url, f"{KEY}ä", {}, "key contains a space, a line break or a character outside ASCII"),
        (bot, url, KEY.encode(), {}, "key must be a str, not bytes"),
        (bot, url, KEY, {"cluster": "eu west"}, "cluster must be 1 to 64"),
        (bot, url, KEY, {"guild": dict, "guilds": dict}, "guild and guilds exclude each other"),
        (bot, url, KEY, {"settings": {"key": "log"}}, "settings must be a list of sections"),
        (bot, url, KEY, {"settings": [{"key": "log", "fields": [{}]}]}, "settings must be a list of sections"),
        ("a token", url, KEY, {}, "client must be a discord.Client"),
        (blind, url, KEY, {}, "client lacks the intent guilds"),
    ]:
        try:
            Companion(client, address, key, **options)
        except ValueError as error:
            expect(str(error).startswith(said), True, f"{said!r}, but was {error}")
            expect(KEY in str(error), False, f"the key in {error}")
        else:
            raise AssertionError(f"accepted in spite of {said}")
    expect(_listeners(bot), 0, "listeners of refused kits")


async def an_unreachable_service_is_named_with_the_reason() -> None:
    async with rig(2, shards=1) as it:
        port = free_ports(1)[0]
        it.connect(f"http://127.0.0.1:{port}")
        await until("the kit has noticed", lambda: it.errors != [])
        expect(str(it.errors[0]), f"unreachable: cannot reach 127.0.0.1:{port}: connection refused", "the error")


async def the_address_of_another_api_is_named_as_the_cause() -> None:
    async with rig(2, shards=1) as it:
        it.connect(it.service.public)
        await until("the kit has noticed", lambda: it.errors != [])
        expect(it.errors[0].word, "not_found", "the error's word")
        expect("Check that url is the address of the management API" in str(it.errors[0]), True, str(it.errors[0]))


async def the_end_of_an_outage_is_logged() -> None:
    async with rig(4) as it:
        messages = _Messages()
        it.connect()
        await it.ready()
        expect(messages.texts, [], "messages without an outage")
        it.service.end()
        await until("the kit has noticed", lambda: it.kit.stats.failures >= 2)
        await it.service.start()
        await until("it is connected again", lambda: any("again" in text for text in messages.texts))
        await it.settled()
        *failures, last = messages.texts
        host = it.service.management.removeprefix("http://")
        expect({text.rpartition(":")[0] for text in failures}, {f"WARNING unreachable: cannot reach {host}"}, "before")
        expect(last.startswith(f"INFO connected again to {host} after "), True, last)
        messages.remove()


async def stopping_detaches_a_bot_and_keeps_it_running() -> None:
    async with rig(4) as it:
        it.connect()
        await it.ready()
        expect(_listeners(it.bot) > 0 and "close" in vars(it.bot), True, "it is attached")
        await it.kit.stop()
        expect(_listeners(it.bot), 0, "listeners")
        expect("close" in vars(it.bot), False, "a wrapped close")
        requests = it.kit.stats.requests
        await it.gateway.rename(next(iter(it.gateway.guilds.values())))
        await until("the bot has seen it", it.bot_is_up_to_date)
        expect((it.kit.pending, it.kit.stats.requests), (0, requests), "marks and requests afterwards")
        expect(await it.kit.flush(1), True, "a flush afterwards")
        it.kit = Companion(it.bot, it.service.management, KEY, guild=it.facts, flush_after=0.1)
        await it.ready()
        expect(await it.differences(), [], "with a second kit")


async def stopping_gives_a_plain_client_its_handlers_back() -> None:
    async with rig(2, shards=1) as it:
        seen: list[str] = []

        class Plain(discord.Client):
            async def on_guild_update(self, before: discord.Guild, after: discord.Guild) -> None:
                seen.append(after.name)

        client = Plain(intents=INTENTS, guild_ready_timeout=0.3)

        @client.event
        async def on_ready() -> None:
            seen.append("ready")

        before = dict(vars(client))
        kit = Companion(client, it.service.management, KEY, guild=it.facts, flush_after=0.1)
        running = asyncio.create_task(client.start("a-token"))
        await until("the snapshot is in", lambda: kit.stats.snapshots == 1)
        await kit.stop()
        now = {name: value for name, value in vars(client).items() if name.startswith("on_") or name == "close"}
        expect(now, {name: value for name, value in before.items() if name.startswith("on_")}, "handlers")
        await it.gateway.rename(guild := next(iter(it.gateway.guilds.values())))
        await until("its own handlers are called", lambda: seen == ["ready", guild.name])
        await client.close()
        await asyncio.gather(running, return_exceptions=True)


async def stopping_leaves_a_close_that_was_wrapped_later() -> None:
    client = discord.Client(intents=INTENTS)
    kit = Companion(client, "http://127.0.0.1:9", KEY)
    wrapped = client.close
    closed: list[str] = []

    async def close() -> None:
        closed.append("mine")
        await wrapped()

    client.close = close  # type: ignore[method-assign]
    await kit.stop()
    expect(client.close is close, True, "the later wrapper is still there")
    await client.close()
    expect((closed, client.is_closed()), (["mine"], True), "closed through both")


async def the_first_heartbeat_has_all_shards() -> None:
    async with rig(4, shards=3) as it, recording_server() as (url, received):
        it.gateway.muted.add(1)
        it.connect(url)
        await it.ready()

        def heartbeats() -> list[set[str]]:
            return [set(json.loads(request.body)["shards"]) for request in received if request.method == "PUT"]

        expect(heartbeats(), [], "heartbeats before the last shard is acknowledged")
        await it.gateway.unmute(1)
        await until("a heartbeat came", heartbeats)
        expect(heartbeats()[0], {"0", "1", "2"}, "shards of the first heartbeat")
        await it.close()


async def facts_of_many_guilds_come_in_one_call() -> None:
    async with rig(12) as it:
        calls: list[set[int]] = []

        async def facts(guilds: Any) -> Any:
            calls.append({guild.id for guild in guilds})
            return {guild.id: it.facts(guild) for guild in guilds if it.gateway.guilds[guild.id].bound}

        unbound = [guild for guild in it.gateway.guilds.values() if not guild.bound]
        for guild in unbound:
            guild.setup = False
        it.connect(guild=None, guilds=facts)
        await it.ready()
        expect(sorted(map(len, calls)), sorted(map(len, _by_shard(it))), "one call for each shard")
        stored = await it.service.stored()
        expect({stored[f"guild {guild.id}"]["linked"] for guild in unbound}, {False}, "facts of absent guilds")

        calls.clear()
        changed = list(it.gateway.guilds.values())[:5]
        for guild in changed:
            guild.bound = {"ERLC_STAFF": sorted(guild.roles)[:2]}
        first, second, *others = changed
        it.kit.guild_changed(it.bot.get_guild(first.id), second.id, [guild.id for guild in others])
        await it.settled()
        expect(calls, [{guild.id for guild in changed}], "one call for all that changed")
        stored = await it.service.stored()
        found = [stored[f"guild {guild.id}"]["roles"] for guild in changed]
        expect(found, [{"ERLC_STAFF": list(map(str, guild.bound["ERLC_STAFF"]))} for guild in changed], "roles")


async def a_kit_created_during_the_login_removes_nothing() -> None:
    async with rig(6) as it:
        it.connect()
        await it.ready()
        await it.close()
        expect(await it.differences(), [], "before")
        it.bot = bot = Bot(it.gateway.shards, guild_ready_timeout=1.5)
        running = asyncio.create_task(bot.start("a-token"))
        known = lambda: len([guild for guild in bot.guilds if guild.owner_id]) == 6  # noqa: E731
        await until("the guilds are in the cache", known)
        expect(bot.is_ready(), False, "the bot is ready")
        late = Companion(bot, it.service.management, KEY, guild=it.facts, flush_after=0.1)
        await until("its snapshots are in", lambda: late.stats.snapshots >= it.gateway.shards)
        expect(await it.differences(), [], "after the snapshots")
        await it.close()
        await asyncio.gather(running, return_exceptions=True)


async def the_extension_of_the_page_loads_reloads_and_unloads() -> None:
    page = (KITS / "README.md").read_text(encoding="utf-8")
    lines = page.split("```python\n")[2].split("```")[0]
    async with rig(4) as it:
        for guild in it.gateway.guilds.values():
            guild.setup, guild.bound = True, {"MOD": [min(guild.roles)]}
        it.bot = bot = Bot(it.gateway.shards)
        os.environ["COMPANION_KEY"] = KEY
        with tempfile.TemporaryDirectory() as folder:
            source = lines.replace("http://127.0.0.1:8081", it.service.management)
            (Path(folder) / "reporting.py").write_text(source, encoding="utf-8")
            sys.path.insert(0, folder)
            try:
                await bot.load_extension("reporting")
                running = asyncio.create_task(bot.start("a-token"))
                await _reported(it)
                await bot.reload_extension("reporting")
                await it.gateway.rename(next(iter(it.gateway.guilds.values())))
                await _reported(it)
                await bot.unload_extension("reporting")
                expect(_listeners(bot), 0, "listeners after unloading")
            finally:
                sys.path.remove(folder)
                await it.close()
        await asyncio.gather(running, return_exceptions=True)
        expect(bot.failures, [], "exceptions in the bot")


async def the_types_hold_under_mypy_strict() -> None:
    with tempfile.TemporaryDirectory() as folder:
        strict = ["--strict", "--warn-unused-ignores", "--cache-dir", folder]
        uses = Path(__file__).with_name("uses_py.py")
        command = [sys.executable, "-m", "mypy", *strict, str(uses)]
        done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True)
    expect((done.stdout.strip(), done.returncode), ("Success: no issues found in 1 source file", 0), "mypy")


async def the_plain_file_syncs_removes_and_sends_heartbeats() -> None:
    with tempfile.TemporaryDirectory() as folder:
        service = Service(folder)
        await service.start()
        await service.sync({"kind": "blocked", "user": "7"}, {**PLAIN_WORLD[f"guild {TOWN}"], "id": "12"})
        environment = os.environ | {"COMPANION_URL": service.management, "COMPANION_KEY": KEY}
        process = await asyncio.create_subprocess_exec(sys.executable, str(KITS / "plain.py"), env=environment)
        try:

            async def shards() -> Any:
                return (await service.get(service.public))["data"]["health"]["bot"]["shards"]

            await until("a heartbeat came", shards)
            expect(list(await shards()), ["0"], "shards")
            expect(await service.stored(), PLAIN_WORLD, "the world")
        finally:
            process.terminate()
            await asyncio.wait_for(process.wait(), 10)
            service.end()


class _Messages(logging.Handler):
    """What the kit logs, as level and text."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        logging.getLogger("companion").addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(f"{record.levelname} {record.getMessage()}")

    def remove(self) -> None:
        logging.getLogger("companion").removeHandler(self)


def _listeners(bot: commands.AutoShardedBot) -> int:
    return sum(map(len, bot.extra_events.values()))


def _by_shard(it: Rig) -> list[list[int]]:
    shards = range(it.gateway.shards)
    return [[id_ for id_ in it.gateway.guilds if it.gateway.shard_of(id_) == shard] for shard in shards]


async def _reported(it: Rig) -> None:
    async def is_reported() -> bool:
        return not await it.differences()

    await until("the world is there", is_reported)


TESTS = [
    the_installed_package_has_the_version_of_the_workspace,
    requests_name_the_kit_and_its_version,
    wrong_arguments_are_refused_with_their_fix,
    an_unreachable_service_is_named_with_the_reason,
    the_address_of_another_api_is_named_as_the_cause,
    the_end_of_an_outage_is_logged,
    stopping_detaches_a_bot_and_keeps_it_running,
    stopping_gives_a_plain_client_its_handlers_back,
    stopping_leaves_a_close_that_was_wrapped_later,
    the_first_heartbeat_has_all_shards,
    facts_of_many_guilds_come_in_one_call,
    a_kit_created_during_the_login_removes_nothing,
    the_extension_of_the_page_loads_reloads_and_unloads,
    the_types_hold_under_mypy_strict,
    the_plain_file_syncs_removes_and_sends_heartbeats,
]

if __name__ == "__main__":
    logger = logging.getLogger("companion")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(logging.NullHandler())
    sys.exit(main(TESTS))
