"""Checks the arguments of `Companion`.

Messages name the argument and the fix. They never contain the value: a swapped `url` is the key.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import discord

EXAMPLE = "http://127.0.0.1:8081"


def check_client(client: Any) -> None:
    if not isinstance(client, discord.Client):
        raise ValueError("client must be a discord.Client, a commands.Bot or one of their sharded forms")
    if not client.intents.guilds:
        # Without it the cache has no guilds, and a snapshot would remove all of them from the service.
        raise ValueError("client lacks the intent guilds: create it with discord.Intents(guilds=True, members=True)")


def checked_url(url: Any) -> str:
    """Returns the address without a trailing slash; raises `ValueError` if requests cannot be sent to it."""
    _check_text("url", url, f"pass the address of the management API, for example {EXAMPLE}")
    if any(character.isspace() or not character.isprintable() for character in url):
        raise ValueError("url contains a space or a line break: remove it")
    if not url.lower().startswith(("http://", "https://")):
        raise ValueError(f"url must begin with http:// or https://, for example {EXAMPLE}")
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        has_host = False
    if not has_host:
        raise ValueError(f"url needs a host and, behind a colon, a port from 1 to 65535, for example {EXAMPLE}")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("url must have no user name, no ? and no #: the key is an argument of its own")
    return str(url.rstrip("/"))


def checked_key(key: Any) -> str:
    """Returns the key; raises `ValueError` if it cannot be the value of a header."""
    _check_text("key", key, "pass a key of the management API, for example os.environ['COMPANION_KEY']")
    if not all("!" <= character <= "~" for character in key):
        raise ValueError(
            "key contains a space, a line break or a character outside ASCII: strip what is read from a file"
        )
    return str(key)


def checked_cluster(cluster: Any) -> str | None:
    """Returns the name of the process; raises `ValueError` if the service would refuse it."""
    if cluster is None:
        return None
    is_text = isinstance(cluster, str) and 1 <= len(cluster) <= 64 and cluster.isascii()
    if not is_text or not all(character.isalnum() or character in "_-" for character in cluster):
        raise ValueError("cluster must be 1 to 64 of the characters A-Z, a-z, 0-9, _ and -")
    return str(cluster)


def _check_text(name: str, value: Any, fix: str) -> None:
    if value is None or value == "":
        raise ValueError(f"{name} is {'missing' if value is None else 'empty'}: {fix}")
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a str, not {type(value).__name__}: {fix}")
