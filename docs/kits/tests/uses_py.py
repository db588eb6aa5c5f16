"""Checked by mypy in test_package_py.py, never run: each `type: ignore` must be needed."""

from collections.abc import Sequence

import discord
from companion_discord import Companion, CompanionCog, CompanionError, GuildFacts, Posted
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


companion = Companion(bot, "http://127.0.0.1:8081", "a-key", guild=one, on_posted=posted, on_error=failed)
Companion(bot, "http://127.0.0.1:8081", "a-key", guilds=many, heartbeat_every=10)
companion.guild_changed(1, 2, bot.guilds)
companion.guild_changed([guild.id for guild in bot.guilds])


async def setup(bot: commands.Bot) -> None:
    await bot.add_cog(CompanionCog(bot, "http://127.0.0.1:8081", "a-key", guild=one))
    arrived: bool = await companion.flush()
    print(arrived, companion.stats.requests, companion.pending)


Companion(bot, "http://127.0.0.1:8081")  # type: ignore[call-arg]
Companion(bot, None, "a-key")  # type: ignore[arg-type]
Companion(bot, "http://127.0.0.1:8081", "a-key", guild=many)  # type: ignore[arg-type]
Companion(bot, "http://127.0.0.1:8081", "a-key", flushAfter=1)  # type: ignore[call-arg]
companion.guild_changed(None)  # type: ignore[arg-type]
