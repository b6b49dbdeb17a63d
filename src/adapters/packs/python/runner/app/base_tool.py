"""The base class of the tools of packs."""

import contextvars
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Optional

from loguru import logger
from mcp.types import EmbeddedResource, ImageContent, TextContent, Tool

from .execution_context import ExecutionContext, get_execution_context
from .extension_config import ExtensionConfigManager
from .schemas import BaseResponse

#: Reports the progress of the current call; set by the runner.
progress_reporter: contextvars.ContextVar[Optional[Callable]] = contextvars.ContextVar("progress", default=None)


class BaseMCPTool(ABC):
    """A tool of a pack. The names of its methods are those of Automata."""

    def __init__(self) -> None:
        self.logger = logger.bind(tool=type(self).__name__)
        self.config_manager = ExtensionConfigManager()

    @abstractmethod
    def get_route_config(self) -> "dict | list[dict]":
        """The routes: each with `endpoint` and `params_class`, perhaps with `use_form` and `tool_name`."""

    @abstractmethod
    async def list_tools(self) -> "list[Tool]":
        """The tools for MCP clients."""

    @abstractmethod
    async def call_tool(self, name: str, arguments: dict) -> "Sequence[TextContent | ImageContent | EmbeddedResource]":
        """Calls a tool with validated arguments."""

    def get_response_model(self) -> type:
        return BaseResponse

    def get_execution_context(self) -> Optional[ExecutionContext]:
        """Who runs the current call for what, if it came over `POST {endpoint}/execute`."""
        return get_execution_context()

    def report_progress(self, progress: float, total: Optional[float] = None, message: Optional[str] = None) -> None:
        """Reports the progress of the current call to its caller. Automata has no such method."""
        report = progress_reporter.get()
        if report is not None:
            report(progress, total, message)
