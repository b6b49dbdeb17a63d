"""Who runs a call for what. Only calls over `POST {endpoint}/execute` have it."""

from contextvars import ContextVar, Token
from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class ExecutionContext:
    task_id: str
    user_id: str
    account_id: str
    platform: str
    action: str
    session_id: Optional[str] = None
    cdp_url: Optional[str] = None
    timeout: int = 120
    retry: int = 0


_current: ContextVar[Optional[ExecutionContext]] = ContextVar("execution_context", default=None)


def set_execution_context(context: ExecutionContext) -> Token:
    return _current.set(context)


def reset_execution_context(token: Token) -> None:
    _current.reset(token)


def get_execution_context() -> Optional[ExecutionContext]:
    return _current.get()
