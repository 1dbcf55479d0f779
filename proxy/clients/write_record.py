"""Records that clients hand in: screenshots, final DOMs, notes; by control port or by warcprox's method."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Final
from urllib.parse import quote

from archive.capture import Body, Context
from archive.dates import Micros, now_micros
from archive.warc.records.derived import ResourceKind
from proxy.delivery.capture_header import capture_meta
from proxy.delivery.delivery import Client
from proxy.fetch.contracts import NeverUpgraded
from proxy.fetch.services import Services
from proxy.fetch.target import Target
from proxy.protocol import heads
from proxy.protocol.body_reader import BodyReader
from proxy.protocol.http1 import Framing, RequestHead
from proxy.recording.keep import Kept, Lost
from proxy.recording.plan import DerivedRecord
from proxy.recording.spool import Spool
from proxy.refusal import Refused, meta_line
from proxy.sessions.policy_builder import policy_of
from proxy.sessions.request_options import Meta
from proxy.sessions.reservation import Reservation
from proxy.sessions.session import Session

_KINDS: Final[Mapping[str, ResourceKind]] = {
    "resource": "resource",
    "metadata": "metadata",
    "conversion": "conversion",
}
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")
_RECORD_ID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_LONGEST_TYPE: Final = 255
METADATA_FIELD: Final = "WARC-JSON-Metadata"
"""Webrecorder's field with facts about a record, such as the size of the window in a picture."""
_LONGEST_METADATA: Final = 2048
_SAFE: Final = "!$&'()*+,;=:@/?#%-._~[]|^`{}\"\\<>"
"""All printable ASCII that a URI's text is left in as it came."""


def derived(
    kind: str | None,
    url: str,
    content_type: str | None,
    body: Body,
    context: Context,
    concurrent_to: str | None = None,
    *,
    date: Micros | None = None,
    metadata: str | None = None,
) -> DerivedRecord:
    """Return the record asked for. Raises Refused (400) naming the first field that can't be used.

    `date` is the record's, by default the present moment. `metadata` is a JSON object for WARC-JSON-Metadata.
    Only kinds that claim nothing about an origin may be handed in: a client must not forge a response.
    """
    checked, uri, media_type = _checked(kind, url, content_type)
    if concurrent_to is not None and not _RECORD_ID.fullmatch(concurrent_to):
        raise Refused(400, f"WARC-Concurrent-To = {concurrent_to!r} must be page or the UUID of a record")
    return DerivedRecord(
        context,
        checked,
        uri,
        media_type,
        body,
        date if date is not None else now_micros(),
        concurrent_to,
        fields=((METADATA_FIELD, _checked_metadata(metadata)),) if metadata is not None else (),
    )


def _checked(kind: str | None, url: str, content_type: str | None) -> tuple[ResourceKind, str, str]:
    """Return the kind, the URI and the media type as the record has them. Raises Refused (400)."""
    checked = _KINDS.get(kind or "")
    if checked is None:
        raise Refused(400, f"WARC-Type = {kind!r} must be one of {', '.join(_KINDS)}")
    uri, media_type = _written_uri(url), _as_written(content_type or "")
    if not 0 < len(media_type) <= _LONGEST_TYPE or not media_type.isprintable():
        raise Refused(
            400,
            f"Content-Type = {media_type[:_LONGEST_TYPE]!a} must name the block's media type"
            f" in 1 to {_LONGEST_TYPE} printable characters",
        )
    return checked, uri, media_type


def _checked_metadata(text: str) -> str:
    """Return the JSON object in compact form and ASCII. Raises Refused (400)."""
    try:
        value = json.loads(text) if len(text) <= _LONGEST_METADATA else None
        compact = json.dumps(value, separators=(",", ":"), allow_nan=False) if isinstance(value, dict) else ""
    except (ValueError, RecursionError):
        compact = ""
    if not 0 < len(compact) <= _LONGEST_METADATA:
        raise Refused(
            400, f"{METADATA_FIELD} = {text[:100]!a} must be a JSON object of at most {_LONGEST_METADATA} characters"
        )
    return compact


def _written_uri(given: str) -> str:
    """Return the URI as a record names it: ASCII, the rest percent-encoded as UTF-8. Raises Refused (400).

    `given` is read from a header, each byte a character. Line separators and control characters of any kind are
    refused: percent-encoded, they would make another URI than the client means.
    """
    text = _as_written(given)
    if not _URI.fullmatch(text) or not text.isprintable():
        raise Refused(
            400,
            f"WARC-Target-URI = {text[:200]!a} must be a URI, such as urn:view:1, without spaces and control"
            " characters; percent-encode them",
        )
    return text if text.isascii() else quote(text, safe=_SAFE)


def _as_written(header: str) -> str:
    """Return the text of a header, whose bytes are read as Latin-1 at first; clients write UTF-8."""
    try:
        return header.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return header


class WriteRecord(NeverUpgraded):
    """The request is warcprox's `WARCPROX_WRITE_RECORD <url>` or `PUTMETA <url>`. It gets 204 once the record is
    durable. The subject of the record may be anything with a URI, such as `urn:view:…`.
    """

    def __init__(
        self,
        head: RequestHead,
        framing: Framing,
        length: int,
        target: Target | None,
        session: Session,
        meta: Meta,
        client: Client,
        services: Services,
    ) -> None:
        """`target` is None for a URI that no proxy fetches. Raises Refused (400)."""
        if framing is not Framing.LENGTH:
            raise Refused(400, f"{head.method} needs a Content-Length")
        self.id = uuid.uuid4().hex
        self._head = head
        # A target in percent-encoding no longer shows the control characters that its client wrote.
        url = target.url if target and head.target.isascii() else _written_uri(head.target)
        self._url = url
        self._kind = "metadata" if head.method == "PUTMETA" else self._text(b"warc-type")
        _checked(self._kind, url, self._text(b"content-type"))
        self._policy = policy_of(session, meta, url, None)
        self._reservation: Reservation | None = None
        self._session = session
        self._client: Client | None = client
        self._services = services
        self._spool = Spool(services.settings.spool_bytes, services.spool_folder)
        self._reader = BodyReader(framing, length, lambda piece: self._spool.add(bytes(piece)), strict=True)
        session.began()

    @property
    def request_is_whole(self) -> bool:
        return self._reader.done

    @property
    def wants_no_more(self) -> bool:
        return False

    def request_data(self, data: bytes) -> int:
        """Take the next bytes of the block, and return how many; the last ones hand the record to the writer.

        Raises OSError for a full disk. Even the last bytes do not make the block whole then.
        """
        taken = self._reader.feed(data)
        if self._reader.done and self._policy.refusal is not None:
            self._turn_away(self._policy.refusal)
        elif self._reader.done and self._policy.limits:
            self._services.run(self._reserve())
        elif self._reader.done:
            self._submit()
        return taken

    def client_writable(self) -> None:
        """Do nothing; the answer is small."""

    def client_left(self) -> None:
        """Keep a whole record all the same; drop half a record."""
        self._client = None
        if not self._reader.done:
            self._over()

    def _submit(self) -> None:
        try:
            body = self._spool.message().body
        except OSError as error:
            self._turn_away(Refused(503, f"the request can't be kept: {error}", "spool"))
            return
        item = derived(self._kind, self._url, self._text(b"content-type"), body, self._policy.context)
        self._date = item.date
        self._services.recorder.submit(replace(item, method=self._head.method), self._answered)

    async def _reserve(self) -> None:
        """Reserve the limits, which count records as they count responses."""
        self._reservation = Reservation(self._services.admission, self._policy)
        refused = await self._reservation.reserve()
        if refused is None:
            self._submit()
        else:
            self._turn_away(refused)

    def _turn_away(self, refused: Refused) -> None:
        if self._client is not None:
            self._client.send(heads.refusal(refused.status, refused.word, str(refused), refused.extra))
            self._client.finish(keep_alive=False)
        self._over()

    def _answered(self, outcome: Kept | Lost) -> None:
        client = self._client
        if client is not None and isinstance(outcome, Kept):
            told = meta_line(capture_meta(self._date, outcome)) if self._policy.options.accept else ""
            answer, stays = f"HTTP/1.1 204 No Content\r\n{told}\r\n".encode(), not self._services.gate.is_draining
            client.send(heads.with_connection(answer, self._head, stays=stays))
            client.finish(keep_alive=self._head.keep_alive and stays)
        elif client is not None and isinstance(outcome, Lost):
            client.send(heads.refusal(503, "not-kept", f"the record was not kept: {outcome.reason}"))
            client.finish(keep_alive=False)
        self._over()

    def _over(self) -> None:
        self._spool.close()
        if self._reservation is not None:
            self._reservation.release()
        self._session.ended()

    def _text(self, name: bytes) -> str | None:
        value = self._head.get(name)
        return value.decode("latin-1") if value is not None else None
