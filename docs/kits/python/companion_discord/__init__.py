"""Keeps a Companion service informed about a discord.py bot.

    companion = Companion(bot, "http://127.0.0.1:8081", key, guild=facts_of_guild)

Events only mark what may have changed. A moment later the current state is read from the library's cache and compared
with what the service was sent last; the difference is sent in one request. A lost answer, a restart of the service or a
burst of events therefore needs no queue of events: marked guilds and members are compared again.

`docs/kits/README.md` of the repository lists what is sent when, and what it costs.
"""

from importlib.metadata import version

from .cog import CompanionCog
from .companion import Companion
from .facts import GuildFacts
from .report import CompanionError, Posted, Stats
from .schema import Choice, Field, Many, Section
from .settings import GuildSettings, SettingsProblem

__all__ = [
    "Choice",
    "Companion",
    "CompanionCog",
    "CompanionError",
    "Field",
    "GuildFacts",
    "GuildSettings",
    "Many",
    "Posted",
    "Section",
    "SettingsProblem",
    "Stats",
]
__version__ = version("companion-discord")
