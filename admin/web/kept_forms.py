"""The site keeps a form that was sent after the end of its session, while the person logs in again.

The login then leads back to the page of the form, which shows the typed values. Nothing is saved until the person sends
the form again. The values stay in the memory of this process for an hour, and only the same user gets them back, in the
same browser. Passwords, other secrets and files are not kept.

The form must have a token that this site gave to the browser in a session that has ended: the signed cookie of forms
has that token and the session's user. Nobody else can put anything here.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from flask import current_app, flash, g, request, session
from itsdangerous import BadData, URLSafeTimedSerializer
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from admin.web.security import safe_target, sent_address

MOST_BYTES: Final = 65_536
"""Of one form, names and values together."""
MOST_FORMS: Final = 100
"""Forms that are kept at once; the oldest one goes first."""
MOST_FIELDS: Final = 2_000
KEPT_SECONDS: Final = 3600.0
SECRET_WORDS: Final = ("password", "present", "repeated", "secret", "token")
"""Fields are not kept whose names have one of these words."""
_EXTENSION: Final = "ghostfleet-kept-forms"
_CSRF: Final = "csrf_token"
_PERSON: Final = "person"
"""The key under which the cookie of forms has the user of the session that its forms belong to."""
_FORMER: Final = "former"
"""The key under which that cookie has the token and the user of the last session that has ended."""
_KEPT: Final = "kept"
"""The key under which that cookie names the form that is kept."""


@dataclass(frozen=True, slots=True)
class KeptForm:
    """A kept form is what a person sent when the session had ended."""

    user_id: int
    page: str
    """The path of the page that has the form."""
    fields: MultiDict[str, str]
    is_whole: bool
    """All but secrets is kept: no file was chosen, and the form was not too long."""
    until: float


class KeptForms:
    """Kept forms of a site have random names."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._forms: dict[str, KeptForm] = {}
        self._lock = threading.Lock()

    def keep(self, user_id: int, page: str, fields: MultiDict[str, str], *, is_whole: bool) -> str:
        """Keep a form, without its secrets, and return its name. Nothing is kept of a form that is too long."""
        kept = MultiDict(
            (name, value) for name, value in fields.items(multi=True) if not any(word in name for word in SECRET_WORDS)
        )
        if sum(len(name) + len(value) for name, value in kept.items(multi=True)) > MOST_BYTES:
            kept, is_whole = MultiDict(), False
        name, now = secrets.token_urlsafe(16), self._clock()
        with self._lock:
            self._forms = {key: form for key, form in self._forms.items() if form.until > now}
            if len(self._forms) >= MOST_FORMS:
                del self._forms[next(iter(self._forms))]
            self._forms[name] = KeptForm(user_id, page, kept, is_whole, now + KEPT_SECONDS)
        return name

    def take(self, name: str, user_id: int, page: str) -> KeptForm | None:
        """Return the form of that name for its user on its page, once; None in all other cases."""
        with self._lock:
            found = self._forms.get(name)
            if found is None or found.page != page:
                return None
            del self._forms[name]
        return found if found.user_id == user_id and found.until > self._clock() else None


def note_session(user_id: int | None, *, is_new: bool) -> None:
    """Note in the cookie of forms whose forms are sent from now on; `is_new` when the session is another than before.

    The token of a former session is remembered, since a page that was loaded then may still be open.
    """
    if is_new:
        person = session.get(_PERSON)
        former = [session.get(_CSRF), person] if person is not None else session.get(_FORMER)
        kept = session.get(_KEPT)
        session.clear()
        session.update({name: value for name, value in ((_FORMER, former), (_KEPT, kept)) if value is not None})
    if user_id is not None and session.get(_PERSON) != user_id:
        session[_PERSON] = user_id


def keep_sent_form(user_id: int | None = None) -> str:
    """Keep the form of the present request. Return the path of the page that has the form, or of another to go to.

    The path is empty when the form was not given to this browser in a session of the user; `user_id` None stands for
    the user of the former session.
    """
    former = session.get(_FORMER)
    if not former or (user_id is not None and former[1] != user_id):
        return ""
    request.max_form_parts = MOST_FIELDS  # the form of a person that this site knows, within the bytes of a stranger
    fields: MultiDict[str, str] = MultiDict()
    try:
        fields.update(request.form)
        is_whole = not any(file.filename for file in request.files.values())
    except RequestEntityTooLarge:
        is_whole = False
    else:
        if _token_of(fields.get(_CSRF, "")) != former[0]:
            return ""
    page = _page_of_form()
    if page != "/":
        session[_KEPT] = _forms().keep(former[1], _path_of(page), fields, is_whole=is_whole)
    return page


def kept_fields(names: frozenset[str]) -> MultiDict[str, str] | None:
    """Return what the visitor typed into the form of the present page before the session ended; None for nothing.

    `names` are some of the form's fields: a page may have several forms. The page tells the visitor about it.
    """
    visitor = g.get("visitor")
    if request.method != "GET" or visitor is None or _KEPT not in session:
        return None
    if "kept_form" not in g:
        g.kept_form = _forms().take(session[_KEPT], visitor.actor.user_id, request.path)
        if g.kept_form is None:
            return None
        del session[_KEPT]
        flash(_notice(g.kept_form), "note")
    found: KeptForm | None = g.kept_form
    return found.fields if found is not None and names & found.fields.keys() else None


def _notice(form: KeptForm) -> str:
    text = "Your session had ended before the form was sent, so nothing was saved."
    if not form.fields:
        return f"{text} The form was too long to be kept; fill it again."
    rest = "" if form.is_whole else " Files are not kept; choose them again."
    return f"{text} It shows again what you typed, but for passwords; send it when it is right.{rest}"


def _page_of_form() -> str:
    """Return the target of the page that has the form: the one that the browser names, else the form's own address."""
    referer = urlsplit(request.headers.get("Referer", ""))
    named = referer._replace(scheme="", netloc="").geturl() if referer.netloc == request.host else ""
    for target in (named, sent_address()):
        if safe_target(target, "") and _can_be_shown(_path_of(target)):
            return target
    return "/"


def _path_of(target: str) -> str:
    """Return the path of a target as the request for it has the path: decoded, and without the site's root."""
    return unquote(urlsplit(target).path).removeprefix(request.script_root)


def _can_be_shown(path: str) -> bool:
    try:
        current_app.url_map.bind("").match(path, "GET")
    except HTTPException:
        return False
    return True


def _token_of(signed: str) -> str | None:
    """Return the token within the field of a form, as Flask-WTF signs it; None for a field that nobody signed here."""
    serializer = URLSafeTimedSerializer(current_app.config["SECRET_KEY"], salt="wtf-csrf-token")
    try:
        return str(serializer.loads(signed))
    except BadData:
        return None


def _forms() -> KeptForms:
    found = current_app.extensions.setdefault(_EXTENSION, KeptForms())
    assert isinstance(found, KeptForms)
    return found
