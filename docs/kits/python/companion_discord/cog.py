"""A ready cog."""

from __future__ import annotations

from typing import Any

import discord
from discord.ext import commands

from .companion import Companion


class CompanionCog(commands.Cog, name="Companion"):
    """Holds a `Companion` as long as the cog is part of the bot. Takes the arguments of `Companion`.

        await bot.add_cog(CompanionCog(bot, "http://127.0.0.1:8081", key, guild=facts_of_guild))

    `add_cog` raises `ValueError` if an argument cannot work. An extension must remove the cog in its `teardown`:
    the library removes only cogs whose class the extension defines.
    """

    companion: Companion
    """Set by `add_cog`."""

    def __init__(self, bot: discord.Client, url: str, key: str, **options: Any) -> None:
        self._arguments = (bot, url, key)
        self._options = options

    async def cog_load(self) -> None:
        self.companion = Companion(*self._arguments, **self._options)

    async def cog_unload(self) -> None:
        await self.companion.stop()
