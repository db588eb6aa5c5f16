"""Errors, statistics and the hooks that the bot is told through."""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

log = logging.getLogger("companion")


@dataclass(frozen=True)
class Posted:
    """A request that the service accepted, for the hook `on_posted`."""

    what: str  # snapshot, changes, removal, facts, outlines, settings or heartbeat
    lines: int
    size: int  # bytes of the body
    seconds: float
    added: int
    changed: int
    removed: int


@dataclass
class Stats:
    """Totals since the start, for the bot's own metrics."""

    requests: int = 0
    failures: int = 0
    bytes: int = 0
    lines: int = 0
    snapshots: int = 0
    heartbeats: int = 0


class CompanionError(Exception):
    """A failed request or callback.

    `word` is the error word of the service, or one of the kit: `unreachable`, `unreadable`, `callback_failed`,
    `members_unknown` or `kit_failed`.
    """

    def __init__(
        self,
        word: str,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        fields: Iterable[Mapping[str, str]] = (),
    ) -> None:
        super().__init__(f"{word}: {message}")
        self.word = word
        self.status = status
        self.retry_after = retry_after
        self.fields = tuple(fields)

    @classmethod
    def wrapping(cls, error: Exception, where: str) -> CompanionError:
        """Returns `error` itself if it is a `CompanionError`; everything else is a defect of the kit."""
        return error if isinstance(error, cls) else cls("kit_failed", f"{where}: {error!r}")

    @property
    def is_outage(self) -> bool:
        """Whether the service did not serve the request, as opposed to refusing its content."""
        return self.status is None or self.status >= 500 or self.status in (401, 403, 429) or self.word == "unreadable"

    def wrong_line(self) -> int | None:
        """Returns the number of the line that a sync was refused for."""
        for problem in self.fields:
            if match := re.match(r"line (\d+)", problem.get("path", "")):
                return int(match[1])
        return None


class Reporter:
    """Logs errors and calls the hooks. No exception of a hook reaches the bot."""

    def __init__(
        self, on_posted: Callable[[Posted], Any] | None, on_error: Callable[[CompanionError], Any] | None
    ) -> None:
        self._on_posted = on_posted
        self._on_error = on_error

    def error(self, error: CompanionError) -> None:
        log.warning("%s", error)
        self._call(self._on_error, error)

    def posted(self, posted: Posted) -> None:
        self._call(self._on_posted, posted)

    def _call(self, hook: Callable[[Any], Any] | None, argument: Any) -> None:
        if hook is None:
            return
        try:
            result = hook(argument)
            if inspect.isawaitable(result):
                asyncio.ensure_future(_logged(result))
        except Exception:
            log.exception("a hook failed")


async def _logged(awaitable: Awaitable[Any]) -> None:
    try:
        await awaitable
    except Exception:
        log.exception("a hook failed")
