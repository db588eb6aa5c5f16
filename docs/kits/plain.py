"""Reports a bot to Companion with the standard library alone. Copy it and replace the sample data.

COMPANION_KEY=... COMPANION_URL=http://127.0.0.1:8081 python3 plain.py
"""

import json
import os
import time
import urllib.error
import urllib.request

URL = os.environ.get("COMPANION_URL", "http://127.0.0.1:8081").rstrip("/")
KEY = os.environ["COMPANION_KEY"]
STARTED_AT = int(time.time())

GUILDS = [
    {"id": "190000000000000001", "name": "Harbour Town", "icon": None, "members": 1200, "owner": "190000000000000002",
     "setup": True, "linked": False, "roles": {"MOD": ["190000000000000003"]}},
    {"id": "190000000000000011", "name": "Night Shift", "icon": None, "members": 40, "owner": "190000000000000002",
     "setup": False, "linked": False, "roles": {}},
]  # fmt: skip
MEMBERS = [{"guild": "190000000000000001", "user": "190000000000000004", "roles": ["190000000000000003"]}]


def call(method, path, body=b""):
    """Returns the `data` of the answer. A refusal is a RuntimeError, an unreachable service an OSError."""
    request = urllib.request.Request(URL + path, body, {"Authorization": f"Bearer {KEY}"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)["data"]
    except urllib.error.HTTPError as refusal:
        raise RuntimeError(f"{method} {path}: {refusal.code} {refusal.read().decode()}") from None


def full_sync(guilds, members):
    """Sends all guilds and all members with bound roles. Guilds and members that are left out are removed."""
    lines = [{"kind": "guild", **guild} for guild in guilds] + [{"kind": "member", **member} for member in members]
    return call("POST", "/bot/sync?replace=guilds,members", "\n".join(map(json.dumps, lines)).encode())


def remove_guild(guild):
    """Call it when the bot leaves a guild."""
    return call("DELETE", f"/bot/guilds/{guild}")


def heartbeat(memory, shards):
    """Call it every 20 s. `shards` maps the id of a shard to when its last heartbeat was sent and acknowledged."""
    times = {
        str(shard): {"heartbeatSent": sent, "heartbeatAcknowledged": ack, "latency": round((ack - sent) * 1000, 1)}
        for shard, (sent, ack) in shards.items()
    }
    report = {"memory": memory, "started_at": STARTED_AT, "shards": times, "shard_count": 1, "sent_at": time.time()}
    return call("PUT", "/bot/clusters/cluster-0/heartbeat", json.dumps(report).encode())


if __name__ == "__main__":
    print("full sync:", full_sync(GUILDS, MEMBERS))
    print("removal:", remove_guild("190000000000000011"))
    while True:
        now = time.time()
        try:
            heartbeat(64.5, {0: (now - 0.05, now)})
        except OSError as error:  # retried with the next heartbeat
            print("heartbeat:", error)
        time.sleep(20)
