"""Serves commands as JSON lines: {"id", "do", …} on stdin gives {"id", "value"} or {"id", "error"} on stdout.

Lines with "event" report what happens in between. The packages may print: their output goes to stderr.
"""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

Command = Callable[[dict[str, Any]], Awaitable[Any]]

# A line holds an upload in base64.
MAX_LINE_BYTES = 16 * 1024 * 1024

_lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)


def write(line: dict[str, Any]) -> None:
    _lines.write(json.dumps(line, default=str) + "\n")
    _lines.flush()


def report(event: str, **fields: Any) -> None:
    write({"event": event, **fields})


def _describe(error: BaseException) -> dict[str, Any]:
    """The error with the code and the details of the protocol, where the package keeps them."""
    payload = getattr(error, "payload", None)
    code = getattr(error, "code", None)
    described: dict[str, Any] = {"message": f"{type(error).__name__}: {error}"}
    if isinstance(code, int):
        described["code"] = code
    if isinstance(payload, dict):
        described["payload"] = payload
    reason = getattr(error, "reason", None)
    if isinstance(reason, str):
        described["reason"] = reason
    return described


async def _answer(commands: dict[str, Command], request: dict[str, Any]) -> None:
    try:
        value = await commands[request["do"]](request)
    except Exception as error:
        write({"id": request["id"], "error": _describe(error)})
    else:
        write({"id": request["id"], "value": value})


async def _serve(commands: dict[str, Command]) -> None:
    reader = asyncio.StreamReader(limit=MAX_LINE_BYTES)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    report("ready")
    running: set[asyncio.Task[None]] = set()
    while line := await reader.readline():
        task = asyncio.create_task(_answer(commands, json.loads(line)))
        running.add(task)
        task.add_done_callback(running.discard)


def serve(make_commands: Callable[[], dict[str, Command]]) -> None:
    """Serves until stdin ends. The commands are made inside of the event loop."""

    async def run() -> None:
        await _serve(make_commands())

    asyncio.run(run())
