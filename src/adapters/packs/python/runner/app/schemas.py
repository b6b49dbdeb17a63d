"""Messages of `POST {endpoint}/execute`, and the reply of later versions of Automata."""

from typing import Generic, Optional, TypeVar

from pydantic import BaseModel, Field

T = TypeVar("T")


class BaseResponse(BaseModel, Generic[T]):
    success: bool = True
    data: Optional[T] = None
    error: Optional[str] = None


class TaskMeta(BaseModel):
    task_id: str
    user_id: str
    account_id: str
    platform: str
    action: str


class SessionMeta(BaseModel):
    session_id: str
    cdp_url: str


class ExecutionOptions(BaseModel):
    timeout: int = Field(default=120, ge=1)
    retry: int = Field(default=0, ge=0)


class ToolExecutionRequest(BaseModel):
    task: TaskMeta
    session: Optional[SessionMeta] = None
    payload: dict
    options: ExecutionOptions = Field(default_factory=ExecutionOptions)
