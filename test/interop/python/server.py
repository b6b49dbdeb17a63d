"""A Server of the published package, on JSON lines."""

import asyncio
import socket
from typing import Any

import socketio
import uvicorn
from a2c_smcp.server import A2CProtocolVersionASGIMiddleware, DefaultAuthenticationProvider, SMCPNamespace
from lines import Command, serve


def make_commands() -> dict[str, Command]:
    held: dict[str, Any] = {}

    async def start(request: dict[str, Any]) -> Any:
        sio = socketio.AsyncServer(async_mode="asgi", cors_allowed_origins="*")
        sio.register_namespace(SMCPNamespace(DefaultAuthenticationProvider(admin_secret=request["token"])))
        app = A2CProtocolVersionASGIMiddleware(socketio.ASGIApp(sio))
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        held["serving"] = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started:
            await asyncio.sleep(0.02)
        return {"port": listener.getsockname()[1]}

    return {"start": start}


if __name__ == "__main__":
    serve(make_commands)
