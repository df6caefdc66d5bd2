"""The exceptions of the package. How a program ended is never an exception, but a `Result`."""
from __future__ import annotations

import json
from typing import Optional


class SandboxError(Exception):
    """Cloche could not do its work.

    `code` is the error code of the service (`not_found`, `limit_reached`, ...), `status` the HTTP status, `request_id`
    the id of the request in the service's log. Each is None if it is not known. `retry_after` is in seconds.
    """

    def __init__(self, message: str, *, code: Optional[str] = None, status: Optional[int] = None,
                 request_id: Optional[str] = None, retry_after: Optional[float] = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.status = status
        self.request_id = request_id
        self.retry_after = retry_after


class SandboxTimeoutError(SandboxError):
    """A deadline passed."""


class SandboxResourceError(SandboxError):
    """A quota, a pool, a disk or another limit is exhausted."""


class SandboxNotFoundError(SandboxError):
    """The named session, file, run or lease does not exist."""


class SandboxArgumentError(SandboxError):
    """An argument is invalid: a bad path, an impossible limit."""


class SandboxLostError(SandboxError):
    """The sandbox died or was destroyed in the meantime."""


class SandboxUnavailableError(SandboxError):
    """The service, its host or its engine does not support the call, or does not respond."""


class SandboxPermissionError(SandboxError):
    """The caller is unknown, or may not do this."""


_BY_CODE: dict[str, type[SandboxError]] = {
    "timeout": SandboxTimeoutError,
    "limit_reached": SandboxResourceError,
    "too_large": SandboxResourceError,
    "not_found": SandboxNotFoundError,
    "invalid_argument": SandboxArgumentError,
    "bad_request": SandboxArgumentError,
    "not_text": SandboxArgumentError,
    "no_match": SandboxArgumentError,
    "other_count": SandboxArgumentError,
    "file_changed": SandboxUnavailableError,
    "method_not_allowed": SandboxArgumentError,
    "unsupported_media_type": SandboxArgumentError,
    "sandbox_lost": SandboxLostError,
    "session_ending": SandboxLostError,
    "session_paused": SandboxUnavailableError,
    "unavailable": SandboxUnavailableError,
    "unsupported": SandboxUnavailableError,
    "bad_gateway": SandboxUnavailableError,
    "unauthenticated": SandboxPermissionError,
    "permission_denied": SandboxPermissionError,
}

_BY_STATUS: dict[int, type[SandboxError]] = {
    400: SandboxArgumentError, 401: SandboxPermissionError, 403: SandboxPermissionError, 404: SandboxNotFoundError,
    405: SandboxArgumentError, 408: SandboxTimeoutError, 410: SandboxLostError, 413: SandboxResourceError,
    415: SandboxArgumentError, 416: SandboxArgumentError, 422: SandboxArgumentError, 429: SandboxResourceError,
    501: SandboxUnavailableError, 502: SandboxUnavailableError, 503: SandboxUnavailableError, 504: SandboxTimeoutError,
}


def error_for(message: str, *, code: Optional[str] = None, status: Optional[int] = None,
              request_id: Optional[str] = None, retry_after: Optional[float] = None) -> SandboxError:
    """Return the error for a code, otherwise for a status."""
    kind = _BY_CODE.get(code or "", _BY_STATUS.get(status or 0, SandboxError))
    return kind(message, code=code, status=status, request_id=request_id, retry_after=retry_after)


def error_from_answer(status: int, headers: dict[str, str], body: bytes) -> SandboxError:
    """Return the error of an unsuccessful response. `headers` have names in lower case."""
    message, code, request_id = "", None, headers.get("x-request-id")
    try:
        told = json.loads(body.decode("utf-8"))
    except ValueError:
        told = None
    if isinstance(told, dict):
        error = told.get("error")
        if isinstance(error, dict):
            message, code = str(error.get("message", "")), error.get("code")
            request_id = error.get("request_id") or request_id
        elif "detail" in told:
            message = str(told["detail"])
    try:
        retry_after = float(headers["retry-after"])
    except (KeyError, ValueError):
        retry_after = None
    return error_for(message or f"the service returned {status}", code=code, status=status, request_id=request_id,
                     retry_after=retry_after)
