"""The viewer plays archived pages here, with the player's own files, and says what the player is.

The player's page and its worker are of the same origin as the archived pages, which the player runs in a frame. Their
content security policies keep every request at this origin.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final
from urllib.parse import quote

from flask import Blueprint, abort, request, send_file
from werkzeug.wrappers import Response

from admin.models.errors import InvalidInput, Problem
from admin.viewing.page import LONGEST_URL, check_collection, page, viewing
from admin.viewing.player import LICENSE_FILE, UI_FILE, WORKER_FILE, Player, PlayerRefused, find_player
from archive.dates import now_micros, timestamp14

BLUEPRINT: Final = Blueprint("play", __name__)
_FILES: Final = (UI_FILE, WORKER_FILE, LICENSE_FILE, "README.md", "package.json")
_URL_CHARACTERS: Final = "!#$%&'()*+,/:;=?@[]~"
PLAYER_POLICY: Final = (
    "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'; script-src 'self';"
    " style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' data:;"
    " frame-src 'self'; worker-src 'self'"
)
WORKER_POLICY: Final = "default-src 'none'; script-src 'self' 'unsafe-eval'; connect-src 'self'"
"""The policy of the player's worker: whatever the worker fetches comes from the viewer."""


@BLUEPRINT.get("/c/<name>/play", endpoint="show")
def play(name: str) -> Response:
    """Show a page as it was captured: in the player, or without it the document alone, without scripts."""
    check_collection(name)
    viewing().access.rules(name)  # without them, nothing of the collection is shown
    url, timestamp = request.args.get("url", "").strip(), request.args.get("ts", "").strip()
    if not re.match(r"https?://[^/]", url) or len(url) > LONGEST_URL:
        raise InvalidInput(Problem("url", "is no address of a page; it begins with http:// or https://"))
    if not re.fullmatch("[0-9]{4,17}", timestamp):
        timestamp = timestamp14(now_micros())
    path = f"{request.script_root}/w/{name}/"
    player, why = _player_or_reason()
    prefix = f"{request.host_url.rstrip('/')}{path}"
    answer = page(
        "play.html",
        name=name,
        url=url,
        timestamp=timestamp,
        raw=f"{path}{timestamp}id_/{quote(url, safe=_URL_CHARACTERS)}",
        player=player,
        why=why,
        prefix=prefix,
        # A browser keeps the source of a name, so that another address of the viewer needs another name.
        collection_id=f"{name}-{hashlib.sha256(prefix.encode()).hexdigest()[:12]}",
    )
    if player is not None:
        answer.headers["Content-Security-Policy"] = PLAYER_POLICY
    return answer


@BLUEPRINT.get("/replay/", endpoint="frame")
def show_frame() -> Response:
    """Return the page of the player's frame. The player's worker answers in its place once it runs."""
    _player()
    answer = page("frame.html")
    answer.headers["Content-Security-Policy"] = PLAYER_POLICY
    return answer


@BLUEPRINT.get("/replay/sw.js", endpoint="worker")
def send_worker() -> Response:
    """Return the script of the worker: our rule for its answers, then the player's own worker."""
    _player()
    answer = send_file("static/worker.js", "text/javascript")
    answer.headers["Content-Security-Policy"] = WORKER_POLICY
    answer.headers["Cache-Control"] = "no-cache"
    return answer


@BLUEPRINT.get("/replay/<file>", endpoint="frame_file")
@BLUEPRINT.get("/player/<file>", endpoint="file")
def send_player_file(file: str) -> Response:
    """Return a file of the player as it is."""
    if file not in _FILES or not (path := _player().folder / file).is_file():
        abort(404, "the player has no such file")
    kind = "text/javascript" if file.endswith(".js") else "text/plain; charset=utf-8"
    answer = send_file(path, kind)
    answer.headers["Content-Security-Policy"] = WORKER_POLICY
    answer.headers["Cache-Control"] = "no-cache"
    return answer


@BLUEPRINT.get("/player/", endpoint="about")
def show_about() -> Response:
    """Say what the player is, under which licence, and where its source is."""
    player, why = _player_or_reason()
    return page("about.html", player=player, why=why)


def _player() -> Player:
    try:
        return find_player(viewing().settings)
    except PlayerRefused as error:
        abort(404, str(error))


def _player_or_reason() -> tuple[Player | None, str]:
    try:
        return find_player(viewing().settings), ""
    except PlayerRefused as error:
        return None, str(error)
