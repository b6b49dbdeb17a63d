"""The Server of the published package. It admits every client. The first line of stdout is its address.

Usage: python.py PATH MAX_MESSAGE_BYTES
"""

import asyncio
import socket
import sys
from typing import Any

import socketio
import uvicorn
from a2c_smcp.server import A2CProtocolVersionASGIMiddleware, AuthenticationProvider, SMCPNamespace


class AllowAll(AuthenticationProvider):
    async def authenticate(self, *_args: Any) -> bool:
        return True


async def main(path: str, max_message_bytes: int) -> None:
    sio = socketio.AsyncServer(
        async_mode="asgi", cors_allowed_origins="*", max_http_buffer_size=max_message_bytes
    )
    sio.register_namespace(SMCPNamespace(AllowAll()))
    app = A2CProtocolVersionASGIMiddleware(socketio.ASGIApp(sio, socketio_path=path), socketio_path=path)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, log_level="warning", ws_max_size=max_message_bytes, timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.02)
    if server.started:
        host, port = listener.getsockname()
        print(f"{host}:{port}", flush=True)
    await serving


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
