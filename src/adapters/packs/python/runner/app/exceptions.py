"""Errors of packs. The name of a class is its error code, unless it is given another one."""

from typing import Any, Optional


class AutomataError(Exception):
    def __init__(self, message: str, error_code: Optional[str] = None, details: Optional[dict] = None) -> None:
        super().__init__(message)
        self.message = message
        self.error_code = error_code or type(self).__name__
        self.details = details or {}

    def to_dict(self) -> "dict[str, Any]":
        return {"error_code": self.error_code, "message": self.message, "details": self.details}


class ToolError(AutomataError):
    """A tool failed."""


class ToolLoadError(ToolError):
    """A tool cannot be loaded."""


class ToolExecutionError(ToolError):
    """The execution of a tool failed."""


class DependencyError(AutomataError):
    """A package is missing."""


class DependencyInstallError(DependencyError):
    """A package cannot be installed."""


class ConfigurationError(AutomataError):
    """The configuration is invalid."""


class ValidationError(AutomataError):
    """A value is invalid."""


class ExternalServiceError(AutomataError):
    """Another service failed."""


class NetworkError(ExternalServiceError):
    """The network failed."""


class APIError(ExternalServiceError):
    """An API replied with an error."""


def handle_exception(exc: Exception, context: Optional[dict] = None, *_args: Any, **_options: Any) -> "dict[str, Any]":
    """Logs an error, and describes it as :meth:`AutomataError.to_dict` does."""
    from loguru import logger

    known = exc if isinstance(exc, AutomataError) else AutomataError(str(exc), type(exc).__name__, context)
    logger.error(f"{known.error_code}: {known.message}")
    return known.to_dict()
