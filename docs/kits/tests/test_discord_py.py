"""The discord.py kit, as installed from its wheel, with the real library and the running service.

    COMPANION_BIN=target/debug/companion python docs/kits/tests/test_discord_py.py

needs a virtual environment with `docs/kits/tests/requirements.txt`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from typing import Any

sys.dont_write_bytecode = True
from harness import KEY, KITS, PATIENCE, Request, expect, install_kit, lossy_proxy, main, recording_server, until  # noqa: E402

install_kit()
import discord  # noqa: E402
from aiohttp import web  # noqa: E402
from companion_discord import Companion  # noqa: E402
from fake_gateway import BOT  # noqa: E402
from rig import INTENTS, guild_record, rig  # noqa: E402


async def same_world_on_both_sides_after_churn_and_restarts() -> None:
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


async def unavailable_guilds_stay_and_guilds_left_while_away_go() -> None:
    async with rig(20) as it:
        away, gone = it.gateway.new_guild(), it.gateway.new_guild()
        while it.gateway.shard_of(gone.id) != it.gateway.shard_of(away.id):
            gone = it.gateway.new_guild()
        await it.service.sync(guild_record(away), guild_record(gone))
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


async def heartbeats_have_times_and_latency_of_acknowledged_shards() -> None:
    async with rig(8, shards=3) as it:
        it.gateway.muted.add(2)
        it.connect(first_heartbeat_within=1.0)
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
        metrics = await it.service.metrics()
        expect('companion_bot_shards{state="missing"} 1' in metrics, True, "the third shard is missing")
        await it.kit.stop()
        expect(await shards(), {}, "after the process has signed off")


async def a_long_outage_is_followed_by_snapshots() -> None:
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


async def failing_callbacks_and_hooks_do_not_reach_the_bot() -> None:
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
    arrivals: list[float] = []

    def refuse_first(request: Request) -> web.Response | None:
        if "heartbeat" in request.path:
            return None
        arrivals.append(request.at)
        if len(arrivals) > 1:
            return None
        error = {"code": 503, "message": "Busy.", "data": {"error": "storage_unavailable"}}
        return web.json_response(error, status=503, headers={"Retry-After": "2"})

    async with rig(5, shards=1) as it, recording_server(refuse_first) as (url, _):
        it.connect(url)
        await it.ready()
        await it.close()
        expect([error.word for error in it.errors], ["storage_unavailable"], "errors")
        expect(arrivals[1] - arrivals[0] >= 2.0, True, f"the pause, {arrivals[1] - arrivals[0]:.2f} s")


async def changes_reverted_after_a_lost_answer_are_sent() -> None:
    async with rig(8) as it, lossy_proxy(it.service.management) as (url, loses):
        it.connect(url)
        await it.ready()
        renamed, member, left = [guild for guild in it.gateway.guilds.values() if guild.bound][:3]
        name, roles = renamed.name, set(member.members[BOT])
        loses |= {"POST", "DELETE"}
        await it.gateway.rename(renamed)
        await it.gateway.set_roles(member, BOT, member.roles - roles)
        await until("the answer is lost", lambda: it.errors != [])
        await it.gateway.rename(renamed, name)
        await it.gateway.set_roles(member, BOT, roles)
        await it.gateway.leave(left)
        answers = len(it.errors)
        await until("the answer to a removal is lost", lambda: len(it.errors) > answers)
        await it.gateway.join(left)
        await until("the bot has seen it", it.bot_is_up_to_date)
        loses.clear()
        await it.settled()
        expect(await it.differences(), [], "in the end")


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


async def a_kit_created_while_the_bot_runs_catches_up() -> None:
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
    page = (KITS / "README.md").read_text(encoding="utf-8")
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
            env=os.environ | {"COMPANION_KEY": KEY, "TOKEN": "a-token"},
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


TESTS = [
    same_world_on_both_sides_after_churn_and_restarts,
    unavailable_guilds_stay_and_guilds_left_while_away_go,
    heartbeats_have_times_and_latency_of_acknowledged_shards,
    a_long_outage_is_followed_by_snapshots,
    facts_of_the_bot_come_through_callbacks,
    failing_callbacks_and_hooks_do_not_reach_the_bot,
    a_guild_that_the_service_refuses_holds_up_no_other,
    retry_after_is_honoured_and_what_failed_is_sent_again,
    changes_reverted_after_a_lost_answer_are_sent,
    a_burst_is_a_few_requests_and_its_queue_is_bounded,
    closing_the_bot_sends_the_last_change_and_ends,
    a_kit_created_while_the_bot_runs_catches_up,
    the_lines_of_the_page_connect_a_bot,
    a_plain_client_keeps_its_own_handlers,
]

if __name__ == "__main__":
    logging.getLogger("companion").setLevel(logging.CRITICAL)
    print(f"discord.py {discord.__version__}")
    sys.exit(main(TESTS))
