"""Records that clients hand in: screenshots, final DOMs, notes; by control port or by warcprox's method."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from typing import Final

from archive.capture import Body, Context
from archive.dates import now_micros
from archive.derived import ResourceKind
from proxy import heads
from proxy.bodyreader import BodyReader
from proxy.delivery import Client
from proxy.gate import Session
from proxy.http1 import Framing, RequestHead
from proxy.keep import Kept, Lost
from proxy.leave import Leave
from proxy.plan import Derived
from proxy.policy import Policy
from proxy.refusal import Refused, meta_line
from proxy.services import Services
from proxy.spool import Spool
from proxy.telling import capture_meta

_KINDS: Final[Mapping[str, ResourceKind]] = {
    "resource": "resource",
    "metadata": "metadata",
    "conversion": "conversion",
}
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20\x7f]+")
_RECORD_ID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_MEDIA_TYPE: Final = re.compile(r"[^\x00-\x1f\x7f]{1,255}")


def derived(
    kind: str | None, url: str, content_type: str | None, body: Body, context: Context, concurrent_to: str | None = None
) -> Derived:
    """The record asked for. Raises Refused (400) naming the first field that can't be used.

    Only kinds that claim nothing about an origin may be handed in: a client must not forge a response.
    """
    checked = _KINDS.get(kind or "")
    if checked is None:
        raise Refused(400, f"WARC-Type = {kind!r} must be one of {', '.join(_KINDS)}")
    if not _URI.fullmatch(url):
        raise Refused(400, f"WARC-Target-URI = {url[:200]!r} is no URI")
    if not content_type or not _MEDIA_TYPE.fullmatch(content_type):
        raise Refused(400, f"Content-Type = {content_type!r} must name the block's media type")
    if concurrent_to is not None and not _RECORD_ID.fullmatch(concurrent_to):
        raise Refused(400, f"WARC-Concurrent-To = {concurrent_to!r} must be page or the UUID of a record")
    return Derived(context, checked, url, content_type, body, now_micros(), concurrent_to)


class WriteRecord:
    """warcprox's `WARCPROX_WRITE_RECORD <url>` and `PUTMETA <url>`: answered 204 once the record is durable."""

    def __init__(
        self,
        head: RequestHead,
        framing: Framing,
        length: int,
        url: str,
        policy: Policy,
        session: Session,
        client: Client,
        services: Services,
    ) -> None:
        if framing is not Framing.LENGTH:
            raise Refused(400, f"{head.method} needs a Content-Length")
        self.id = uuid.uuid4().hex
        self._head = head
        self._url = url
        self._policy = policy
        self._leave: Leave | None = None
        self._session = session
        self._client: Client | None = client
        self._services = services
        self._spool = Spool(services.settings.spool_bytes, services.spool_folder)
        self._reader = BodyReader(framing, length, lambda _: None, strict=True)
        self._kind = "metadata" if head.method == "PUTMETA" else self._text(b"warc-type")
        derived(self._kind, url, self._text(b"content-type"), Body(), policy.context)
        session.began()

    @property
    def request_is_whole(self) -> bool:
        return self._reader.done

    @property
    def ends_with_client(self) -> bool:
        return False

    @property
    def wants_no_more(self) -> bool:
        return False

    def request_data(self, data: bytes) -> int:
        """The next bytes of the block; the last ones hand the record to the writer."""
        taken = self._reader.feed(data)
        self._spool.add(data[:taken])
        if self._reader.done and self._policy.refusal is not None:
            self._turn_away(self._policy.refusal)
        elif self._reader.done and self._policy.limits:
            self._services.run(self._ask_leave())
        elif self._reader.done:
            self._submit()
        return taken

    def client_data(self, data: bytes) -> None:
        """Never called: this request switches no protocol."""

    def client_writable(self) -> None:
        """The answer is small; nothing waits for room."""

    def client_left(self) -> None:
        """A whole record is kept all the same; half a record is none."""
        self._client = None
        if not self._reader.done:
            self._over()

    def _submit(self) -> None:
        body = self._spool.message().body
        item = derived(self._kind, self._url, self._text(b"content-type"), body, self._policy.context)
        self._date = item.date
        self._services.recorder.submit(item, self._answered)

    async def _ask_leave(self) -> None:
        """Limits count records as they count responses."""
        self._leave = Leave(self._services.admission, self._policy)
        refused = await self._leave.ask()
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
            told = meta_line(capture_meta(self._date, outcome)) if self._policy.wishes.accept else ""
            answer, stays = f"HTTP/1.1 204 No Content\r\n{told}\r\n".encode(), not self._services.gate.is_draining
            client.send(answer if stays else heads.closing(answer))
            client.finish(keep_alive=self._head.keep_alive and stays)
        elif client is not None and isinstance(outcome, Lost):
            client.send(heads.refusal(503, "not-kept", f"the record was not kept: {outcome.reason}"))
            client.finish(keep_alive=False)
        self._over()

    def _over(self) -> None:
        self._spool.close()
        if self._leave is not None:
            self._leave.give_back()
        self._session.ended()

    def _text(self, name: bytes) -> str | None:
        value = self._head.get(name)
        return value.decode("latin-1") if value is not None else None
