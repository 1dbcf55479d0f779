"""This module translates mitmproxy's messages to HTTP/1.1, for the origin and for the client."""

from __future__ import annotations

import re
import time
from typing import Final

from archive.http.http_message import media_type
from proxy.delivery.delivery import Client
from proxy.fetch.contracts import ClientExchange
from proxy.fetch.target import Target
from proxy.protocol import heads
from proxy.protocol.answer import HOP_BY_HOP, AnswerReader
from proxy.protocol.http1 import (
    TOKEN,
    BadMessage,
    Framing,
    RequestHead,
    ResponseHead,
    hides_body,
    parse_request,
    request_framing,
)
from proxy.protocol.mitmproxy_adapter import HttpEvent, http, http_events
from proxy.refusal import Refused

_LINE: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+: ?[^\x00\r\n]*")


class OriginSide:
    """The request that goes on, and how its answer is read."""

    exchange: ClientExchange

    def __init__(self, head: RequestHead) -> None:
        self.answer = AnswerReader(head.method)
        self._framing, self._left = request_framing(head)
        self._trailers: list[bytes] = []

    def send(self, event: HttpEvent) -> None:
        """Send the next part of the request's body. Raises BadMessage when it is longer, or shorter, than it said."""
        if isinstance(event, http_events.RequestData):
            self._left -= len(event.data)
            if self._framing is Framing.CHUNKED:
                self.exchange.request_data(heads.chunk(event.data))
            elif self._left < 0:
                raise BadMessage("a script made the request longer than its Content-Length")
            else:
                self.exchange.request_data(event.data)
        elif isinstance(event, http_events.RequestTrailers):
            fields = (name + b": " + value for name, value in event.trailers.fields)
            self._trailers = [line for line in fields if _LINE.fullmatch(line)]
        elif isinstance(event, http_events.RequestEndOfMessage):
            if self._framing is Framing.CHUNKED:
                self.exchange.request_data(heads.last_chunk(self._trailers))
            elif self._left > 0:
                raise BadMessage("a script made the request shorter than its Content-Length")


class ClientSide:
    """Writes the response that scripts made as HTTP/1.1."""

    def __init__(self, client: Client, asked: RequestHead) -> None:
        self.client = client
        self._asked = asked
        self._framing = Framing.NONE
        self._left = 0
        self._may_stay = False
        self._has_begun = False

    def begin(self, response: http.Response, *, keep_alive: bool) -> bool:
        """Send the head. Return False when a script made a head that can't be sent."""
        reason = response.data.reason
        lines = [b"HTTP/1.1 %d %s" % (response.status_code, reason)]
        is_old, has_body = self._asked.minor == 0, _has_body(self._asked.method, response.status_code)
        length = _declared_length(response)
        for name, value in response.headers.fields:
            if name.lower() in HOP_BY_HOP or (has_body and name.lower() == b"content-length"):
                continue
            lines.append(name + b": " + value)
        if has_body and length is not None:
            self._framing, self._left = Framing.LENGTH, length
            lines.append(b"Content-Length: %d" % length)
        elif has_body:
            self._framing = Framing.CLOSE if is_old else Framing.CHUNKED
            lines += [] if is_old else [b"Transfer-Encoding: chunked"]
        is_misread = hides_body(response.status_code, self._framing, self._left)
        self._may_stay = self._framing is not Framing.CLOSE and not is_misread
        if not (keep_alive and self._may_stay):
            lines.append(b"Connection: close")
        elif is_old:
            lines.append(b"Connection: keep-alive")
        if b"\r" in reason or b"\n" in reason or not all(_LINE.fullmatch(line) for line in lines[1:]):
            return False
        self._has_begun = True
        self.client.send(b"\r\n".join((*lines, b"", b"")))
        return True

    def send(self, event: HttpEvent) -> None:
        """Send the next piece of the body, or its trailers."""
        if isinstance(event, http_events.ResponseData):
            if self._framing is Framing.CHUNKED:
                self.client.send(heads.chunk(event.data))
            elif self._framing is not Framing.NONE:
                self._left -= len(event.data)
                self.client.send(event.data)
        elif isinstance(event, http_events.ResponseTrailers) and self._framing is Framing.CHUNKED:
            fields = (name + b": " + value for name, value in event.trailers.fields)
            lines = [line for line in fields if _LINE.fullmatch(line)]
            self.client.send(heads.last_chunk(lines))
            self._framing = Framing.NONE

    def end(self, *, keep_alive: bool) -> None:
        """End the response, unless it has another length than it announced."""
        if self._framing is Framing.LENGTH and self._left:
            self.client.abort()
            return
        if self._framing is Framing.CHUNKED:
            self.client.send(heads.LAST_CHUNK)
        self.client.finish(keep_alive=keep_alive and self._may_stay)

    def refuse(self, refused: Refused) -> None:
        """Send an error of the proxy, or break the connection when a response has begun."""
        if self._has_begun:
            self.client.abort()
        else:
            self.client.send(heads.refusal(refused.status, refused.word, str(refused), refused.extra))
            self.client.finish(keep_alive=False)


def request_flow(head: RequestHead, target: Target) -> http.Request:
    """Return the client's request as scripts see it, without the headers for the proxy itself."""
    fields = tuple(
        (line.partition(b":")[0], value) for name, value, line in head.fields if name not in heads.NEVER_FORWARDED
    )
    return http.Request(
        host=target.destination.name,
        port=target.destination.port,
        method=head.method.encode(),
        scheme=b"https" if target.destination.tls else b"http",
        authority=b"",
        path=target.path.encode("latin-1"),
        http_version=b"HTTP/1.1",
        headers=fields,
        content=None,
        trailers=None,
        timestamp_start=time.time(),
        timestamp_end=None,
    )


def response_flow(head: ResponseHead) -> http.Response:
    """Return the response as scripts see it, its body still to come.

    An origin's lines whose name is no token can't be sent on. Only the record has them.
    """
    fields = tuple(
        (line.partition(b":")[0].strip(), value)
        for name, value, line in head.fields
        if TOKEN.fullmatch(name) and name not in HOP_BY_HOP
    )
    now = time.time()
    return http.Response(b"HTTP/1.1", head.status, head.reason, fields, None, None, now, None)


def sent_head(request: http.Request, *, has_body: bool) -> RequestHead:
    """Return the request as scripts left it, in absolute form and with the right length. Raises BadMessage."""
    if request.method == "CONNECT":
        raise BadMessage("a script made a CONNECT request, which only clients may send")
    host = f"[{request.host}]" if ":" in request.host else request.host
    name = host.encode("ascii" if host.isascii() else "idna")
    target = b"%s://%s:%d%s" % (request.data.scheme, name, request.port, request.data.path)
    content = None if request.stream else (request.raw_content or b"")
    is_chunked, has_length = ("transfer-encoding" in request.headers), ("content-length" in request.headers)
    lines = [b"%s %s HTTP/1.1" % (request.data.method, target)]
    for name, value in request.headers.fields:
        lower = name.lower()
        if lower == b"content-length" and (content is not None or is_chunked):
            continue
        if lower == b"transfer-encoding" and not has_body:
            continue
        lines.append(name + b": " + value)
        if b"\n" in lines[-1]:
            raise BadMessage(f"a script put a line break into the header {name[:100]!r}")
    if content is not None and not is_chunked and (content or has_length):
        lines.append(b"Content-Length: %d" % len(content))
    elif content is None and not is_chunked and not has_length:
        lines.append(b"Transfer-Encoding: chunked")
    return parse_request(b"\r\n".join((*lines, b"", b"")))


def _declared_length(response: http.Response) -> int | None:
    """Return the body's length; None when a script may change a body that has not come yet."""
    if not response.stream:
        return len(response.raw_content or b"")
    length = response.headers.get("content-length", "")
    return int(length) if response.stream is True and length.isascii() and length.isdigit() else None


def _has_body(method: str, status: int) -> bool:
    return method != "HEAD" and status not in (204, 304)


def is_endless(response: http.Response) -> bool:
    """Return whether the response is a stream of server-sent events, which has no end to wait for."""
    return media_type(response.headers.get("content-type", "")) == "text/event-stream"
