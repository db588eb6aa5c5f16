"""The four GET endpoints of the public API on FastAPI, uvicorn and the standard library's SQLite."""

import hashlib
import math
import os
import random
import re
import sqlite3
import time
from pathlib import Path
from typing import Annotated, Any

import orjson
import uvicorn
from fastapi import FastAPI, Header, Request, Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

VERSION = {
    "name": "1.0.0",
    "branch": "main",
    "commit": {
        "sha": "0000000000000000000000000000000000000000",
        "message": "Answer like Companion",
        "author": "unknown",
        "timestamp": 1700000000,
    },
}
PICTURES = "https://cdn.discordapp.com"
SILENT_AFTER = 90_000_000
SESSION_LIFETIME = 30 * 86_400_000_000
SESSION_IDLE = 7 * 86_400_000_000
ROLES = ("Owner", "Manager", "Administrator", "Moderator")
ADMINISTRATOR_OR_MANAGE_SERVER = 0x28
SENT_EPOCH = re.compile(r"[0-9]{1,12}(\.[0-9]{1,9})?")

# Snowflakes are text, as they are shown; some do not fit into SQLite's integers.
TABLES = """
CREATE TABLE guilds (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, icon TEXT, members INTEGER NOT NULL, owner TEXT NOT NULL,
    setup INTEGER NOT NULL, linked INTEGER NOT NULL, bindings TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE members (
    guild TEXT NOT NULL, user TEXT NOT NULL, roles TEXT NOT NULL, PRIMARY KEY (user, guild)
) WITHOUT ROWID;
CREATE TABLE subscriptions (
    user TEXT PRIMARY KEY, guilds TEXT NOT NULL, slots INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE subscription_guilds (
    guild TEXT NOT NULL, user TEXT NOT NULL, PRIMARY KEY (guild, user)
) WITHOUT ROWID;
CREATE TABLE staff (user TEXT PRIMARY KEY, permissions TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE blocked (user TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE feedback (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, feedback TEXT NOT NULL, rating INTEGER NOT NULL,
    timestamp INTEGER NOT NULL, submitter_username TEXT NOT NULL, submitter_name TEXT NOT NULL,
    submitter_id TEXT NOT NULL, submitter_avatar TEXT NOT NULL
);
-- Positive entries, numbered from 0 without holes.
CREATE TABLE positive_feedback (slot INTEGER PRIMARY KEY, entry INTEGER NOT NULL);
CREATE TABLE team (
    username TEXT NOT NULL, name TEXT NOT NULL, avatar TEXT NOT NULL, discord_id TEXT NOT NULL, role TEXT NOT NULL,
    color TEXT NOT NULL, category TEXT NOT NULL, position INTEGER NOT NULL, PRIMARY KEY (category, discord_id)
) WITHOUT ROWID;
CREATE INDEX team_in_order ON team (category, position, name, length(discord_id), discord_id);
CREATE TABLE clusters (
    id TEXT PRIMARY KEY, memory REAL NOT NULL, started_at INTEGER NOT NULL, shards TEXT NOT NULL,
    received_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE sessions (
    id BLOB PRIMARY KEY, user TEXT NOT NULL, created_at INTEGER NOT NULL, last_seen_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE grants (user TEXT PRIMARY KEY, fetched_at INTEGER) WITHOUT ROWID;
CREATE TABLE listed_guilds (
    user TEXT NOT NULL, guild TEXT NOT NULL, owner INTEGER NOT NULL, manages INTEGER NOT NULL,
    PRIMARY KEY (user, guild)
) WITHOUT ROWID;
"""

DERIVED = (
    "INSERT INTO positive_feedback SELECT row_number() OVER () - 1, number FROM feedback WHERE rating >= 4",
    """INSERT INTO subscription_guilds
    SELECT DISTINCT named.value, subscriptions.user FROM subscriptions, json_each(subscriptions.guilds) AS named""",
)

LAST_SLOT = "SELECT max(slot) FROM positive_feedback"
ENTRIES_IN_SLOTS = """
SELECT slot, feedback, rating, timestamp, submitter_username, submitter_name, submitter_id, submitter_avatar
FROM positive_feedback JOIN feedback ON number = entry WHERE slot IN (?, ?, ?, ?, ?)"""
TEAM = """
SELECT username, name, avatar, discord_id, role, color, category, position
FROM team ORDER BY category, position, name, length(discord_id), discord_id"""
TEAM_FIELDS = ("username", "name", "avatar", "discord_id", "role", "color", "category", "position")
LIVE_CLUSTERS = "SELECT memory, started_at, shards FROM clusters WHERE received_at > ? ORDER BY received_at, id"
LIVE_SESSION = """
SELECT sessions.user, blocked.user IS NOT NULL, grants.fetched_at, staff.permissions,
    coalesce(slots > 0 OR guilds <> '[]', 0)
FROM sessions
    LEFT JOIN blocked ON blocked.user = sessions.user
    LEFT JOIN grants ON grants.user = sessions.user
    LEFT JOIN staff ON staff.user = sessions.user
    LEFT JOIN subscriptions ON subscriptions.user = sessions.user
WHERE sessions.id = ? AND created_at > ? AND last_seen_at > ?"""
# Of several subscriptions that name a guild, the one of the lowest user id counts.
GUILDS_OF = """
SELECT guilds.id, guilds.name, guilds.icon, guilds.members, guilds.owner, guilds.setup, guilds.linked, guilds.bindings,
    listed.owner, listed.manages, members.roles, plus.user, plus.guilds, plus.slots
FROM listed_guilds AS listed
    JOIN guilds ON guilds.id = listed.guild
    LEFT JOIN members ON members.user = listed.user AND members.guild = listed.guild
    LEFT JOIN subscriptions AS plus ON plus.user = (
        SELECT user FROM subscription_guilds WHERE guild = listed.guild ORDER BY length(user), user LIMIT 1)
WHERE listed.user = ?
ORDER BY guilds.name, length(guilds.id), guilds.id"""


def open_database(path: Path, world: Path) -> sqlite3.Connection:
    if not path.exists():
        unfinished = path.with_name(path.name + ".new")
        unfinished.unlink(missing_ok=True)
        fill(unfinished, world)
        unfinished.rename(path)
    # The connection keeps its statements prepared. It is used by the event loop's thread alone.
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA cache_size = -65536")
    db.execute("PRAGMA mmap_size = 1073741824")
    return db


def fill(path: Path, world: Path) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    # No reader opens the file before it is complete, so it needs no journal.
    db.execute("PRAGMA journal_mode = OFF")
    db.execute("PRAGMA synchronous = OFF")
    db.execute("PRAGMA cache_size = -262144")
    db.executescript(TABLES)
    db.execute("BEGIN")
    writer = Writer(db)
    with world.open("rb") as lines:
        for line in lines:
            if not line.isspace():
                record = orjson.loads(line)
                write = getattr(writer, record["kind"], None)
                if write:
                    write(record)
    for statement in DERIVED:
        db.execute(statement)
    db.execute("COMMIT")
    db.close()


def json_text(value: Any) -> str:
    return orjson.dumps(value).decode()


class Writer:
    """Writes records; each kind has a method of its name."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.execute = db.execute
        self.executemany = db.executemany

    def guild(self, it: dict) -> None:
        self.execute(
            "INSERT OR REPLACE INTO guilds VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (it["id"], it["name"], it["icon"], it["members"], it["owner"], it["setup"], it["linked"],
             json_text(it["roles"])),
        )

    def member(self, it: dict) -> None:
        self.execute(
            "INSERT OR REPLACE INTO members VALUES (?, ?, ?)", (it["guild"], it["user"], json_text(it["roles"]))
        )

    def plus(self, it: dict) -> None:
        guilds = json_text(list(dict.fromkeys(it["guilds"])))
        self.execute("INSERT OR REPLACE INTO subscriptions VALUES (?, ?, ?)", (it["user"], guilds, it["slots"]))

    def staff(self, it: dict) -> None:
        self.execute("INSERT OR REPLACE INTO staff VALUES (?, ?)", (it["user"], json_text(it["permissions"])))

    def blocked(self, it: dict) -> None:
        self.execute("INSERT OR REPLACE INTO blocked VALUES (?)", (it["user"],))

    def feedback(self, it: dict) -> None:
        by = it["submitter"]
        self.execute(
            "INSERT OR REPLACE INTO feedback VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)",
            (it["id"], it["feedback"], it["rating"], int(it["timestamp"]), by["username"], by["name"], by["id"],
             by["avatar"]),
        )

    def team(self, it: dict) -> None:
        self.execute(
            "INSERT OR REPLACE INTO team VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [it[field] for field in TEAM_FIELDS]
        )

    def heartbeat(self, it: dict) -> None:
        received_at = it.get("received_at") or time.time_ns() // 1000
        self.execute(
            "INSERT OR REPLACE INTO clusters VALUES (?, ?, ?, ?, ?)",
            (it["cluster"], it["memory"], int(it["started_at"]), json_text(it["shards"]), received_at),
        )

    def session(self, it: dict) -> None:
        self.execute(
            "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?)",
            (bytes.fromhex(it["id"]), it["user"], it["created_at"], it["last_seen_at"]),
        )

    def grant(self, it: dict) -> None:
        user, listed = it["user"], it["list"] or {"fetched_at": None, "guilds": []}
        self.execute("INSERT OR REPLACE INTO grants VALUES (?, ?)", (user, listed["fetched_at"]))
        self.execute("DELETE FROM listed_guilds WHERE user = ?", (user,))
        self.executemany(
            "INSERT OR REPLACE INTO listed_guilds VALUES (?, ?, ?, ?)",
            [
                (user, guild["id"], guild["owner"],
                 int(guild["permissions"]) & ADMINISTRATOR_OR_MANAGE_SERVER != 0)
                for guild in listed["guilds"]
            ],
        )


class NoteReceipt:
    """Notes when a request came in."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["received"] = time.perf_counter()
        await self.app(scope, receive, send)


app = FastAPI(openapi_url=None)
app.add_middleware(NoteReceipt)
db = open_database(Path(os.environ["DATABASE"]), Path(os.environ["WORLD"]))


# A look-up takes microseconds, so the event loop asks SQLite itself: handing each to a thread would cost more.


@app.get("/feedback")
async def pick_feedback() -> Response:
    last = db.execute(LAST_SLOT).fetchone()[0]
    end = 0 if last is None else last + 1
    slots = random.sample(range(end), min(5, end))
    found = {row[0]: row for row in db.execute(ENTRIES_IN_SLOTS, slots + [None] * (5 - len(slots)))}
    data = []
    for slot in slots:
        _, feedback, rating, timestamp, username, name, user, avatar = found[slot]
        submitter = {"username": username, "name": name, "id": user, "avatar": avatar}
        data.append({"feedback": feedback, "rating": rating, "timestamp": timestamp, "submitter": submitter})
    return answer("What people like about the bot.", data, {"cache-control": "no-store"})


@app.get("/team")
async def show_team() -> Response:
    data = [dict(zip(TEAM_FIELDS, row)) for row in db.execute(TEAM)]
    return answer("The team that maintains the bot.", data, {"cache-control": "max-age=60"})


@app.get("/")
async def report_status(request: Request, sent_epoch: Annotated[str | None, Header()] = None) -> Response:
    now = time.time()
    memory, shards, uptime = bot_status(now)
    process = time.perf_counter() - request.scope["received"]
    latency = {"response": since_sent(sent_epoch, now - process), "process": milliseconds(process)}
    data = {
        "version": VERSION,
        "resources": {"memory": memory},
        "health": {"api": {"latency": latency}, "bot": {"shards": shards, "uptime": uptime}},
    }
    return answer("The service is online.", data, {"cache-control": "no-cache"})


@app.get("/guilds")
async def list_guilds(request: Request, token: Annotated[str | None, Header()] = None) -> Response:
    if not token:
        return refuse(request, 401, "token_missing", "Send the session token in the header Token.")
    now = time.time_ns() // 1000
    digest = hashlib.sha256(token.encode()).digest()
    session = db.execute(LIVE_SESSION, (digest, now - SESSION_LIFETIME, now - SESSION_IDLE)).fetchone()
    user, blocked, fetched_at, staff, subscribed = session or (None,) * 5
    if blocked:
        return refuse(request, 403, "blocked", "This user may not use the service.")
    if fetched_at is None:
        message = "The session token is malformed, unknown, expired or revoked. Sign in again."
        return refuse(request, 401, "token_invalid", message)
    data = listing(user, frozenset(orjson.loads(staff)) if staff else frozenset(), bool(subscribed))
    age = max(0, (now - fetched_at) // 1_000_000)
    headers = {"cache-control": "private, no-store", "age": str(age)}
    return answer("The guilds that you run and that have the bot.", data, headers)


@app.exception_handler(HTTPException)
async def refuse_path(request: Request, error: HTTPException) -> Response:
    if error.status_code == 404:
        return refuse(request, 404, "not_found", "There is nothing at this path.")
    return refuse(request, error.status_code, "method_not_allowed", "This path answers to GET only.")


def answer(message: str, data: Any, headers: dict[str, str]) -> Response:
    body = orjson.dumps({"code": 200, "message": message, "data": data})
    return Response(body, headers=headers, media_type="application/json")


def refuse(request: Request, code: int, error: str, message: str) -> Response:
    request_id = request.headers.get("x-request-id") or random.randbytes(16).hex()
    body = {"code": code, "message": message, "data": {"error": error, "request_id": request_id}}
    return Response(orjson.dumps(body), code, {"cache-control": "no-store"}, "application/json")


def listing(user: str, staff: frozenset[str], subscribed: bool) -> list[dict]:
    """The guilds of a user by role, and under each role as the query has them: by name and id."""
    by_role: dict[str, list[dict]] = {role: [] for role in ROLES}
    for row in db.execute(GUILDS_OF, (user,)):
        (guild, name, icon, members, owner, setup, linked, bindings, owns, manages, roles, payer, premium, slots) = row
        manages = bool(owns or manages)
        bound = bound_keys(orjson.loads(bindings), orjson.loads(roles)) if roles else frozenset()
        admin = manages or "ADMIN" in bound
        erlc_manager = manages or "ERLC_MANAGER" in bound
        erlc_admin = erlc_manager or "ERLC_ADMIN" in bound
        erlc_staff = erlc_admin or "ERLC_STAFF" in bound
        mod = admin or "MOD" in bound
        if owns:
            role = "Owner"
        elif manages or erlc_manager:
            role = "Manager"
        elif admin or erlc_admin:
            role = "Administrator"
        elif mod or erlc_staff:
            role = "Moderator"
        else:
            continue
        developer = "BOT_DEVELOPER" in staff
        executive = developer or "EXECUTIVE" in staff
        active = payer is not None
        by_role[role].append({
            "name": name,
            "id": guild,
            "icon": icon or f"{PICTURES}/embed/avatars/{(int(guild) >> 22) % 6}.png",
            "members": members,
            "owner": owner,
            "role": role,
            "service": True,
            "plus": {
                "plus": {
                    "userid": payer or "",
                    "guilds": orjson.loads(premium) if active else [],
                    "slots": slots or 0,
                },
                "active": active,
            },
            "permissions": {
                "ERLC_STAFF": erlc_staff,
                "SERVICE_PLUS_GUILD": active,
                "QUALITY_ASSURANCE": developer or "QUALITY_ASSURANCE" in staff,
                "ERLC_ADMIN": erlc_admin,
                "DOCWRITER": developer or "DOCWRITER" in staff,
                "FOUNDER": "FOUNDER" in staff,
                "ERLC_MANAGER": erlc_manager,
                "MANAGE_SERVER": manages,
                "EXECUTIVE": executive,
                "BOT_DEVELOPER": developer,
                "WEB_DEVELOPER": developer or "WEB_DEVELOPER" in staff,
                "SETUP": bool(setup),
                "SESSION_STARTER": manages or "SESSION_STARTER" in bound,
                "MOD": mod,
                "SUPPORT": developer or "SUPPORT" in staff,
                "MANAGEMENT": executive or "MANAGEMENT" in staff,
                "ADMIN": admin,
                "SERVICE_STAFF": developer or "SERVICE_STAFF" in staff,
                "ERLC_LINKED": bool(linked),
                "SERVICE_PLUS_MEMBER": subscribed,
            },
        })
    return [guild for guilds in by_role.values() for guild in guilds]


def bound_keys(bindings: dict[str, list[str]], held: list[str]) -> set[str]:
    return {key for key, roles in bindings.items() if not set(held).isdisjoint(roles)}


def bot_status(now: float) -> tuple[float, dict, dict]:
    """Memory, shards and uptime of the live clusters; of a shard that several report the last report counts."""
    clusters = db.execute(LIVE_CLUSTERS, (int(now * 1e6) - SILENT_AFTER,)).fetchall()
    if not clusters:
        return 0.0, {}, {"readable": "not reporting", "epoch": 0}
    shards: dict[str, dict] = {}
    for _, _, reported in clusters:
        shards.update(orjson.loads(reported))
    epoch = min(started_at for _, started_at, _ in clusters)
    memory = math.floor(sum(memory for memory, _, _ in clusters) * 100 + 0.5) / 100
    uptime = {"readable": in_words(max(0, int(now - epoch))), "epoch": epoch}
    return memory, {shard: shards[shard] for shard in sorted(shards, key=int)}, uptime


def in_words(seconds: int) -> str:
    def counted(count: int, unit: str) -> str:
        return f"{count} {unit}{'' if count == 1 else 's'}"

    units = (("day", seconds // 86_400), ("hour", seconds // 3600 % 24), ("minute", seconds // 60 % 60))
    *others, last = [counted(count, unit) for unit, count in units if count > 0] or [counted(seconds, "second")]
    return f"{', '.join(others)} and {last}" if others else last


def since_sent(sent: str | None, received: float) -> float | None:
    """The milliseconds since the caller sent the request; nothing where it does not say when that was."""
    return milliseconds(received - float(sent)) if sent and SENT_EPOCH.fullmatch(sent) else None


def milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)


if __name__ == "__main__":
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=int(os.environ["PORT"]),
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="off",
        timeout_keep_alive=72,
        log_level="warning",
        access_log=False,
    )
