"""
Runs one Python pack for its host (seed 004). Host and runner exchange messages as lines of JSON over the channel that Node
opens: those of `isolation/child.ts`, except that the host decodes what the pack declares.
"""

import asyncio
import contextvars
import importlib
import inspect
import json
import logging
import os
import signal
import socket
import sys
import threading
import traceback
import types
from concurrent.futures import ThreadPoolExecutor

#: The exit code of a pack that used more than its memory.
OUT_OF_MEMORY = 77
MAX_MESSAGE = 2000
#: Calls of functions that are not `async` run in threads.
MAX_THREADS = 64
MAX_PROBLEMS = 100
LEVELS = {10: "Debug", 20: "Info", 30: "Warn", 40: "Error"}

INVALID_PARAMS, METHOD_NOT_FOUND = -32602, -32601


class Channel:
    """The channel to the host. A forked child of the pack must not use it."""

    def __init__(self) -> None:
        self._socket = socket.socket(fileno=int(os.environ.pop("NODE_CHANNEL_FD")))
        os.environ.pop("NODE_CHANNEL_SERIALIZATION_MODE", None)
        self._socket.setblocking(True)
        self._socket.set_inheritable(False)
        self._lock = threading.Lock()
        self._is_forked = False
        os.register_at_fork(after_in_child=self._leave)

    def _leave(self) -> None:
        self._is_forked = True
        self._socket.close()

    def send(self, message: dict) -> None:
        if self._is_forked:
            os._exit(0)
        # Escapes of JSON keep lone surrogates, which UTF-8 cannot encode.
        data = json.dumps(message, allow_nan=False).encode() + b"\n"
        with self._lock:
            self._socket.sendall(data)

    def read(self, on_message) -> None:
        """Reads messages in a thread. The pack and what it started end with the host, even if it blocks."""

        def run() -> None:
            try:
                with self._socket.makefile("rb") as lines:
                    for line in lines:
                        on_message(json.loads(line))
            finally:
                os.killpg(os.getpgrp(), signal.SIGKILL)

        threading.Thread(target=run, daemon=True).start()


def shorten(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE else text[:MAX_MESSAGE] + "…"


def message_of(error: BaseException) -> str:
    text = str(error).encode("utf-8", "replace").decode()
    return shorten(text if text else type(error).__name__)


class Unusable(Exception):
    """The pack cannot be loaded. The message is one line: the first paragraph."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split("\n\n")[0].split()))


class Rejected(Exception):
    """A call fails for this reason, in the words of the host."""

    def __init__(self, reason: str, message: str, problems=None) -> None:
        super().__init__(message)
        self.reason, self.problems = reason, problems


def level_of(number: int) -> str:
    return LEVELS.get(min(number // 10 * 10, 40), "Info")


class HostLog(logging.Handler):
    """Sends log records of the pack to the log of the host."""

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self._channel = channel

    def emit(self, record: logging.LogRecord) -> None:
        self.write(level_of(record.levelno), record.getMessage())

    def write(self, level: str, message: str) -> None:
        text = shorten(message.encode("utf-8", "replace").decode())
        self._channel.send({"type": "log", "line": {"level": level, "message": text, "fields": {}}})


def collect_logs(channel: Channel) -> HostLog:
    log = HostLog(channel)
    logging.basicConfig(handlers=[log], level=logging.INFO)
    from loguru import logger

    logger.remove()
    logger.add(lambda line: log.write(level_of(line.record["level"].no), line.record["message"]))
    return log


def where(error: BaseException, folder: str) -> str:
    """The last place in the files of the pack, as `, text_tool.py line 3`."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f" ({os.path.basename(error.filename)} line {error.lineno})"
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename.startswith(folder)]
    return f" ({os.path.basename(frames[-1].filename)} line {frames[-1].lineno})" if frames else ""


def describe(error: BaseException, folder: str) -> str:
    return f"{type(error).__name__}: {message_of(error)}{where(error, folder)}"


def attempt(what: str, folder: str, code):
    """Runs code of the pack while it loads."""
    try:
        return code()
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except Exception as error:
        raise Unusable(f"{what} failed: {describe(error, folder)}") from None
    except SystemExit as error:
        raise Unusable(f"{what} ended the process (exit code {error.code}){where(error, folder)}") from None


def load_tool(source: dict):
    """Imports the package of the pack, and makes an instance of its class."""
    name, class_name, folder = source["name"], source["className"], source["folder"]
    # The package is `app.src.NAME`, so imports relative to `app` work as in Automata.
    packs = types.ModuleType("app.src")
    packs.__path__ = [os.path.dirname(folder)]
    sys.modules["app.src"] = packs
    package = attempt("the import", folder, lambda: importlib.import_module(f"app.src.{name}"))
    module = attempt("the import", folder, lambda: importlib.import_module(f"app.src.{name}.{name}_tool"))
    found = getattr(package, class_name, None) or getattr(module, class_name, None)
    if not inspect.isclass(found):
        own = [one for one in vars(module).values() if getattr(one, "__module__", "") == module.__name__]
        classes = ", ".join(sorted(one.__name__ for one in own if inspect.isclass(one)))
        raise Unusable(f"class '{class_name}' not found in {name}_tool.py, which has {classes or 'no class'}")
    methods = ("get_route_config", "list_tools", "call_tool")
    missing = [method for method in methods if not callable(getattr(found, method, None))]
    if missing:
        raise Unusable(f"{class_name} lacks {', '.join(method + '()' for method in missing)}")
    return attempt(f"the constructor of {class_name}", folder, found)


def schema_of(params_class, endpoint) -> dict:
    from pydantic import BaseModel

    if not (inspect.isclass(params_class) and issubclass(params_class, BaseModel)):
        raise Unusable(f"params_class of the route {endpoint} must be a model of Pydantic, not {params_class!r:.80}")
    try:
        return params_class.model_json_schema()
    except Exception as error:
        raise Unusable(f"params_class of the route {endpoint} has no JSON Schema: {message_of(error)}") from None


def to_plain(value):
    """A model of Pydantic as plain JSON, without the members that are not set."""
    dump = getattr(value, "model_dump", None)
    return value if dump is None else dump(mode="json", by_alias=True, exclude_none=True)


class Pack:
    """A loaded pack."""

    def __init__(self, source: dict, tool) -> None:
        self.name, self.folder, self.tool = source["name"], source["folder"], tool
        self.models = {}
        self._threads = ThreadPoolExecutor(MAX_THREADS)

    async def declare(self) -> dict:
        """The routes and tools, as `getRouteConfig()` and `listTools()` of other packs give them."""
        given = attempt("get_route_config()", self.folder, self.tool.get_route_config)
        routes = given
        if isinstance(given, (dict, list, tuple)):
            entries = [given] if isinstance(given, dict) else given
            routes = [self._route(entry) if isinstance(entry, dict) else None for entry in entries]
        try:
            listed = self.tool.list_tools()
            tools = await listed if inspect.isawaitable(listed) else listed
            tools = [to_plain(one) for one in tools]
        except Exception as error:
            raise Unusable(f"list_tools() failed: {describe(error, self.folder)}") from None
        return {"routes": routes, "tools": tools}

    def _route(self, entry: dict) -> dict:
        route = {key: value for key, value in entry.items() if key != "params_class"}
        model = entry.get("params_class")
        if model is not None:
            route["params_class"] = schema_of(model, entry.get("endpoint"))
            self.models.setdefault(entry.get("tool_name") or self.name, model)
        return route

    def arguments_of(self, call: dict) -> dict:
        """The validated arguments, with defaults and files, or the problems in the form of FastAPI."""
        from pydantic import ValidationError

        params = {**call["params"], **self._open_files(call)}
        model = self.models.get(call["tool"])
        if model is None:
            return params
        try:
            valid = model(**params)
        except ValidationError as error:
            problems = [
                {"loc": ["body", *one["loc"]], "msg": shorten(one["msg"]), "type": one["type"]}
                for one in error.errors(include_url=False, include_context=False, include_input=False)[:MAX_PROBLEMS]
            ]
            text = "; ".join(f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg']}" for one in problems)
            raise Rejected("invalid_params", shorten(text), problems) from None
        files = call["files"]
        opened = {name: getattr(valid, name) for name in files if hasattr(valid, name)}
        return {**valid.model_dump(exclude=set(files)), **opened}

    def _open_files(self, call: dict) -> dict:
        from starlette.datastructures import Headers, UploadFile

        def opened(file: dict):
            headers = Headers({"content-type": file["contentType"]})
            return UploadFile(open(file["path"], "rb"), size=file["size"], filename=file["filename"], headers=headers)

        multiple = call["multiple"]
        return {
            name: [opened(one) for one in files] if name in multiple else opened(files[0])
            for name, files in call["files"].items()
        }

    async def call(self, call: dict) -> dict:
        arguments = self.arguments_of(call)
        call_tool = self.tool.call_tool
        if inspect.iscoroutinefunction(call_tool):
            content = await call_tool(call["tool"], arguments)
        else:
            context = contextvars.copy_context()
            run = asyncio.get_running_loop().run_in_executor
            content = await run(self._threads, context.run, call_tool, call["tool"], arguments)
            content = await content if inspect.isawaitable(content) else content
        if not isinstance(content, (list, tuple)):
            raise Rejected("failed", f"call_tool() must return a list of content, not {type(content).__name__}")
        result = {"content": [to_plain(one) for one in content]}
        try:
            json.dumps(result, ensure_ascii=False, allow_nan=False).encode()
        except (TypeError, ValueError) as error:
            raise Rejected("failed", f"the result of {call['tool']} is not JSON: {message_of(error)}") from None
        return result

    async def dispose(self) -> None:
        dispose = getattr(self.tool, "dispose", None)
        done = dispose() if callable(dispose) else None
        if inspect.isawaitable(done):
            await done


def failure_of(error: BaseException) -> dict:
    from mcp.shared.exceptions import McpError

    if isinstance(error, Rejected):
        failure = {"reason": error.reason, "message": str(error)}
        return {**failure, "problems": error.problems} if error.problems else failure
    message = message_of(error)
    code = error.error.code if isinstance(error, McpError) else None
    if code == INVALID_PARAMS:
        problem = {"loc": ["body"], "msg": message, "type": "value_error"}
        return {"reason": "invalid_params", "message": message, "problems": [problem]}
    return {"reason": "unknown_tool" if code == METHOD_NOT_FOUND else "failed", "message": message}


class Runner:
    """Serves the messages of the host."""

    def __init__(self) -> None:
        self.channel = Channel()
        self.calls = {}
        self.pack = None

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        self.ended = loop.create_future()
        self.channel.read(lambda message: loop.call_soon_threadsafe(self.on_message, message))
        await self.ended

    def on_message(self, message: dict) -> None:
        kind = message.get("type")
        if kind == "start":
            asyncio.ensure_future(self.start(message["source"]))
        elif kind == "call":
            self.calls[message["id"]] = asyncio.ensure_future(self.serve(message["id"], message["call"]))
        elif kind == "abort":
            self.abort(message["id"])
        elif kind == "dispose":
            self.channel.send({"type": "ack"})
            asyncio.ensure_future(self.dispose())

    async def start(self, source: dict) -> None:
        try:
            import resource

            # Private writable memory; the limit of addresses would count what libraries reserve.
            limit = source["memory"] * 1024 * 1024
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
            self.log = attempt("the import of the base packages", source["folder"], lambda: collect_logs(self.channel))
            self.pack = Pack(source, load_tool(source))
            self.channel.send({"type": "declared", **await self.pack.declare()})
        except MemoryError:
            os._exit(OUT_OF_MEMORY)
        except Exception as error:
            self.channel.send({"type": "unusable", "message": message_of(error)})

    async def serve(self, call_id: int, call: dict) -> None:
        from app.base_tool import progress_reporter
        from app.execution_context import ExecutionContext, set_execution_context

        def report(progress, total, message) -> None:
            fields = {"progress": progress, "total": total, "message": message}
            known = {key: value for key, value in fields.items() if value is not None}
            self.channel.send({"type": "progress", "id": call_id, "progress": known})

        progress_reporter.set(report)
        try:
            if "execution" in call:
                set_execution_context(ExecutionContext(**call["execution"]))
            result = await self.pack.call(call)
            self.channel.send({"type": "result", "id": call_id, "result": result})
        except MemoryError:
            os._exit(OUT_OF_MEMORY)
        except SystemExit as error:
            os._exit(error.code if isinstance(error.code, int) else 1)
        except asyncio.CancelledError:
            pass
        except Exception as error:
            if not isinstance(error, Rejected):
                self.log.write("Warn", f"{call['tool']} failed: {describe(error, self.pack.folder)}")
            self.channel.send({"type": "error", "id": call_id, "failure": failure_of(error)})
        finally:
            self.calls.pop(call_id, None)

    def abort(self, call_id: int) -> None:
        """Cancels a call, and acknowledges once its code has ended. The host kills a pack that does not end it."""
        task = self.calls.get(call_id)
        if task is None:
            self.channel.send({"type": "ack"})
            return
        task.add_done_callback(lambda _: self.channel.send({"type": "ack"}))
        task.cancel()

    async def dispose(self) -> None:
        for task in list(self.calls.values()):
            task.cancel()
        try:
            if self.pack is not None:
                await self.pack.dispose()
        except Exception as error:
            self.log.write("Warn", f"dispose() failed: {message_of(error)}")
        self.channel.send({"type": "disposed"})


if __name__ == "__main__":
    asyncio.run(Runner().run())
