"""Requests to the management API, and outages of it."""

from __future__ import annotations

import asyncio
import json
import os
import random
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from .arguments import checked_key, checked_url
from .report import CompanionError, Posted, Reporter, Stats, log

MAX_REFUSALS = 10
MAX_BACK_OFF = 60.0


class Transport:
    """Sends one request at a time for each caller. Retries are the caller's."""

    def __init__(self, url: Any, key: Any, reporter: Reporter) -> None:
        self.stats = Stats()
        self.on_reconnected: Callable[[float], None] = lambda _: None
        """Called with the seconds of an outage at the first request that succeeds after it."""
        self._url = checked_url(url)
        self._host = urlsplit(self._url).netloc
        self._headers = {
            "Authorization": f"Bearer {checked_key(key)}",
            "User-Agent": f"companion-discord-py/{version('companion-discord')}",
        }
        self._reporter = reporter
        self._session: aiohttp.ClientSession | None = None
        self._down_since: float | None = None

    async def sync(self, what: str, query: str, lines: Iterable[str]) -> None:
        """Posts lines to `/bot/sync`, as one atomic change."""
        lines = list(lines)
        body = "".join(f"{line}\n" for line in lines).encode()
        await self.send(what, "POST", f"/bot/sync{query}", body, lines=len(lines), timeout=120)
        self.stats.lines += len(lines)

    async def sync_guilds(self, what: str, query: str, lines: Sequence[tuple[int, str]]) -> set[int]:
        """Posts lines of guilds, and returns the guilds that are left out because the service refused a line.

        One wrong line refuses a whole sync. Without the refused guilds the rest is sent again, but with no query: what is
        left out must not be removed.
        """
        refused: set[int] = set()
        while True:
            rest = [(guild_id, line) for guild_id, line in lines if guild_id not in refused]
            if refused and not rest:
                return refused
            try:
                await self.sync(what, "" if refused else query, [line for _, line in rest])
                return refused
            except CompanionError as error:
                number = error.wrong_line()
                if number is None or not 1 <= number <= len(rest) or len(refused) >= MAX_REFUSALS:
                    raise
                self._reporter.error(error)
                refused.add(rest[number - 1][0])

    async def send(
        self, what: str, method: str, path: str, body: bytes = b"", *, lines: int = 1, timeout: float = 30
    ) -> None:
        """Sends a change and tells the hook `on_posted`."""
        began = time.monotonic()
        data = await self.request(method, path, body, timeout=timeout)
        counts = (int(data.get(name, 0)) for name in ("added", "changed", "removed"))
        self._reporter.posted(Posted(what, lines, len(body), time.monotonic() - began, *counts))

    async def request(self, method: str, path: str, body: bytes = b"", *, timeout: float = 30) -> dict[str, Any]:
        """Returns the `data` of the answer; raises `CompanionError`."""
        self.stats.bytes += len(body)
        limit = aiohttp.ClientTimeout(total=timeout)
        async with self._answer(method, path, timeout, data=body, timeout=limit) as answer:
            data = await _data_of(answer)
        self._succeeded()
        return data

    async def lines(
        self, path: str, headers: Mapping[str, str] | None = None, *, silence: float = 30
    ) -> AsyncGenerator[bytes, None]:
        """Yields the lines of an answer as they come; raises `CompanionError`, also after `silence` seconds."""
        limit = aiohttp.ClientTimeout(total=None, sock_connect=silence, sock_read=silence)
        async with self._answer("GET", path, silence, headers=headers, timeout=limit) as answer:
            if answer.status != 200:
                await _data_of(answer)
            self._succeeded()
            rest = b""
            async for part in answer.content.iter_any():
                *lines, rest = (rest + part).split(b"\n")
                for one in lines:
                    yield one
            if rest:
                yield rest

    @asynccontextmanager
    async def _answer(
        self, method: str, path: str, seconds: float, **options: Any
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        if self._session is None:
            self._session = aiohttp.ClientSession(headers=self._headers)
        self.stats.requests += 1
        try:
            # The key goes nowhere else.
            async with self._session.request(method, self._url + path, allow_redirects=False, **options) as answer:
                yield answer
        except (aiohttp.ClientError, asyncio.TimeoutError, OSError, ValueError) as error:
            failure = CompanionError("unreachable", f"cannot reach {self._host}: {_reason(error, seconds)}")
            self._failed(failure)
            raise failure from error
        except CompanionError as error:
            self._failed(error)
            raise

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _failed(self, error: CompanionError) -> None:
        self.stats.failures += 1
        if self._down_since is None and error.is_outage:
            self._down_since = time.monotonic()

    def _succeeded(self) -> None:
        if self._down_since is None:
            return
        seconds = time.monotonic() - self._down_since
        self._down_since = None
        log.info("connected again to %s after %.0f s", self._host, seconds)
        self.on_reconnected(seconds)


def back_off(failures: int, problem: CompanionError) -> float:
    """Returns the seconds to wait after so many failures in a row."""
    delay: float = min(MAX_BACK_OFF, 0.5 * 2 ** min(failures, 10)) * random.uniform(0.5, 1.0)
    if problem.retry_after is not None:  # jitter keeps many bots from returning at the same moment
        delay = max(delay, problem.retry_after * random.uniform(1.0, 1.1))
    return delay


CHECK_URL = "check that url is the address of the management API"


def _reason(error: Exception, timeout: float) -> str:
    """Returns why a request failed, without the repetition of its address."""
    if isinstance(error, asyncio.TimeoutError):
        return f"no answer within {timeout:.0f} s"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return str(error.certificate_error)
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, OSError) and not isinstance(cause, ssl.SSLError) and cause.errno and cause.errno > 0:
        return os.strerror(cause.errno).lower()
    text = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    return str(text)[:1].lower() + str(text)[1:]


async def _data_of(answer: aiohttp.ClientResponse) -> dict[str, Any]:
    """Returns the `data` of the envelope; raises if the status is an error or the answer not the service's."""
    try:
        envelope = json.loads(await answer.text())
        data, message = dict(envelope["data"]), str(envelope["message"])
    except (ValueError, KeyError, TypeError):
        data, message = {"error": "unreadable"}, f"the answer ({answer.status}) is not the service's: {CHECK_URL}"
        if answer.status < 400:
            raise CompanionError("unreadable", message, status=answer.status) from None
    if answer.status == 200:
        return data
    raise _refusal(answer, data, message)


def _refusal(answer: aiohttp.ClientResponse, data: Mapping[str, Any], message: str) -> CompanionError:
    seconds = answer.headers.get("Retry-After", "")
    if answer.status == 404 and data.get("error") == "not_found":  # every path that the kit calls exists
        message += f" C{CHECK_URL[1:]}."
    return CompanionError(
        data.get("error", "unreadable"),
        message,
        status=answer.status,
        retry_after=float(seconds) if seconds.isdecimal() else None,
        fields=data.get("fields", ()),
    )
