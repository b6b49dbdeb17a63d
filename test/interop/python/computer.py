"""A Computer of the published package, on JSON lines."""

import inspect
import json
from pathlib import Path
from typing import Any

from a2c_smcp.computer.computer import Computer
from a2c_smcp.computer.mcp_clients.model import MCPServerConfig, MCPServerInput
from a2c_smcp.computer.socketio.client import SMCPComputerClient
from lines import Command, serve
from pydantic import TypeAdapter


def make_commands() -> dict[str, Command]:
    held: dict[str, Any] = {}

    async def start(request: dict[str, Any]) -> None:
        config, folder = request["config"], Path(request["folder"])
        servers = [TypeAdapter(MCPServerConfig).validate_python(one) for one in config["servers"].values()]
        inputs = [TypeAdapter(MCPServerInput).validate_python(one) for one in config["inputs"]]
        options: dict[str, Any] = {
            "name": request["name"],
            "inputs": set(inputs),
            "mcp_servers": set(servers),
            "skill_home": folder / "skills",
            "blob_cache_root": folder / "blobs",
        }
        if "landing" in request:
            settings = folder / "settings.json"
            settings.write_text(json.dumps({"landingRoot": request["landing"]}))
            options["flag_settings_path"] = settings
        # Old packages lack some options.
        known = inspect.signature(Computer.__init__).parameters
        held["computer"] = Computer(**{name: value for name, value in options.items() if name in known})
        await held["computer"].boot_up()
        held["client"] = SMCPComputerClient(computer=held["computer"])

    async def connect(request: dict[str, Any]) -> None:
        await held["client"].connect(request["url"], auth={"token": request["token"]})

    async def join(request: dict[str, Any]) -> None:
        held["office"] = request["office"]
        await held["client"].join_office(request["office"])

    async def leave(_: dict[str, Any]) -> None:
        await held["client"].leave_office(held["office"])

    async def close(_: dict[str, Any]) -> None:
        await held["client"].disconnect()
        await held["computer"].shutdown()

    return {"start": start, "connect": connect, "join": join, "leave": leave, "close": close}


if __name__ == "__main__":
    serve(make_commands)
