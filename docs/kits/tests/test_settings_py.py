"""Settings and outlines of the kit for discord.py, with the real library and the running service.

    COMPANION_BIN=target/debug/companion python docs/kits/tests/test_settings_py.py

needs a virtual environment with `docs/kits/tests/requirements.txt`.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
import time
import tracemalloc
from typing import Any
from urllib.error import HTTPError

sys.dont_write_bytecode = True
from harness import KEY, KITS, Request, expect, install_kit, lossy_proxy, main, recording_server, until  # noqa: E402

install_kit()
from aiohttp import web  # noqa: E402
from companion_discord import Companion, GuildSettings, SettingsProblem  # noqa: E402
from fake_gateway import CHANNEL_TYPES  # noqa: E402
from rig import Bot, Rig, outline_record, rig  # noqa: E402

SETTINGS: Any = [
    {
        "key": "welcome",
        "title": "Welcome",
        "permission": "MANAGE_SERVER",
        "fields": [
            {"key": "channel", "type": "channel", "title": "Channel", "kinds": ["text"]},
            {"key": "message", "type": "text", "title": "Message", "default": "Hello!"},
        ],
    },
    {
        "key": "log",
        "title": "Log",
        "permission": "ADMIN",
        "fields": [{"key": "events", "type": "text", "title": "Events", "default": ["join"], "many": {"max": 5}}],
    },
]
KEYS = frozenset({"welcome.channel", "welcome.message", "log.events"})
GUILDS = 100_000


async def settings_are_in_memory_and_confirmed() -> None:
    async with rig(4) as it:
        first, second, *_ = it.gateway.guilds
        kit = it.connect(settings=SETTINGS)
        defaults = {"welcome.channel": None, "welcome.message": "Hello!", "log.events": ["join"]}
        expect(dict(kit.settings(first)), defaults, "before anything came")
        await it.ready()
        shown = await change(it, first, {"welcome.channel": "12", "welcome.message": "Hi «ä»"})
        expect((shown["revision"], shown["applied"]), (1, None), "what the site shows at first")
        await confirmed(it, first, 1)
        now = defaults | {"welcome.channel": "12", "welcome.message": "Hi «ä»"}
        expect(dict(kit.settings(it.bot.get_guild(first))), now, "the guild")
        expect(dict(kit.settings(second)), defaults, "another guild")

        await change(it, first, {"welcome.message": None})
        await confirmed(it, first, 2)
        expect(kit.settings(str(first))["welcome.message"], "Hello!", "a value that was reset")
        await it.service.manage("DELETE", f"/bot/guilds/{first}/settings")
        await until("the settings are gone", lambda: dict(kit.settings(first)) == defaults)
        try:
            kit.settings(first)["welcome.chanel"]
        except KeyError as error:
            expect("welcome.chanel is no setting: there are welcome.channel" in str(error), True, str(error))
        else:
            raise AssertionError("an unknown key was accepted")
        expect(it.errors, [], "errors")


async def handlers_run_before_the_confirmation() -> None:
    async with rig(2) as it:
        guild = next(iter(it.gateway.guilds))
        kit = it.connect(settings=SETTINGS)
        calls: list[Any] = []

        @kit.on_settings
        async def apply(guild_id: int, settings: GuildSettings, changed: frozenset[str]) -> None:
            calls.append((guild_id, settings["welcome.message"], set(changed)))
            expect((await shown(it, guild))["applied"] == len(calls), False, "confirmed before the handler returned")
            if settings["welcome.message"] == "wrong":
                raise SettingsProblem({"welcome.message": "It is wrong.", "welcome.channel": "It is unset."})
            if settings["welcome.message"] == "broken":
                raise RuntimeError("no database")

        await it.ready()
        await change(it, guild, {"welcome.message": "Hi"})
        await confirmed(it, guild, 1)
        await change(it, guild, {"welcome.message": "wrong"})
        await confirmed(it, guild, 2)
        problems = {one["key"]: one["message"] for one in (await shown(it, guild))["problems"]}
        expect(problems, {"welcome.message": "It is wrong.", "welcome.channel": "It is unset."}, "problems")
        await change(it, guild, {"welcome.message": "broken"})
        await until("the failure is reported", lambda: it.errors != [])
        expect([error.word for error in it.errors], ["callback_failed"], "errors")
        expect((await shown(it, guild))["applied"], 2, "the last revision in force")
        expect(kit.settings(guild)["welcome.message"], "broken", "the value in memory")
        await change(it, guild, {"welcome.message": "fine"})
        await confirmed(it, guild, 4)
        expect((await shown(it, guild))["problems"], [], "problems in the end")
        both = {"welcome.message", "welcome.channel"}
        wanted = [("Hi", both - {"welcome.channel"}), ("wrong", both - {"welcome.channel"}), ("broken", both)]
        wanted.append(("fine", both))  # keys that did not come into force are named again
        expect(calls, [(guild, *call) for call in wanted], "calls")


async def quick_changes_are_handled_in_turn_and_the_newest_confirmed() -> None:
    async with rig(2) as it:
        guild, other = it.gateway.guilds
        kit = it.connect(settings=SETTINGS)
        calls: list[Any] = []
        proceed = asyncio.Event()

        @kit.on_settings
        async def apply(guild_id: int, settings: GuildSettings, changed: frozenset[str]) -> None:
            calls.append((guild_id, settings["welcome.message"]))
            if guild_id == guild:
                await proceed.wait()

        await it.ready()
        for number in range(1, 6):
            await change(it, guild, {"welcome.message": f"number {number}"})
            await until("a call", lambda: len(calls) > 0)
        await until("all are in memory", lambda: kit.settings(guild)["welcome.message"] == "number 5")
        await change(it, other, {"welcome.message": "other"})
        await confirmed(it, other, 1)
        proceed.set()
        await confirmed(it, guild, 5)
        expect(calls, [(guild, "number 1"), (other, "other"), (guild, "number 5")], "calls")
        sent = [posted for posted in it.posted if posted.what == "settings"]
        expect(len(sent), 3, "requests: the schema, and one confirmation of each guild")


async def changes_while_the_bot_was_away_are_handled_at_start() -> None:
    async with rig(3) as it:
        first, second, left = it.gateway.guilds
        it.connect(settings=SETTINGS)
        await it.ready()
        for guild in it.gateway.guilds:
            await change(it, guild, {"welcome.message": "before"})
            await confirmed(it, guild, 1)
        await it.close()
        await change(it, first, {"welcome.message": "while away"})
        await change(it, left, {"welcome.message": "left"})
        record = it.gateway.guilds.pop(left)

        for wanted in ([(first, KEYS)], []):
            calls: list[Any] = []
            kit = it.connect(settings=SETTINGS)
            kit.on_settings(lambda guild, settings, changed, calls=calls: calls.append((guild, changed)))
            await it.ready()
            await confirmed(it, first, 2)
            values = [kit.settings(guild)["welcome.message"] for guild in (first, second)]
            expect(values, ["while away", "before"], "values")
            expect(calls, wanted, "calls")
            if not wanted:
                await it.gateway.join(record)
                await confirmed(it, left, 2)
                expect(calls, [(left, KEYS)], "a guild that is joined again")
            await it.close()


async def values_stay_in_an_outage_and_changes_follow_it() -> None:
    async with rig(2) as it:
        first, second = it.gateway.guilds
        kit = it.connect(settings=SETTINGS)
        await it.ready()
        await change(it, first, {"welcome.message": "before"})
        await confirmed(it, first, 1)
        it.service.end()
        await until("the kit has noticed", lambda: it.kit.stats.failures >= 2)
        expect(kit.settings(first)["welcome.message"], "before", "without the service")
        await it.service.start()
        await change(it, second, {"welcome.message": "after"})
        await confirmed(it, second, 1)
        values = [kit.settings(guild)["welcome.message"] for guild in it.gateway.guilds]
        expect(values, ["before", "after"], "once it is back")

        it.service.end()
        it.service.forget()
        await it.service.start()
        await until("the values of a new database", lambda: kit.settings(first)["welcome.message"] == "Hello!")
        sections = (await it.service.manage("GET", "/bot/settings"))["sections"]
        expect([section["key"] for section in sections], ["welcome", "log"], "the schema is published again")


async def a_confirmation_is_sent_again_after_an_outage() -> None:
    async with rig(2) as it:
        guild = next(iter(it.gateway.guilds))
        kit = it.connect(settings=SETTINGS)
        calls: list[str] = []

        @kit.on_settings
        def apply(guild_id: int, settings: GuildSettings, changed: frozenset[str]) -> None:
            calls.append(settings["welcome.message"])
            it.service.end()

        await it.ready()
        await change(it, guild, {"welcome.message": "Hi"})
        await until("the confirmation failed", lambda: it.kit.stats.failures >= 2)
        await it.service.start()
        await confirmed(it, guild, 1)
        expect(calls, ["Hi"], "calls")


async def a_refused_schema_is_reported_with_every_path() -> None:
    async with rig(2) as it:
        guild = next(iter(it.gateway.guilds))
        it.connect(settings=SETTINGS)
        await it.ready()
        await change(it, guild, {"welcome.message": "kept"})
        await confirmed(it, guild, 1)
        await it.close()
        wrong: Any = [{**SETTINGS[0], "fields": [*SETTINGS[0]["fields"], {"key": "x", "type": "colour", "title": ""}]}]
        kit = it.connect(settings=wrong)
        await it.ready()
        await until("it is reported", lambda: it.errors != [])
        (error,) = it.errors
        paths = [one["path"] for one in error.fields]
        expect(error.word, "input_invalid", "the error's word")
        expect(len(paths) >= 1 and all(path in str(error) for path in paths), True, f"{paths} in {error}")
        await until("the values are there", lambda: kit.settings(guild)["welcome.message"] == "kept")
        sections = (await it.service.manage("GET", "/bot/settings"))["sections"]
        expect([len(section["fields"]) for section in sections], [2, 1], "the schema stays")


async def a_process_confirms_guilds_of_its_own_shards() -> None:
    async with rig(6) as it:
        mine = [guild for guild in it.gateway.guilds if it.gateway.shard_of(guild) == 1]
        other = next(guild for guild in it.gateway.guilds if guild not in mine)
        it.connect(settings=SETTINGS)
        await it.ready()
        await it.close()
        for guild in (other, mine[0]):
            await change(it, guild, {"welcome.message": "while away"})
        it.bot = bot = Bot(2, shard_ids=[1])
        kit = Companion(bot, it.service.management, KEY, guild=it.facts, flush_after=0.1, settings=SETTINGS)
        running = asyncio.create_task(bot.start("a-token"))
        await confirmed(it, mine[0], 1)
        for guild in (other, mine[1]):
            await change(it, guild, {"welcome.channel": "12"})
        await confirmed(it, mine[1], 1)
        expect((await shown(it, other))["applied"], None, "the guild of another process")
        expect(kit.settings(other)["welcome.message"], "Hello!", "its values")
        await bot.close()
        await asyncio.gather(running, return_exceptions=True)


async def outlines_follow_channels_and_roles() -> None:
    async with rig(4) as it:
        guild, other, *_ = it.gateway.guilds.values()
        for type_ in CHANNEL_TYPES:
            guild.channels[it.gateway.new_id()] = (f"a {type_} channel «ä»", type_)
        it.connect(settings=SETTINGS)
        await it.ready()
        expect(await outlines(it), wanted_outlines(it), "at first")

        sent = lambda: [posted.lines for posted in it.posted if posted.what == "outlines"]  # noqa: E731
        expect(sum(sent()), 4, "outlines that were sent")
        channel, *_, last = guild.channels
        role = it.gateway.new_id()
        for number in range(20):
            await it.gateway.name_channel(guild, channel, f"name {number}")
        await it.gateway.delete_channel(guild, last)
        await it.gateway.label_role(guild, role, "Harbour master", 0x1ABC9C)
        await it.gateway.label_role(guild, role, "x" * 100, 0x00000F)
        await it.gateway.delete_role(other)
        await it.settled()
        expect(await outlines(it), wanted_outlines(it), "after changes")
        expect(sum(sent()) <= 4 + 6, True, f"a burst is a few requests, {sent()}")

        lines = sum(sent())
        await it.gateway.name_channel(guild, channel, "name 19")
        for shard in (0, 1):
            snapshots = it.kit.stats.snapshots
            await it.gateway.end_session(shard)
            await until("a snapshot follows the session", lambda: it.kit.stats.snapshots > snapshots)
        await it.settled()
        expect(sum(sent()), lines, "equal outlines are not sent again")

        new = it.gateway.new_guild()
        new.channels[it.gateway.new_id()] = ("general", "text")
        await it.gateway.join(new)
        await it.gateway.leave(other)
        await it.settled()
        expect(await outlines(it), wanted_outlines(it), "after a guild was joined and another left")
        expect(it.errors, [], "errors")


async def outlines_are_sent_again_after_a_lost_removal() -> None:
    async with rig(2) as it, lossy_proxy(it.service.management) as (url, loses):
        it.connect(url, outlines=True)
        await it.ready()
        guild = next(iter(it.gateway.guilds.values()))
        loses.add("DELETE")
        await it.gateway.leave(guild)
        await until("the answer is lost", lambda: it.errors != [])
        await it.gateway.join(guild)
        await until("the bot has seen it", it.bot_is_up_to_date)
        loses.clear()
        await it.settled()
        expect(await outlines(it), wanted_outlines(it), "in the end")
        await it.close()


async def outlines_are_cut_to_what_the_service_accepts() -> None:
    async with rig(2) as it:
        large, wordy = it.gateway.guilds.values()
        for number in range(510):
            large.channels[it.gateway.new_id()] = (f"{number:03}{'🎉' * 98}", "text")
        large.roles |= {it.gateway.new_id() for _ in range(200)}
        large.labels |= {role: ("🎉" * 101, 0) for role in large.roles}
        wordy.channels[it.gateway.new_id()] = ("🎉" * 101, "text")
        it.connect(settings=SETTINGS)
        await it.ready()
        stored = await outlines(it)
        names = [channel["name"] for channel in stored[f"outline {large.id}"]["channels"]]
        expect(names, [f"{number:03}{'🎉' * 22}" for number in range(500)], "channels of a large guild")
        expect([one["name"] for one in stored[f"outline {wordy.id}"]["channels"]], ["🎉" * 100], "a long name")
        expect(it.errors, [], "errors")


async def outlines_are_sent_only_with_settings() -> None:
    async with rig(2) as it:
        it.connect()
        await it.ready()
        expect(await outlines(it), {}, "without settings")
        await it.close()
        it.connect(outlines=True)
        await it.ready()
        expect(await outlines(it), wanted_outlines(it), "with the option")


async def a_hundred_thousand_guilds_fit() -> None:
    lines = "".join(
        f'{{"guild":"{(number << 22) + 1}","revision":7,"values":{{"welcome.channel":"{10**18 + number}",'
        f'"welcome.message":"Welcome to guild {number}!","log.events":["join","leave"]}},"applied":null}}\n'
        for number in range(1, GUILDS + 1)
    ).encode()
    loaded: list[float] = []

    def answer(request: Request) -> web.Response | None:
        if request.path == "/bot/changes":
            return web.Response(body=b"id: 1\n\n")
        if request.path != "/bot/settings/guilds":
            return None
        loaded.append(time.monotonic())
        return web.Response(body=lines)

    async with rig(2, shards=1) as it, recording_server(answer) as (url, received):

        async def load() -> float:
            kit = it.connect(url, settings=SETTINGS)
            await until("all are there", lambda: kit.settings((GUILDS << 22) + 1)["welcome.channel"] is not None)
            seconds = time.monotonic() - loaded[-1]
            await it.close()
            return seconds

        seconds = await load()
        tracemalloc.start()  # it makes the second load slow
        await load()
        gc.collect()
        megabytes = tracemalloc.get_traced_memory()[0] / 1e6
        tracemalloc.stop()
        print(f"  {GUILDS} guilds, {len(lines)} bytes: {seconds:.1f} s, {megabytes:.0f} MB")
        expect(seconds <= 5, True, f"seconds, {seconds:.1f}")
        expect(megabytes <= 50, True, f"megabytes, {megabytes:.0f}")
        expect([one.path for one in received if "applied" in one.path], [], "confirmations of guilds without the bot")


async def the_lines_of_the_page_declare_read_and_handle_settings() -> None:
    page = (KITS / "README.md").read_text(encoding="utf-8").split("## Settings\n")[1]
    lines = page.split("```python\n")[1].split("```")[0]
    expect(len([line for line in lines.splitlines() if line.strip()]) <= 10, True, "ten lines")
    handler = page.split("```python\n")[2].split("```")[0]
    async with rig(2) as it:
        guild = next(iter(it.gateway.guilds))
        it.bot = Bot(it.gateway.shards)
        os.environ["COMPANION_KEY"] = KEY
        names: dict[str, Any] = {"bot": it.bot, "os": os, "Companion": Companion}
        exec(lines.replace("http://127.0.0.1:8081", it.service.management) + handler, names)
        running = asyncio.create_task(it.bot.start("a-token"))
        await until("its snapshots are in", lambda: names["companion"].stats.snapshots >= it.gateway.shards)
        await change(it, guild, {"welcome.message": "Hello {user}!"})
        await confirmed(it, guild, 1)
        expect((await shown(it, guild))["problems"], [], "problems of a value that is in force")
        await change(it, guild, {"welcome.message": "Hello!"})
        await confirmed(it, guild, 2)
        expect([one["key"] for one in (await shown(it, guild))["problems"]], ["welcome.message"], "problems")
        await it.bot.close()
        await asyncio.gather(running, return_exceptions=True)


async def change(it: Rig, guild: int, values: dict[str, Any]) -> Any:
    return await it.service.manage("PATCH", f"/bot/guilds/{guild}/settings", {"values": values})


async def shown(it: Rig, guild: int) -> Any:
    return await it.service.manage("GET", f"/bot/guilds/{guild}/settings")


async def confirmed(it: Rig, guild: int, revision: int) -> None:
    async def is_applied() -> bool:
        try:
            return bool((await shown(it, guild))["applied"] == revision)
        except HTTPError:
            return False  # A guild that is not reported yet is not found.

    await until(f"revision {revision} is in force", is_applied)


async def outlines(it: Rig) -> dict[str, Any]:
    return {key: record for key, record in (await it.service.stored()).items() if key.startswith("outline ")}


def wanted_outlines(it: Rig) -> dict[str, Any]:
    return {f"outline {guild.id}": outline_record(guild) for guild in it.gateway.guilds.values()}


TESTS = [
    settings_are_in_memory_and_confirmed,
    handlers_run_before_the_confirmation,
    quick_changes_are_handled_in_turn_and_the_newest_confirmed,
    changes_while_the_bot_was_away_are_handled_at_start,
    values_stay_in_an_outage_and_changes_follow_it,
    a_confirmation_is_sent_again_after_an_outage,
    a_refused_schema_is_reported_with_every_path,
    a_process_confirms_guilds_of_its_own_shards,
    outlines_follow_channels_and_roles,
    outlines_are_sent_again_after_a_lost_removal,
    outlines_are_cut_to_what_the_service_accepts,
    outlines_are_sent_only_with_settings,
    a_hundred_thousand_guilds_fit,
    the_lines_of_the_page_declare_read_and_handle_settings,
]

if __name__ == "__main__":
    logging.getLogger("companion").setLevel(logging.CRITICAL)
    sys.exit(main(TESTS))
