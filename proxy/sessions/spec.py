"""What is asked for when a session is made or changed on the control port. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from archive.sections import LONGEST_DELAY_SECONDS, MODES
from proxy.egress import parse
from proxy.redaction import NOTHING_REDACTED, Redaction
from proxy.refusal import Refused, check_digits, check_list, check_name, check_seconds, check_text
from proxy.wishes import NOTHING, Wishes, parse_wishes

_WISHES: Final = {
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
"""Our names of what a session may wish for, and warcprox's."""
_REDACTED: Final = ("redact_headers", "redact_fields")
_FIXED: Final = ("collection", "mode", "listen", "scripts")
"""What a session keeps from its making to its end."""
_OWN: Final = ("wishes", "redaction", "scripts", "host_delay")


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """Whose traffic it is, and how it is to be treated."""

    collection: str
    job: str | None = None
    page_id: str | None = None
    page_url: str | None = None
    mode: str = "record"
    hop_path: str = ""
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
    """A note of what the session's client calls itself; told with the session's counts, never sent or recorded: each
    recorded request has what was really sent."""
    wishes: Wishes = NOTHING
    redaction: Redaction = NOTHING_REDACTED
    scripts: tuple[str, ...] = ()
    """mitmproxy scripts in its path, by their names in the operator's folder."""

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> SessionSpec:
        """The spec in a control request. Raises Refused naming the first field that can't be used."""
        texts = [field.name for field in fields(cls) if field.name not in _OWN]
        check_name("field 'collection'", body.get("collection"))
        for name, value in body.items():
            if name == "listen":
                if not isinstance(value, bool):
                    raise Refused(400, f"field 'listen' = {value!r} must be true or false")
            elif name == "host_delay":
                check_seconds("field 'host_delay'", value, longest=LONGEST_DELAY_SECONDS)
            elif name in texts:
                if value is not None:
                    check_text(f"field {name!r}", value)
            elif name not in _WISHES and name not in _REDACTED and name != "scripts":
                known = ", ".join((*texts, "host_delay", "listen", "scripts", *_WISHES, *_REDACTED))
                raise Refused(400, f"unknown field {name!r}; known are {known}")
        spec = cls(
            **{name: value for name, value in body.items() if name in texts and value is not None},
            wishes=parse_wishes({theirs: body[ours] for ours, theirs in _WISHES.items() if body.get(ours) is not None}),
            redaction=_redaction(body),
            scripts=tuple(check_list("field 'scripts'", body.get("scripts"))),
            host_delay=body.get("host_delay"),
        )
        for script in spec.scripts:
            check_text("a name in field 'scripts'", script)
        if spec.mode not in MODES:
            raise Refused(400, f"field 'mode' = {spec.mode!r} must be one of {', '.join(MODES)}")
        if spec.datetime is not None:
            check_digits("field 'datetime'", spec.datetime)
        if spec.egress is not None:
            try:
                parse(spec.egress)
            except ValueError as error:
                raise Refused(400, f"field 'egress' = {error}") from error
        return spec


def changed(given: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """What was given when the session was made, with changes; null takes a field back. Raises Refused (400)."""
    for name in _FIXED:
        if name in changes and changes[name] != given.get(name):
            raise Refused(400, f"field {name!r} can't be changed; make another session")
    return {name: value for name, value in {**given, **changes}.items() if value is not None}


def _redaction(body: Mapping[str, Any]) -> Redaction:
    names: list[frozenset[str]] = []
    for key in _REDACTED:
        listed = check_list(f"field {key!r}", body.get(key))
        for name in listed:
            check_text(f"a name in field {key!r}", name)
        names.append(frozenset(name.lower() if key == "redact_headers" else name for name in listed))
    headers, form_fields = names
    return Redaction(headers, form_fields) if headers or form_fields else NOTHING_REDACTED
