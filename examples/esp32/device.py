"""A device of the AI降临派 TCP protocol with its MCP extension, without a socket: for MicroPython and Python."""

import json

START = b"##START"
END = b"##END"
AUTH = 1
STATUS = 5
MCP = 6

# Task of authentication and status, and task of MCP messages: 8 characters each.
SYSTEM_TASK = b"00000000"
MCP_TASK = b"mcp00001"

# Bytes of the largest frame that the device accepts: what a board has free.
MAX_FRAME = 8192


def frame(kind, task, payload):
    return START + bytes([kind]) + task + b"0000" + payload + END


def json_frame(message):
    # Markers start with ##. In JSON a # stands in strings only, where an escape may replace it.
    text = json.dumps(message).replace("#", "\\u0023")
    return frame(MCP, MCP_TASK, text.encode())


class Device:
    """Registers services, and answers calls. A service is a description, parameters and a function."""

    def __init__(self, name, token, services):
        self.name = name
        self.token = token
        self.services = services
        self.is_registered = False
        self.buffer = b""

    def start(self):
        """Returns the bytes that begin a connection."""
        self.is_registered = False
        self.buffer = b""
        return frame(AUTH, SYSTEM_TASK, ("%s##name:%s" % (self.token, self.name)).encode())

    def ping(self):
        """Returns the bytes that keep a quiet connection open."""
        return frame(STATUS, SYSTEM_TASK, b"##PING")

    def receive(self, chunk):
        """Takes received bytes, in any portions, and returns the bytes to send. OSError ends the connection."""
        self.buffer += chunk
        replies = b""
        while True:
            end = self.buffer.find(END)
            if end < 0:
                break
            start = self.buffer.find(START)
            received = self.buffer[start + len(START) : end] if 0 <= start < end else b""
            self.buffer = self.buffer[end + len(END) :]
            if len(received) >= 13:
                replies += self.handle(received[0], received[9:])
        if len(self.buffer) > MAX_FRAME:
            raise OSError("a frame is too large")
        return replies

    def handle(self, kind, rest):
        # Four digits, or the same in brackets.
        payload = rest[6:] if rest[:1] == b"[" else rest[4:]
        if kind == AUTH or kind == STATUS:
            if payload.startswith(b"##ERROR") or payload.startswith(b"##REPLACED"):
                raise OSError(payload.decode())
            if kind == AUTH and not self.is_registered:
                self.is_registered = True
                return self.register()
        if kind == MCP:
            try:
                message = json.loads(payload)
            except ValueError:
                return b""
            if message.get("type") == "call":
                return self.call(message["data"])
        return b""

    def register(self):
        services = {}
        for name, (description, parameters, _) in self.services.items():
            services[name] = {"description": description, "parameters": parameters}
        return json_frame({"type": "register", "data": {"services": services}})

    def call(self, data):
        try:
            service = self.services[data["method"]][2]
            result = {"success": True, "data": service(data.get("params") or {})}
        except Exception as error:
            result = {"success": False, "error": "%s: %s" % (type(error).__name__, error)}
        return json_frame({"type": "result", "data": {"call_id": data["call_id"], "result": result}})
