"""Heartbeats: memory, start and shards of this process."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import time
from typing import Any

import discord

from .records import line
from .report import CompanionError, Reporter
from .transport import Transport
from .world import World

POLL = 0.1
SIGN_OFF_WITHIN = 2


class Heartbeats:
    """Sends a heartbeat at a fixed interval."""

    def __init__(
        self,
        client: discord.Client,
        world: World,
        transport: Transport,
        reporter: Reporter,
        *,
        cluster: str | None,
        every: float,
        first_within: float,
    ) -> None:
        self._client = client
        self._world = world
        self._transport = transport
        self._reporter = reporter
        self._cluster = cluster
        self._every = every
        self._first_within = first_within
        self._started_at = time.time()
        self._reported: str | None = None  # the path of the cluster, once the service knows it

    async def run(self) -> None:
        await self._all_acknowledged()
        while True:
            wait = self._every
            try:
                await self._send()
            except Exception as error:
                problem = CompanionError.wrapping(error, "heartbeat")
                self._reporter.error(problem)
                wait = max(wait, problem.retry_after or 0)
            await asyncio.sleep(wait)

    async def _all_acknowledged(self) -> None:
        """Waits until every shard has an acknowledged heartbeat, so that a start does not look like missing shards.

        The bound is below the 90 s after which the service takes the process for silent.
        """
        deadline = time.monotonic() + self._first_within
        while time.monotonic() < deadline and len(self._shards()) < len(self._world.shard_ids()):
            await asyncio.sleep(POLL)

    async def _send(self) -> None:
        body = line(self._report()).encode()
        path = f"/bot/clusters/{self._name()}"
        self._reported = None
        await self._transport.send("heartbeat", "PUT", f"{path}/heartbeat", body, timeout=10)
        self._reported = path
        self._transport.stats.heartbeats += 1

    async def sign_off(self) -> None:
        """Tells the service that this process stops on purpose. Without an answer it counts as silent later."""
        if self._reported is not None:
            with contextlib.suppress(Exception):
                await self._transport.send("sign-off", "DELETE", self._reported, b"", timeout=SIGN_OFF_WITHIN)

    def _report(self) -> dict[str, Any]:
        return {
            "memory": _memory(),
            "started_at": int(self._started_at),
            "shards": self._shards(),
            "shard_count": self._world.shard_count,
            "sent_at": round(time.time(), 3),
        }

    def _name(self) -> str:
        return self._cluster or f"cluster-{min(self._world.shard_ids(), default=0)}"

    def _shards(self) -> dict[str, dict[str, float]]:
        """Returns the shards with an acknowledged heartbeat.

        The library publishes only the latency. The times are read from its keep-alive thread, in `perf_counter` seconds.
        """
        shards: dict[str, dict[str, float]] = {}
        to_wall_clock = time.time() - time.perf_counter()
        for shard in self._world.shard_ids():
            try:
                keeper: Any = self._client._get_websocket(shard_id=shard)._keep_alive
                latency, sent, acknowledged = keeper.latency, keeper._last_send, keeper._last_ack
            except (AttributeError, KeyError):
                continue  # not connected
            if math.isfinite(latency):
                shards[str(shard)] = {
                    "heartbeatSent": round(sent + to_wall_clock, 3),
                    "heartbeatAcknowledged": round(acknowledged + to_wall_clock, 3),
                    "latency": round(max(latency, 0.0) * 1000, 1),
                }
        return shards


def _memory() -> float:
    """Returns the resident megabytes of this process; the peak if the system does not tell the current value."""
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            return round(int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20, 2)
    except (OSError, ValueError, AttributeError):
        pass
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    unit = 1 if os.uname().sysname == "Darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20, 2)
