"""Format log lines as text or as JSON, with secrets replaced by asterisks.

A record may have fields of its own (`extra={"exchange": ID}`). JSON lines have all of them, text lines only the id of
the exchange. All lines about one exchange have the same id; WARC files do not have it.
"""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime
from typing import Any, Final

_TEXT: Final = "%(asctime)s %(levelname)s %(name)s %(message)s"
_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
_SECRETS: Final = (
    (re.compile(r"://[^/?#\s@]*@"), "://***@"),
    (re.compile(r"\b(authorization\W{1,4}\w+|bearer)\s+[\w+/=.~-]{6,}", re.IGNORECASE), r"\1 ***"),
    (
        re.compile(
            r"([?&;](?=[\w.-]*?(?:token|passw|secret|api_?key|signature|session))[\w.-]*+=)[^&;#\s]+", re.IGNORECASE
        ),
        r"\1***",
    ),
)
"""Credentials in URLs (RFC 3986 section 3.2.1) and in headers, and parameters with a name such as `token`.

Each pattern passes over a text once: a crawled site chooses URLs of megabytes, which the proxy logs.
"""


def redacted(text: str) -> str:
    """Return the text with three asterisks in place of each secret that `_SECRETS` recognises."""
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return text


class TextFormatter(logging.Formatter):
    """Format a record as one line, followed by its traceback."""

    def __init__(self) -> None:
        super().__init__(_TEXT)

    def format(self, record: logging.LogRecord) -> str:
        """See logging.Formatter."""
        text = redacted(super().format(record))
        exchange = getattr(record, "exchange", None)
        return text if exchange is None else f"{text} exchange={exchange}"


class JsonFormatter(logging.Formatter):
    """Format a record as one line of JSON: time (UTC), level, logger, message, pid, and the record's own fields."""

    def format(self, record: logging.LogRecord) -> str:
        """See logging.Formatter."""
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": redacted(record.getMessage()),
            "pid": record.process,
        }
        fields |= {name: _clean(value) for name, value in vars(record).items() if name not in _STANDARD}
        if record.exc_info:
            fields["traceback"] = redacted(self.formatException(record.exc_info))
        return json.dumps(fields, ensure_ascii=False, default=lambda value: redacted(str(value)))


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _clean(part) for name, part in value.items()}
    return redacted(value) if isinstance(value, str) else value
