"""A request on the control port specifies a new session, or a change of one. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from archive.settings import LONGEST_DELAY_SECONDS, MODES
from proxy.origins.egress import parse
from proxy.refusal import (
    Refused,
    check_digits,
    check_folder,
    check_length,
    check_list,
    check_name,
    check_seconds,
    check_text,
)
from proxy.sessions.request_options import NOTHING, RequestOptions, parse_options
from proxy.sessions.secrets.redaction import NOTHING_REDACTED, Redaction

_OPTIONS: Final = {
    "prefix": "warc-prefix",
    "dedup_ok": "dedup-ok",
    "dedup_buckets": "dedup-buckets",
    "conditional": "conditional",
    "blocks": "blocks",
    "mime_type_filters": "mime-type-filters",
    "stats": "stats",
    "limits": "limits",
    "soft_limits": "soft-limits",
}
"""Our names of a session's options, and warcprox's names."""
_REDACTED: Final = ("redact_headers", "redact_fields", "redact_response_headers")
_FIXED: Final = ("collection", "mode", "listen", "port_of", "scripts")
"""Fields that can't be changed after a session was made."""
_FLAGS: Final = ("listen", "unconditional", "notes_navigation")
_LONGEST_TEXT: Final = 65_536
"""Characters of a text field: URLs with data in them can be long."""
_OWN: Final = ("options", "redaction", "scripts", "host_delay", "log_ending", "unconditional", "notes_navigation")
_PAUSING: Final = frozenset(("record", "live"))
"""Modes between which a session may change: a person pauses the recording, and goes on."""


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """The specification says whose traffic a session is, and how it is to be treated."""

    collection: str
    job: str | None = None
    page_id: str | None = None
    page_url: str | None = None
    mode: str = "record"
    hop_path: str = ""
    attempt: str = ""
    """The number of the try of the page, when it is not the first one."""
    via: str | None = None
    source: str | None = None
    log_dir: str | None = None
    datetime: str | None = None
    """Replay and patch: the 14-digit date to answer from; None is the newest."""
    egress: str | None = None
    """The proxy to go out by, as `proxy.egress.parse` reads it; None is what the setting proxy.egress says."""
    host_delay: float | None = None
    """Seconds between two requests to one host; None is what the setting proxy.host_delay says, 0 is none."""
    user_agent: str | None = None
    """A note that names the session's client. Reports on the session have it; it is never sent or recorded."""
    options: RequestOptions = NOTHING
    redaction: Redaction = NOTHING_REDACTED
    scripts: tuple[str, ...] = ()
    """mitmproxy scripts in its path, by their names in the operator's folder."""
    unconditional: bool = False
    """The client's conditions are left out of its requests, so that each answer is whole."""
    notes_navigation: bool = False
    """A line of crawl.log says of each request by which a browser opens a page that it is one."""
    log_ending: str = ""
    """How the names of warcprox's logs end, one for each prefix; empty for a session's `crawl.log`."""

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> SessionSpec:
        """Return the spec in a control request. Raises Refused naming the first field that can't be used."""
        texts = [field.name for field in fields(cls) if field.name not in _OWN]
        check_name("field 'collection'", body.get("collection"))
        for name, value in body.items():
            if name in _FLAGS:
                if not isinstance(value, bool):
                    raise Refused(400, f"field {name!r} = {value!r} must be true or false")
            elif name == "host_delay":
                check_seconds("field 'host_delay'", value, longest=LONGEST_DELAY_SECONDS)
            elif name in texts:
                if value is not None:
                    check_text(f"field {name!r}", value)
                    check_length(f"field {name!r}", value, _LONGEST_TEXT)
            elif name not in _OPTIONS and name not in _REDACTED and name != "scripts":
                known = ", ".join(
                    (*texts, "host_delay", "listen", "port_of", *_FLAGS[1:], "scripts", *_OPTIONS, *_REDACTED)
                )
                raise Refused(400, f"field {name!r} is unknown; known are {known}")
        spec = cls(
            **{name: value for name, value in body.items() if name in texts and value is not None},
            options=parse_options(
                {theirs: body[ours] for ours, theirs in _OPTIONS.items() if body.get(ours) is not None}
            ),
            redaction=_redaction(body),
            scripts=tuple(check_list("field 'scripts'", body.get("scripts"))),
            host_delay=body.get("host_delay"),
            unconditional=body.get("unconditional", False),
            notes_navigation=body.get("notes_navigation", False),
        )
        for script in spec.scripts:
            check_text("a name in field 'scripts'", script)
        if spec.mode not in MODES:
            raise Refused(400, f"field 'mode' = {spec.mode!r} must be one of {', '.join(MODES)}")
        if spec.job is not None:
            check_name("field 'job'", spec.job)
        if spec.log_dir is not None:
            check_folder("field 'log_dir'", spec.log_dir)
        if spec.datetime is not None:
            check_digits("field 'datetime'", spec.datetime)
        if spec.egress is not None:
            try:
                parse(spec.egress)
            except ValueError as error:
                raise Refused(400, f"field 'egress' = {error}") from error
        return spec


def changed(given: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request that made the session, with changes; null removes a field. Raises Refused (400)."""
    for name in _FIXED:
        if name == "mode" and {changes.get(name), given.get(name, "record")} <= _PAUSING:
            continue
        if name in changes and changes[name] != given.get(name):
            raise Refused(400, f"field {name!r} can't be changed; make another session")
    return {name: value for name, value in {**given, **changes}.items() if value is not None}


def _redaction(body: Mapping[str, Any]) -> Redaction:
    names: list[frozenset[str]] = []
    for key in _REDACTED:
        listed = check_list(f"field {key!r}", body.get(key))
        for name in listed:
            check_text(f"a name in field {key!r}", name)
        names.append(frozenset(name if key == "redact_fields" else name.lower() for name in listed))
    return Redaction(*names) if any(names) else NOTHING_REDACTED
