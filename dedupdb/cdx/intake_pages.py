"""The pages here take CDX lines that clients with the token post, as to OutbackCDX.

| request | answer |
|---|---|
| `POST /<collection>` | `Added N records`, and each refused line with its reason; see `dedupdb.cdx.intake` |
| `POST /<collection>/delete` | always refused |
"""

from __future__ import annotations

import hmac
import io
import logging
import re
import threading
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, cast

from flask import Blueprint, Response, request

from archive.names.name_rules import NAME_PATTERN, NAME_RULE
from archive.settings.load import Settings
from archive.settings.values.secret_file import SecretUnreadable, secret
from dedupdb.captures.capture_index import Captures
from dedupdb.cdx.intake import Intake

logger = logging.getLogger(__name__)

MAX_BODY: Final = 32 << 20
"""Bytes of a request with lines."""
_SHORTEST: Final = 16
_AT_ONCE: Final = 2
"""Requests whose lines are taken at once, so that threads are left for questions."""
_BAD_LINES: Final = ("error", "skip")


class IntakePages:
    """The pages take lines from clients that show the token."""

    def __init__(self, intake: Intake | None = None, token: str = "") -> None:
        """Refuse every post without an intake or a token."""
        self._intake = intake if token else None
        self._token = token.encode()
        self._turns = threading.BoundedSemaphore(_AT_ONCE)

    @classmethod
    def of(cls, settings: Settings, captures: Captures) -> IntakePages:
        """Return the pages for these settings. Raises SecretUnreadable for a token that can't be used."""
        token = secret("admin.cdx_token", settings.admin.cdx_token, settings.admin.cdx_token_file)
        if token and (len(token) < _SHORTEST or not token.isascii() or not token.isprintable() or " " in token):
            raise SecretUnreadable(
                f"setting admin.cdx_token has {len(token)} characters that can't be used as they are; take at least"
                f" {_SHORTEST} letters and digits, such as `openssl rand -hex 16` prints"
            )
        return cls(Intake(settings, captures), token)

    def longest_body(self, scope: Mapping[str, Any]) -> int:
        """Return the most bytes of a request's body, given as an ASGI scope; 0 for clients without the token."""
        given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        return MAX_BODY if self._admits(given) else 0

    def add_to(self, doors: Blueprint) -> None:
        """Add the routes."""
        doors.add_url_rule("/<collection>", "take_lines", self.take, methods=["POST"])
        doors.add_url_rule("/<collection>/delete", "delete_lines", self.refuse_deletion, methods=["POST"])

    def take(self, collection: str) -> Response:
        """Add the captures that the lines of the request name. Raises CapturesError."""
        if (refusal := self._refusal(collection)) is not None:
            return refusal
        assert self._intake is not None
        if not self._turns.acquire(blocking=False):
            busy = _line(f"{_AT_ONCE} requests with lines are being taken; try again", HTTPStatus.SERVICE_UNAVAILABLE)
            busy.headers["Retry-After"] = "10"
            return busy
        try:
            # Without a buffer, a line of the stream would be read byte by byte.
            result = self._intake.take(collection, io.BufferedReader(cast(io.RawIOBase, request.stream)))
        except OSError as error:
            logger.error("posted lines of collection %s can't be kept: %s", collection, error)
            return _line("the lines can't be kept at the moment; post them again", HTTPStatus.SERVICE_UNAVAILABLE)
        finally:
            self._turns.release()
        is_error = result.refused and request.args.get("badLines") != "skip"
        status = HTTPStatus.BAD_REQUEST if is_error else HTTPStatus.OK
        return Response(str(result), status, mimetype="text/plain")

    def refuse_deletion(self, collection: str) -> Response:
        """Refuse to delete: the next reading of the files would bring the captures back."""
        if (refusal := self._refusal(collection)) is not None:
            return refusal
        why = (
            "captures can't be deleted by lines, because the index follows the WARC files; hide them with access rules,"
            " or remove the file"
        )
        answer = _line(why, HTTPStatus.METHOD_NOT_ALLOWED)
        answer.headers["Allow"] = ""
        return answer

    def _admits(self, authorization: bytes) -> bool:
        kind, _, given = authorization.partition(b" ")
        return (
            self._intake is not None and kind.lower() == b"bearer" and hmac.compare_digest(given.strip(), self._token)
        )

    def _refusal(self, collection: str) -> Response | None:
        """Return the refusal of a request that may not or can't be answered."""
        if self._intake is None:
            return _line("this server takes no CDX lines; set admin.cdx_token to allow it", HTTPStatus.FORBIDDEN)
        if not self._admits(request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")):
            answer = _line("send the token of admin.cdx_token as Authorization: Bearer", HTTPStatus.UNAUTHORIZED)
            answer.headers["WWW-Authenticate"] = 'Bearer realm="CDX lines"'
            return answer
        if not re.fullmatch(NAME_PATTERN, collection):
            return _line(f"collection {collection[:80]!r} can't be used; {NAME_RULE}", HTTPStatus.BAD_REQUEST)
        for name, value in request.args.items():
            if name != "badLines" or value not in _BAD_LINES:
                why = f"parameter {name[:40]}: can't be used; write badLines=skip or badLines=error"
                return _line(why, HTTPStatus.BAD_REQUEST)
        if coding := request.headers.get("Content-Encoding"):
            why = f"Content-Encoding {coding[:40]!r} can't be read; post plain lines"
            return _line(why, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        return None


def _line(text: str, status: HTTPStatus) -> Response:
    return Response(f"{text}\n", status, mimetype="text/plain")
