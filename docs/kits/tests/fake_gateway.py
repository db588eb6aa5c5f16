"""A chat platform on loopback, as far as a bot library needs one: the gateway and the three requests of a login.

The world is a plain model. Whatever changes it also sends the event that the platform would send, so that a test can
compare the model with what others made of the events.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

BOT = 1_000_000_000_000_000_001
EPOCH_STEP = 1 << 22  # shards are told apart by the bits above
CHANNEL_TYPES = {"text": 0, "voice": 2, "category": 4, "news": 5, "stage": 13, "forum": 15, "media": 16}


@dataclass
class Guild:
    id: int
    name: str
    owner: int
    icon: str | None = None
    members: dict[int, set[int]] = field(default_factory=dict)  # user to roles
    roles: set[int] = field(default_factory=set)
    labels: dict[int, tuple[str, int]] = field(default_factory=dict)  # names and colours of roles that have them
    channels: dict[int, tuple[str, str]] = field(default_factory=dict)  # names and types, in their order
    bound: dict[str, list[int]] = field(default_factory=dict)
    setup: bool = False
    unavailable: bool = False
    large: bool = False  # its members come only when they are asked for


@dataclass
class Connection:
    socket: web.WebSocketResponse
    squeeze: Any
    shard: int = 0
    session: str = ""
    unanswered: int = 0  # heartbeats; the first comes before it is known whose they are
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def send(self, op: int, data: Any, name: str | None = None, sequence: int | None = None) -> None:
        text = json.dumps({"op": op, "d": data, "t": name, "s": sequence})
        async with self.lock:
            if self.squeeze is None:
                await self.socket.send_str(text)
            else:
                packed = self.squeeze.compress(text.encode()) + self.squeeze.flush(zlib.Z_SYNC_FLUSH)
                await self.socket.send_bytes(packed)


class FakeGateway:
    """Serves `shards` shards. Heartbeats of those in `muted` are never acknowledged."""

    def __init__(self, shards: int, seed: int = 20) -> None:
        self.shards = shards
        self.guilds: dict[int, Guild] = {}
        self.muted: set[int] = set()
        self.events = 0
        self.random = random.Random(seed)
        self._ids = itertools.count(1)
        self._connections: dict[int, Connection] = {}
        self._sessions: dict[str, list[tuple[int, str, Any]]] = {}
        self._current: dict[int, str] = {}
        self._runner: web.AppRunner | None = None
        self.port = 0

    # The server --------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        app = web.Application()
        app.router.add_get("/api/v10/users/@me", _answers(lambda: _user(BOT)))
        app.router.add_get("/api/v10/oauth2/applications/@me", _answers(_application))
        app.router.add_get("/api/v10/gateway/bot", _answers(self._gateway))
        app.router.add_get("/", self._serve)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        for connection in list(self._connections.values()):
            await connection.socket.close()
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    def _gateway(self) -> dict[str, Any]:
        limit = {"total": 1000, "remaining": 1000, "reset_after": 0, "max_concurrency": 16}
        return {"url": self.url, "shards": self.shards, "session_start_limit": limit}

    async def _serve(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(max_msg_size=0)
        await socket.prepare(request)
        squeeze = zlib.compressobj() if request.query.get("compress") == "zlib-stream" else None
        connection = Connection(socket, squeeze)
        await connection.send(10, {"heartbeat_interval": 41_250})
        async for message in socket:
            if message.type == WSMsgType.TEXT:
                await self._receive(connection, json.loads(message.data))
        if self._connections.get(connection.shard) is connection:
            del self._connections[connection.shard]
        return socket

    async def _receive(self, connection: Connection, message: dict[str, Any]) -> None:
        op, data = message["op"], message.get("d")
        if op == 1:
            connection.unanswered += 1
        elif op == 2:
            await self._identify(connection, data)
        elif op == 6:
            await self._resume(connection, data)
        elif op == 8:
            await self._send_members(connection, data)
        if connection.session and connection.shard not in self.muted:
            await self._acknowledge(connection)

    async def _acknowledge(self, connection: Connection) -> None:
        unanswered, connection.unanswered = connection.unanswered, 0
        for _ in range(unanswered):
            await connection.send(11, None)

    async def unmute(self, shard: int) -> None:
        """Acknowledges the heartbeats of a muted shard, past and future."""
        self.muted.discard(shard)
        await self._acknowledge(self._connections[shard])

    async def _identify(self, connection: Connection, data: dict[str, Any]) -> None:
        connection.shard = data.get("shard", [0, 1])[0]
        connection.session = f"session-{next(self._ids)}"
        self._sessions[connection.session] = []
        mine = [guild for guild in self.guilds.values() if self.shard_of(guild.id) == connection.shard]
        ready = {
            "v": 10,
            "user": _user(BOT),
            "guilds": [{"id": str(guild.id), "unavailable": True} for guild in mine],
            "session_id": connection.session,
            "resume_gateway_url": self.url,
            "shard": [connection.shard, self.shards],
            "application": {"id": str(BOT), "flags": 0},
        }
        self._current[connection.shard] = connection.session
        self._connections[connection.shard] = connection
        await self._dispatch(connection.shard, "READY", ready)
        for guild in mine:
            if guild.id in self.guilds and not guild.unavailable:  # things happen meanwhile
                await self._dispatch(connection.shard, "GUILD_CREATE", self._guild(guild) | {"unavailable": False})

    async def _resume(self, connection: Connection, data: dict[str, Any]) -> None:
        session = data["session_id"]
        missed = [entry for entry in self._sessions.get(session, []) if entry[0] > data["seq"]]
        if session not in self._sessions:
            await connection.send(9, False)
            return
        connection.session = session
        connection.shard = next(shard for shard, current in self._current.items() if current == session)
        self._connections[connection.shard] = connection
        for sequence, name, payload in missed:
            await connection.send(0, payload, name, sequence)
        await self._dispatch(connection.shard, "RESUMED", {})

    async def _send_members(self, connection: Connection, data: dict[str, Any]) -> None:
        guild = self.guilds[int(data["guild_id"])]
        chunk = {
            "guild_id": str(guild.id),
            "members": [_member(user, roles) for user, roles in guild.members.items()],
            "chunk_index": 0,
            "chunk_count": 1,
            "nonce": data.get("nonce"),
        }
        await self._dispatch(connection.shard, "GUILD_MEMBERS_CHUNK", chunk)

    async def _dispatch(self, shard: int, name: str, payload: Any) -> None:
        """Sends an event, or keeps it for the connection that resumes the session."""
        history = self._sessions.get(self._current.get(shard, ""))
        if history is None:
            return  # nobody ever connected: READY will say how things are
        self.events += 1
        sequence = len(history) + 1
        history.append((sequence, name, payload))
        connection = self._connections.get(shard)
        if connection is not None and not connection.socket.closed:
            await connection.send(0, payload, name, sequence)

    def last_sequence(self, shard: int) -> int | None:
        """The number of the last event of a shard's session; none where there is no session."""
        session = self._current.get(shard)
        return None if session is None else len(self._sessions[session])

    # What the platform does to its bots --------------------------------------------------------------------------

    async def ask_to_reconnect(self, shard: int) -> None:
        """The bot should resume; what happens until then is sent to it afterwards."""
        connection = self._connections.pop(shard)
        await connection.send(7, None)

    async def end_session(self, shard: int) -> None:
        """The bot must identify again, and is told of nothing that happens until then."""
        connection = self._connections.pop(shard)
        self._sessions.pop(connection.session)
        self._current.pop(shard)
        await connection.send(9, False)

    # What happens in the world -----------------------------------------------------------------------------------

    def shard_of(self, guild_id: int) -> int:
        return (guild_id >> 22) % self.shards

    def new_id(self) -> int:
        return 200_000_000_000_000_000 + next(self._ids) * EPOCH_STEP

    def new_guild(self, *, members: int = 5, large: bool = False) -> Guild:
        guild_id = self.new_id()
        roles = {self.new_id() for _ in range(4)}
        guild = Guild(guild_id, f"Guild {guild_id % 1000} «ä»", self.new_id(), roles=roles, large=large)
        for user in [BOT, guild.owner, *(self.new_id() for _ in range(members - 2))]:
            guild.members[user] = set(self.random.sample(sorted(roles), self.random.randint(0, 2)))
        if self.random.random() < 0.6:
            first, second, *_ = sorted(roles)
            guild.bound = {"MOD": [first], "ADMIN": [second]}
        guild.setup = self.random.random() < 0.5
        return guild

    async def join(self, guild: Guild) -> None:
        self.guilds[guild.id] = guild
        await self._tell(guild, "GUILD_CREATE", self._guild(guild))

    async def leave(self, guild: Guild) -> None:
        del self.guilds[guild.id]
        await self._tell(guild, "GUILD_DELETE", {"id": str(guild.id)})

    async def make_unavailable(self, guild: Guild) -> None:
        guild.unavailable = True
        await self._tell(guild, "GUILD_DELETE", {"id": str(guild.id), "unavailable": True})

    async def make_available(self, guild: Guild) -> None:
        guild.unavailable = False
        await self._tell(guild, "GUILD_CREATE", self._guild(guild) | {"unavailable": False})

    async def rename(self, guild: Guild, name: str | None = None) -> None:
        guild.name = name or f"Renamed {next(self._ids)}"
        await self._update(guild)

    async def change_icon(self, guild: Guild) -> None:
        guild.icon = self.random.choice([None, f"{next(self._ids):032x}"])
        await self._update(guild)

    async def change_owner(self, guild: Guild) -> None:
        guild.owner = self.random.choice(sorted(guild.members))
        await self._update(guild)

    async def add_member(self, guild: Guild) -> None:
        user = self.new_id()
        guild.members[user] = set()
        await self._tell(guild, "GUILD_MEMBER_ADD", _member(user, set()) | {"guild_id": str(guild.id)})

    async def remove_member(self, guild: Guild) -> None:
        user = self.random.choice(sorted(guild.members))
        if user == BOT:
            return
        del guild.members[user]
        await self._tell(guild, "GUILD_MEMBER_REMOVE", {"guild_id": str(guild.id), "user": _user(user)})

    async def change_roles(self, guild: Guild) -> None:
        user = self.random.choice(sorted(guild.members))
        count = self.random.randint(0, min(3, len(guild.roles)))
        await self.set_roles(guild, user, set(self.random.sample(sorted(guild.roles), count)))

    async def set_roles(self, guild: Guild, user: int, roles: set[int]) -> None:
        guild.members[user] = roles
        await self._tell(guild, "GUILD_MEMBER_UPDATE", _member(user, roles) | {"guild_id": str(guild.id)})

    async def delete_role(self, guild: Guild) -> None:
        if len(guild.roles) < 2:
            return
        role = self.random.choice(sorted(guild.roles))
        guild.roles.discard(role)
        for roles in guild.members.values():
            roles.discard(role)
        await self._tell(guild, "GUILD_ROLE_DELETE", {"guild_id": str(guild.id), "role_id": str(role)})

    async def label_role(self, guild: Guild, role: int, name: str, color: int) -> None:
        """Creates a role, or changes the name and colour of one."""
        event = "GUILD_ROLE_UPDATE" if role in guild.roles else "GUILD_ROLE_CREATE"
        guild.roles.add(role)
        guild.labels[role] = (name, color)
        await self._tell(guild, event, {"guild_id": str(guild.id), "role": _role(guild, role)})

    async def name_channel(self, guild: Guild, channel: int, name: str, type_: str = "text") -> None:
        """Creates a channel, or renames one."""
        event = "CHANNEL_UPDATE" if channel in guild.channels else "CHANNEL_CREATE"
        guild.channels[channel] = (name, type_)
        await self._tell(guild, event, _channel(guild, channel))

    async def delete_channel(self, guild: Guild, channel: int) -> None:
        payload = _channel(guild, channel)
        del guild.channels[channel]
        await self._tell(guild, "CHANNEL_DELETE", payload)

    async def churn(self, events: int) -> None:
        """Random events, most of them the kinds that are most of a bot's day."""
        ordinary = [self.add_member] * 4 + [self.remove_member] * 3 + [self.change_roles] * 5
        ordinary += [self.rename, self.change_icon, self.change_owner, self.delete_role]
        for _ in range(events):
            chance = self.random.random()
            guild = self.random.choice(list(self.guilds.values()))
            if chance < 0.01:
                await self.join(self.new_guild())
            elif guild.unavailable:
                await (self.leave if chance < 0.2 else self.make_available)(guild)
            elif chance < 0.02:
                await self.leave(guild)
            elif chance < 0.03:
                await self.make_unavailable(guild)
            else:
                await self.random.choice(ordinary)(guild)

    async def _update(self, guild: Guild) -> None:
        payload = self._guild(guild)
        for field_ in ("members", "member_count", "channels", "large"):  # not part of this event
            payload.pop(field_)
        await self._tell(guild, "GUILD_UPDATE", payload)

    async def _tell(self, guild: Guild, name: str, payload: Any) -> None:
        await self._dispatch(self.shard_of(guild.id), name, payload)

    def _guild(self, guild: Guild) -> dict[str, Any]:
        sent = {BOT: guild.members[BOT]} if guild.large else guild.members
        return {
            "id": str(guild.id),
            "name": guild.name,
            "icon": guild.icon,
            "owner_id": str(guild.owner),
            "member_count": len(guild.members),
            "large": guild.large,
            "roles": [_role(guild, role) for role in sorted(guild.roles | {guild.id})],
            "members": [_member(user, roles) for user, roles in sent.items()],
            "emojis": [],
            "stickers": [],
            "features": [],
            "channels": [_channel(guild, channel) for channel in guild.channels],
            "threads": [],
            "voice_states": [],
            "presences": [],
            "stage_instances": [],
            "guild_scheduled_events": [],
            "soundboard_sounds": [],
            "afk_timeout": 0,
            "verification_level": 0,
            "default_message_notifications": 0,
            "explicit_content_filter": 0,
            "mfa_level": 0,
            "nsfw_level": 0,
            "premium_tier": 0,
            "preferred_locale": "en-GB",
            "system_channel_flags": 0,
            "joined_at": "2026-01-01T00:00:00+00:00",
        }


def _user(user: int) -> dict[str, Any]:
    name = f"user_{user % 100_000}"
    return {
        "id": str(user),
        "username": name,
        "discriminator": "0",
        "global_name": None,
        "avatar": None,
        "bot": user == BOT,
    }


def _member(user: int, roles: set[int]) -> dict[str, Any]:
    return {
        "user": _user(user),
        "roles": [str(role) for role in sorted(roles)],
        "joined_at": "2026-01-01T00:00:00+00:00",
        "deaf": False,
        "mute": False,
        "flags": 0,
        "nick": None,
        "avatar": None,
        "pending": False,
    }


def role_label(guild: Guild, role: int) -> tuple[str, int]:
    return guild.labels.get(role, ("Moderator" if role == min(guild.roles) else f"role {role}", 0))


def _channel(guild: Guild, channel: int) -> dict[str, Any]:
    name, type_ = guild.channels[channel]
    return {
        "id": str(channel),
        "guild_id": str(guild.id),
        "name": name,
        "type": CHANNEL_TYPES[type_],
        "position": list(guild.channels).index(channel),
        "permission_overwrites": [],
        "bitrate": 64_000,
        "user_limit": 0,
    }


def _role(guild: Guild, role: int) -> dict[str, Any]:
    name, color = role_label(guild, role)
    return {
        "id": str(role),
        "name": name,
        "color": color,
        "colors": {"primary_color": color, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "position": 0,
        "permissions": "0",
        "managed": False,
        "mentionable": False,
        "flags": 0,
    }


def _application() -> dict[str, Any]:
    return {
        "id": str(BOT),
        "name": "bot",
        "icon": None,
        "description": "",
        "bot_public": True,
        "bot_require_code_grant": False,
        "verify_key": "",
        "flags": 0,
        "owner": _user(BOT),
        "team": None,
        "summary": "",
    }


def _answers(make: Callable[[], Any]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(_: web.Request) -> web.Response:
        # The library parses JSON only where the type says no more than that.
        return web.Response(body=json.dumps(make()).encode(), headers={"Content-Type": "application/json"})

    return answer
