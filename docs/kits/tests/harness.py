"""Shared by the tests in Python: the program under test, a recording server, waiting, and the closing line."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, web

KEY = "a-key-for-tests-only"
PATIENCE = 20.0
KITS = Path(__file__).parent.parent


def install_kit() -> None:
    """Builds the wheel of the package and installs it into the virtual environment that runs the test."""
    if sys.prefix == sys.base_prefix:
        sys.exit("run this with the python of a virtual environment: the package is installed into it")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    with tempfile.TemporaryDirectory() as folder:
        build = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, str(KITS / "python")]
        subprocess.run([*pip, *build], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        subprocess.run([*pip, "install", "--force-reinstall", "--no-deps", "--no-index", str(wheel)], check=True)
        subprocess.run([*pip, "check"], check=True)


class Service:
    """The program under test, over a SQLite file that outlives its process."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.public, self.management = (f"http://127.0.0.1:{port}" for port in free_ports(2))
        self._process: subprocess.Popen[bytes] | None = None

    def _environment(self) -> dict[str, str]:
        ours = {
            "COMPANION_STORAGE__URL": f"sqlite:{self.folder / 'companion.db'}",
            "COMPANION_HTTP__LISTEN": self.public.removeprefix("http://"),
            "COMPANION_MANAGEMENT__LISTEN": self.management.removeprefix("http://"),
            "COMPANION_MANAGEMENT__KEY": KEY,
            "COMPANION_LOG__LEVEL": "error",
        }
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("COMPANION_")}
        return inherited | ours

    def _command(self, *arguments: str) -> list[str]:
        return [os.path.abspath(os.environ["COMPANION_BIN"]), *arguments]

    async def start(self) -> None:
        self._process = subprocess.Popen(
            self._command("serve"),
            cwd=self.folder,
            env=self._environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        await until("the service is ready", self._is_ready)

    async def _is_ready(self) -> bool:
        try:
            return (await self.get(f"{self.management}/health/ready"))["code"] == 200
        except OSError:
            return False

    def end(self, how: signal.Signals = signal.SIGKILL) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(10)
            self._process = None

    def forget(self) -> None:
        for file in self.folder.glob("companion.db*"):
            file.unlink()

    async def get(self, url: str) -> Any:
        return await asyncio.to_thread(self._ask, url)

    async def manage(self, method: str, path: str, body: Any = None) -> Any:
        """The `data` of an answer of the management API."""
        sent = None if body is None else json.dumps(body).encode()
        return (await asyncio.to_thread(self._ask, self.management + path, sent, method))["data"]

    async def metrics(self) -> str:
        return (await asyncio.to_thread(self._read, f"{self.management}/metrics")).decode()

    def _ask(self, url: str, body: bytes | None = None, method: str | None = None) -> Any:
        return json.loads(self._read(url, body, method))

    def _read(self, url: str, body: bytes | None = None, method: str | None = None) -> bytes:
        request = urllib.request.Request(url, body, {"Authorization": f"Bearer {KEY}"}, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return bytes(answer.read())

    async def sync(self, *records: dict[str, Any]) -> None:
        body = "\n".join(json.dumps(record) for record in records).encode()
        await asyncio.to_thread(self._ask, f"{self.management}/bot/sync", body)

    async def stored(self) -> dict[str, Any]:
        """What `companion export` says, by key. A member without roles is the same as one who was never reported."""
        done = await asyncio.to_thread(
            subprocess.run,
            self._command("export"),
            cwd=self.folder,
            env=self._environment(),
            capture_output=True,
            check=True,
        )
        stored = {}
        for line in done.stdout.splitlines():
            record = json.loads(line)
            if record["kind"] == "period":
                continue  # the service keeps these itself
            if record["kind"] != "member":
                stored[key_of(record)] = record
            elif record["roles"]:
                stored[key_of(record)] = record | {"roles": sorted(record["roles"])}
        return stored


class Request:
    """A request that a `recording_server` received."""

    def __init__(self, request: web.Request, body: bytes) -> None:
        self.method = request.method
        self.path = request.path
        self.headers = request.headers
        self.at = time.monotonic()
        self.body = body


@asynccontextmanager
async def recording_server(
    answer: Callable[[Request], web.Response | None] = lambda _: None,
) -> AsyncIterator[tuple[str, list[Request]]]:
    """Gives the address of a server that accepts everything `answer` has no answer for, and what it received."""
    received: list[Request] = []

    async def handle(request: web.Request) -> web.Response:
        received.append(Request(request, await request.read()))
        data = {"added": 0, "changed": 0, "removed": 0}
        return answer(received[-1]) or web.json_response({"code": 200, "message": "", "data": data})

    async with _served(handle) as url:
        yield url, received


@asynccontextmanager
async def lossy_proxy(target: str) -> AsyncIterator[tuple[str, set[str]]]:
    """Gives the address of a proxy and the methods whose answers it loses: the connection closes once they were served."""
    loses: set[str] = set()

    async def handle(request: web.Request) -> web.Response:
        async with ClientSession() as session:
            headers = {"Authorization": request.headers["Authorization"]}
            body = await request.read()
            async with session.request(request.method, target + request.path_qs, data=body, headers=headers) as answer:
                content = await answer.read()
        if request.method in loses and request.transport is not None:
            request.transport.abort()
        return web.Response(status=answer.status, body=content)

    async with _served(handle) as url:
        yield url, loses


@asynccontextmanager
async def _served(handle: Callable[[web.Request], Awaitable[web.Response]]) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def key_of(record: dict[str, Any]) -> str:
    names = {"guild": ("id",), "member": ("guild", "user"), "feedback": ("id",), "team": ("discord_id", "category")}
    names |= {"outline": ("guild",), "settings": ("guild",), "schema": ()}
    return " ".join([record["kind"], *(record[name] for name in names.get(record["kind"], ("user",)))])


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


async def until(what: str, condition: Callable[[], bool | Awaitable[bool]]) -> None:
    """Waits for a condition, and gives up loudly."""
    deadline = time.monotonic() + PATIENCE
    while True:
        result = condition()
        if (await result) if isinstance(result, Awaitable) else result:
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain until {what}")
        await asyncio.sleep(0.02)


def expect(found: Any, wanted: Any, what: str) -> None:
    if found != wanted:
        shown = "\n    ".join(map(str, found[:5])) if isinstance(found, list) else found
        raise AssertionError(f"{what}: found {shown}, wanted {wanted}")


def main(tests: Sequence[Callable[[], Awaitable[None]]]) -> int:
    """Runs tests one after another, or those whose names contain a word of the command line."""
    if "COMPANION_BIN" not in os.environ:
        print("COMPANION_BIN must name the program")
        return 2
    wanted = sys.argv[1:]
    failed = passed = 0
    for test in tests:
        if wanted and not any(word in test.__name__ for word in wanted):
            continue
        began = time.monotonic()
        try:
            asyncio.run(test())
        except Exception:
            failed += 1
            print(f"FAILED {test.__name__}\n{traceback.format_exc()}")
        else:
            passed += 1
            print(f"ok {test.__name__} ({time.monotonic() - began:.1f} s)")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0
