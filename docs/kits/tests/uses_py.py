"""Checked by mypy in test_package_py.py, never run: each `type: ignore` must be needed."""

from collections.abc import Sequence

import discord
from companion_discord import Companion, CompanionCog, CompanionError, Field, GuildFacts, GuildSettings, Posted
from companion_discord import Section, SettingsProblem
from discord.ext import commands

bot = commands.AutoShardedBot("!", intents=discord.Intents(guilds=True, members=True))


def one(guild: discord.Guild) -> GuildFacts:
    return {"setup": True, "roles": {"MOD": [role.id for role in guild.roles]}}


async def many(guilds: Sequence[discord.Guild]) -> dict[int, GuildFacts]:
    return {guild.id: {"linked": True} for guild in guilds}


def posted(request: Posted) -> None:
    print(request.what, request.size)


def failed(error: CompanionError) -> None:
    print(error.word, error.status, error.retry_after)


level: Field = {"key": "level", "type": "choice", "title": "Level", "choices": [{"value": "a", "title": "A"}]}
log: Section = {"key": "log", "title": "Log", "permission": "ADMIN", "plus": True, "fields": [level]}
companion = Companion(bot, "http://127.0.0.1:8081", "a-key", guild=one, on_posted=posted, on_error=failed)
Companion(bot, "http://127.0.0.1:8081", "a-key", settings=[log, {**log, "key": "other"}], outlines=True)
Companion(bot, "http://127.0.0.1:8081", "a-key", guilds=many, heartbeat_every=10)
companion.guild_changed(1, 2, bot.guilds)
companion.guild_changed([guild.id for guild in bot.guilds])


@companion.on_settings
async def apply(guild_id: int, settings: GuildSettings, changed: frozenset[str]) -> None:
    if "log.level" in changed and settings["log.level"] is None:
        raise SettingsProblem({"log.level": f"It is unset in {guild_id}."})


async def setup(bot: commands.Bot) -> None:
    await bot.add_cog(CompanionCog(bot, "http://127.0.0.1:8081", "a-key", guild=one))
    arrived: bool = await companion.flush()
    print(arrived, companion.stats.requests, companion.pending)


Companion(bot, "http://127.0.0.1:8081")  # type: ignore[call-arg]
Companion(bot, None, "a-key")  # type: ignore[arg-type]
Companion(bot, "http://127.0.0.1:8081", "a-key", guild=many)  # type: ignore[arg-type]
Companion(bot, "http://127.0.0.1:8081", "a-key", flushAfter=1)  # type: ignore[call-arg]
companion.guild_changed(None)  # type: ignore[arg-type]
companion.on_settings(one)  # type: ignore[type-var]
Companion(bot, "http://127.0.0.1:8081", "a-key", settings=[{"key": "log"}])  # type: ignore[typeddict-item]
