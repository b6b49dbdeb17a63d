"""A lamp in plain Python, without packages: registers a service at a device gateway, and answers its calls."""

import json
import os
import socket
import sys

AUTH, STATUS, MCP = b"\x01", b"\x05", b"\x06"


def frame(kind, payload):
    return b"##START" + kind + b"lamp-1  0000" + payload.encode() + b"##END"


def message(kind, data):
    # "##" marks the ends of frames. In JSON an escape takes the place of "#".
    return frame(MCP, json.dumps({"type": kind, "data": data}).replace("#", "\\u0023"))


percent = {"type": "integer", "minimum": 0, "maximum": 100}
parameters = {"type": "object", "properties": {"percent": percent}, "required": ["percent"]}
services = {"set_brightness": {"description": "Sets the brightness of the lamp", "parameters": parameters}}


def answer(call):
    if call["method"] != "set_brightness":
        return {"success": False, "error": "this lamp has no such service"}
    return {"success": True, "data": f"The lamp shines at {call['params']['percent']} %"}


host, port = sys.argv[1].split(":")
gateway = socket.create_connection((host, int(port)))
gateway.settimeout(30)
gateway.sendall(frame(AUTH, os.environ.get("A2C_DEVICES_TOKEN", "") + "##name:lamp"))
gateway.sendall(message("register", {"services": services}))
received = b""
while True:
    try:
        chunk = gateway.recv(4096)
    except TimeoutError:
        gateway.sendall(frame(STATUS, "##PING"))  # keeps a quiet connection open
        continue
    if not chunk:
        sys.exit("the gateway closed the connection")
    *frames, received = (received + chunk).split(b"##END")
    for kind, payload in ((one[7:8], one[20:]) for one in frames):
        if kind != MCP:
            print(payload.decode(), flush=True)
        elif (call := json.loads(payload))["type"] == "call":
            result = {"call_id": call["data"]["call_id"], "result": answer(call["data"])}
            gateway.sendall(message("result", result))
