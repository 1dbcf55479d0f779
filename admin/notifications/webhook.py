"""A webhook is one POST request in the form of Standard Webhooks (github.com/standard-webhooks/standard-webhooks).

The server's name is resolved once, all its addresses are judged, and the connection goes to one of these addresses. A
name that resolves to another address a moment later therefore leads nowhere else. Redirects are not followed.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import httpx

from admin.notifications.webhook_keys import SECRET_PREFIX
from archive.local_endpoints import is_here, plain_ip
from archive.version import version
from proxy.origins.resolver import is_public

_MOST_ADDRESSES: Final = 3
_LONGEST_ANSWER: Final = 300
"""Bytes of an answer that are read: the start of an error, for people."""


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """The delivery says what became of one attempt."""

    is_done: bool
    error: str = ""
    is_final: bool = False
    """Another attempt would fail for the same reason."""
    blames_server: bool = False
    """Other messages to the same server would fail too."""
    retry_after: int | None = None
    """The pause in seconds that the server asks for."""


DONE: Final = DeliveryAttempt(True)


class TargetRefused(Exception):
    """The webhook's server has an address to which nothing may be sent."""


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the header `webhook-signature`: HMAC-SHA256 of the id, the time and the body."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = hmac.new(key, b"%s.%d." % (message_id.encode("ascii"), timestamp) + body, hashlib.sha256)
    return f"v1,{base64.b64encode(signed.digest()).decode('ascii')}"


def post(
    target: str,
    body: bytes,
    secrets: Sequence[str],
    message_id: str,
    timestamp: int,
    *,
    seconds: float,
    allow_private: bool,
) -> DeliveryAttempt:
    """Send one message. Takes at most `seconds`, however slowly the server sends its answer."""
    headers = {
        "content-type": "application/json",
        "user-agent": f"ghostfleet/{version()}",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signature(each, message_id, timestamp, body) for each in secrets),
    }
    return asyncio.run(_bounded(target, body, headers, seconds, allow_private))


async def _bounded(
    target: str, body: bytes, headers: dict[str, str], seconds: float, allow_private: bool
) -> DeliveryAttempt:
    try:
        async with asyncio.timeout(seconds):
            return await _post(httpx.URL(target), body, headers, seconds, allow_private)
    except TimeoutError:
        return DeliveryAttempt(False, f"the server did not answer within {seconds:g} s", blames_server=True)
    except TargetRefused as error:
        return DeliveryAttempt(False, str(error), is_final=True)
    except (OSError, httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, UnicodeError) as error:
        return DeliveryAttempt(False, f"{type(error).__name__}: {error}"[:_LONGEST_ANSWER], blames_server=True)


async def _post(
    url: httpx.URL, body: bytes, headers: dict[str, str], seconds: float, allow_private: bool
) -> DeliveryAttempt:
    if url.scheme != "https" and not allow_private:
        raise TargetRefused("webhooks are sent by https (setting notifications.webhook_allow_private)")
    addresses = await _addresses(url, allow_private)
    async with httpx.AsyncClient(
        verify=ssl.create_default_context(), trust_env=False, follow_redirects=False, timeout=seconds
    ) as client:
        for at, address in enumerate(addresses):
            request = client.build_request(
                "POST",
                url.copy_with(host=address),
                headers={**headers, "host": url.netloc.decode("ascii")},
                content=body,
                extensions={"sni_hostname": url.raw_host.decode("ascii")},
            )
            try:
                response = await client.send(request, stream=True)
            except httpx.ConnectError:
                if at + 1 == len(addresses):
                    raise
                continue
            try:
                return await _judged(response)
            finally:
                await response.aclose()
    raise AssertionError("a name without addresses is an OSError")


async def _judged(response: httpx.Response) -> DeliveryAttempt:
    status = response.status_code
    if 200 <= status < 300:
        return DONE
    said = b""
    async for piece in response.aiter_raw():
        said += piece
        if len(said) >= _LONGEST_ANSWER:
            break
    text = "".join(each if each.isprintable() else " " for each in said[:_LONGEST_ANSWER].decode("utf-8", "replace"))
    return DeliveryAttempt(
        False,
        f"the server answered {status}: {text}".rstrip(": "),
        is_final=status == 410,  # Standard Webhooks: the receiver wants no further messages
        blames_server=status == 429 or status >= 500,
        retry_after=_seconds(response.headers.get("retry-after", "")),
    )


async def _addresses(url: httpx.URL, allow_private: bool) -> list[str]:
    """Return addresses of the server. Raises AddressRefused when one of them is private or this machine's."""
    port = url.port or (443 if url.scheme == "https" else 80)
    host = url.raw_host.decode("ascii").strip("[]")
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    for address in () if allow_private else addresses:
        if not is_public(address) or is_here(plain_ip(address)):
            raise TargetRefused(
                f"{host[:100]} is at {address}, which is private or this machine's own (setting"
                " notifications.webhook_allow_private)"
            )
    return addresses[:_MOST_ADDRESSES]


def _seconds(text: str) -> int | None:
    """Return the seconds of a Retry-After header; None for a date or for another text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None
