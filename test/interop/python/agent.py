"""An Agent of the published package, on JSON lines."""

import asyncio
import base64
from typing import Any

from a2c_smcp.agent.auth import DefaultAgentAuthProvider
from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.smcp import CANCEL_TOOL_CALL_EVENT, GET_CONFIG_EVENT, JOIN_OFFICE_EVENT, AgentCallData, EnterOfficeReq
from lines import Command, report, serve

# Longer than the timeouts of all steps: the runner decides.
JOIN_TIMEOUT = 60


class Notifications:
    """Reports what the package tells its host."""

    async def on_computer_enter_office(self, data: Any, client: Any) -> None:
        report("entered", name=data.get("computer"))

    async def on_computer_leave_office(self, data: Any, client: Any) -> None:
        report("left", name=data.get("computer"))

    async def on_computer_update_config(self, data: Any, client: Any) -> None:
        report("config", name=data.get("computer"))

    async def on_computer_update_tool_list(self, data: Any, client: Any) -> None:
        report("toolList", name=data.get("computer"))

    async def on_tools_received(self, computer: str, tools: Any, client: Any) -> None:
        report("tools", name=computer)

    async def on_skills_received(self, computer: str, skills: Any, client: Any) -> None:
        report("skills", name=computer)


class Client(AsyncSMCPAgentClient):
    """Keeps the ids of calls, which a host needs to cancel them."""

    last_req_id = ""

    def create_tool_call_request(self, *args: Any, **kwargs: Any) -> Any:
        request = super().create_tool_call_request(*args, **kwargs)
        self.last_req_id = request["req_id"]
        return request

    def process_desktop_response(self, response: Any, computer: str) -> None:
        report("desktop", name=computer)


def make_commands() -> dict[str, Command]:
    held: dict[str, Any] = {}

    def client() -> Client:
        return held["client"]

    async def connect(request: dict[str, Any]) -> None:
        auth = DefaultAgentAuthProvider(request["name"], request["office"], api_key=request["token"])
        held.update(client=Client(auth, Notifications()), name=request["name"], office=request["office"])
        await client().connect_to_server(request["url"])

    async def join(_: dict[str, Any]) -> Any:
        body = EnterOfficeReq(role="agent", name=held["name"], office_id=held["office"])
        ack = await client().call(JOIN_OFFICE_EVENT, body, namespace=client().namespace, timeout=JOIN_TIMEOUT)
        joined, reason = ack if isinstance(ack, (list, tuple)) else (ack, None)
        if joined is not True:
            raise RuntimeError(str(reason))

    async def leave(_: dict[str, Any]) -> None:
        await client().leave_office(held["office"], namespace=client().namespace)

    async def computers(_: dict[str, Any]) -> Any:
        sessions = await client().get_computers_in_office(held["office"])
        return [session["name"] for session in sessions]

    async def tools(request: dict[str, Any]) -> Any:
        return (await client().get_tools_from_computer(request["computer"]))["tools"]

    async def call(request: dict[str, Any]) -> Any:
        running = asyncio.create_task(
            client().emit_tool_call(request["computer"], request["tool"], request["params"], request["timeout"]),
        )
        if "cancelAfter" in request:
            await asyncio.sleep(request["cancelAfter"])
            body = AgentCallData(agent=held["name"], req_id=client().last_req_id)
            await client().emit(CANCEL_TOOL_CALL_EVENT, body, namespace=client().namespace)
        return (await running).model_dump(mode="json", by_alias=True)

    async def desktop(request: dict[str, Any]) -> Any:
        got = await client().get_desktop_from_computer(
            request["computer"],
            size=request.get("size"),
            window=request.get("window"),
        )
        return got["desktops"]

    async def config(request: dict[str, Any]) -> Any:
        if hasattr(client(), "get_config_from_computer"):
            return await client().get_config_from_computer(request["computer"])
        body = {"agent": held["name"], "req_id": "config", "computer": request["computer"]}
        return await client().call(GET_CONFIG_EVENT, body, namespace=client().namespace)

    async def resources(request: dict[str, Any]) -> Any:
        return await client().get_resources(request["computer"], request["server"], request.get("cursor"))

    async def skills(request: dict[str, Any]) -> Any:
        return (await client().get_skills(request["computer"]))["skills"]

    async def skill(request: dict[str, Any]) -> Any:
        return await client().get_skill(request["computer"], request["name"], request.get("path"))

    async def upload(request: dict[str, Any]) -> Any:
        data = base64.b64decode(request["data"])
        result = await client().put_blob(request["computer"], data, name_hint=request["hint"])
        return {"path": result.landing_path, "size": result.total_size, "sha256": result.sha256}

    async def close(_: dict[str, Any]) -> None:
        await client().disconnect()

    return {
        "connect": connect,
        "join": join,
        "leave": leave,
        "computers": computers,
        "tools": tools,
        "call": call,
        "desktop": desktop,
        "config": config,
        "resources": resources,
        "skills": skills,
        "skill": skill,
        "upload": upload,
        "close": close,
    }


if __name__ == "__main__":
    serve(make_commands)
