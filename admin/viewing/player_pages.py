"""The viewer plays archived pages here, with the player's own files, and says what the player is.

The page that a reader opens has the viewer's bar and a frame. In the frame, the player's page, its worker and the
archived pages have an origin of their own (`admin.viewing.origins`). Their policies keep every request at that origin.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final
from urllib.parse import quote, urlencode

from flask import Blueprint, abort, jsonify, redirect, request, send_file
from werkzeug.wrappers import Response

from admin.collections.browsing.search import CaptureLine
from admin.models.errors import InvalidInput, Problem, UseCaseError
from admin.models.transaction import COMMAND_LINE
from admin.viewing.capture_dates import CaptureSteps, capture_steps
from admin.viewing.page import LONGEST_URL, check_collection, page, viewing
from admin.viewing.player import LICENSE_FILE, UI_FILE, WORKER_FILE, Player, PlayerRefused, find_player
from archive.dates import iso_second, now_micros, timestamp14

BLUEPRINT: Final = Blueprint("play", __name__)
_FILES: Final = (UI_FILE, WORKER_FILE, LICENSE_FILE, "README.md", "package.json")
_URL_CHARACTERS: Final = "!#$%&'()*+,/:;=?@[]~"
_PDF: Final = "application/pdf"
_FRAME_RIGHTS: Final = (
    "allow-scripts allow-same-origin allow-forms allow-modals allow-downloads allow-orientation-lock"
    " allow-pointer-lock allow-presentation"
)
"""Rights of the frame. The frame opens no window, and it does not navigate the reader's page."""
_PLAYER_POLICY: Final = (
    "default-src 'none'; base-uri 'none'; form-action 'self'; script-src 'self'; style-src 'self' 'unsafe-inline';"
    " img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' data:; frame-src 'self'; worker-src 'self';"
    f" webrtc 'block'; sandbox {_FRAME_RIGHTS}"
)
ONE_ORIGIN: Final = "(response-origin); redirects=allow"
"""The value of `Connection-Allowlist`, by which Chromium connects to the page's own origin alone, WebRTC included."""
WORKER_POLICY: Final = "default-src 'none'; script-src 'self' 'unsafe-eval'; connect-src 'self'"
"""The policy of the player's worker: whatever the worker fetches comes from the viewer."""


@BLUEPRINT.get("/c/<name>/play", endpoint="show")
def play(name: str) -> Response:
    """Show a page as it was captured: in the player, or without it the document alone, without scripts."""
    url, timestamp = _asked(name)
    view, (player, why) = viewing(), _player_or_reason()
    if player is not None and (elsewhere := view.origins.bar_origin(name, request.host)):
        return redirect(f"{elsewhere}{request.script_root}{request.full_path}", 307)
    steps, origin = _steps(name, url, timestamp), view.origins.of_collection(name, request.host)
    if player is not None and not origin:
        player, why = None, "archived pages run on host names of their own only; set view.collection_origin"
    answer = page(
        "play.html",
        name=name,
        url=url,
        timestamp=timestamp,
        raw=f"{request.script_root}/w/{name}/{timestamp}id_/{quote(url, safe=_URL_CHARACTERS)}",
        player=player,
        why=why,
        rights=_FRAME_RIGHTS,
        frame=_frame(name, url, timestamp),
        steps=steps,
        is_pdf=_is_pdf(steps.shown),
    )
    answer.headers["Content-Security-Policy"] = _bar_policy(origin)
    return answer


@BLUEPRINT.get("/c/<name>/dates", endpoint="dates")
def show_dates(name: str) -> Response:
    """Return the dates of the captures around a date as JSON, for the bar of a page in which a link was followed."""
    steps = _steps(name, *_asked(name))
    found = {part: _step(getattr(steps, part)) for part in ("shown", "earlier", "later")}
    return jsonify({**found, "is_pdf": _is_pdf(steps.shown)})


@BLUEPRINT.get("/c/<name>/player", endpoint="player")
def show_player(name: str) -> Response:
    """Return the page in the frame of `play`, with the player. The page has the origin of its collection."""
    url, timestamp = _asked(name)
    _player()
    prefix = f"{request.host_url.rstrip('/')}{request.script_root}/w/{name}/"
    answer = page(
        "player.html",
        url=url,
        timestamp=timestamp,
        prefix=prefix,
        # A browser keeps the source of a name, so that another address of the viewer needs another name.
        collection_id=f"{name}-{hashlib.sha256(prefix.encode()).hexdigest()[:12]}",
    )
    return _kept_here(answer)


@BLUEPRINT.get("/replay/", endpoint="frame")
def show_frame() -> Response:
    """Return the page of the player's frame. The player's worker answers in its place once it runs."""
    _player()
    return _kept_here(page("frame.html"))


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


def _asked(name: str) -> tuple[str, str]:
    """Return the URL and the timestamp of the request for a page. Refuses what readers may not see."""
    check_collection(name)
    viewing().access.rules(name)  # without them, nothing of the collection is shown
    url, timestamp = request.args.get("url", "").strip(), request.args.get("ts", "").strip()
    if not re.match(r"https?://[^/]", url) or len(url) > LONGEST_URL:
        raise InvalidInput(Problem("url", "is no address of a page; it begins with http:// or https://"))
    return url, timestamp if re.fullmatch("[0-9]{4,17}", timestamp) else timestamp14(now_micros())


def _frame(name: str, url: str, timestamp: str) -> str:
    """Return the address of the player's page for a capture; empty where archived pages can't run."""
    view = viewing()
    origin = view.origins.of_collection(name, request.host)
    if not origin:
        return ""
    root = view.root_of_frame(request.script_root, name)
    return f"{origin}{root}/c/{name}/player?{urlencode({'url': url, 'ts': timestamp})}"


def _bar_policy(origin: str) -> str:
    """Return the policy of a page of the viewer with a frame from that origin."""
    return (
        "default-src 'none'; base-uri 'none'; form-action 'self'; script-src 'self'; style-src 'self'; img-src 'self';"
        f" connect-src 'self'; frame-src 'self' {origin}; frame-ancestors {viewing().origins.ancestors}"
    )


def _kept_here(answer: Response) -> Response:
    """Give a page of the player the policies that keep its requests at its origin, and return it."""
    frames = viewing().origins.frames_of(request.host)
    answer.headers["Content-Security-Policy"] = f"{_PLAYER_POLICY}; frame-ancestors 'self' {frames}"
    answer.headers["Connection-Allowlist"] = ONE_ORIGIN
    answer.headers["Origin-Agent-Cluster"] = "?1"  # `document.domain` joins no two host names
    return answer


def _steps(name: str, url: str, timestamp: str) -> CaptureSteps:
    """Return the captures around the date; none while the index can't be searched."""
    try:
        with viewing().database.reading(COMMAND_LINE) as opened:
            return capture_steps(opened, viewing().access.rules(name), name, url, timestamp)
    except (UseCaseError, ValueError):
        return CaptureSteps(None)


def _step(line: CaptureLine | None) -> dict[str, str] | None:
    return None if line is None else {"timestamp": line.timestamp, "date": iso_second(line.date)}


def _is_pdf(line: CaptureLine | None) -> bool:
    return line is not None and line.mime.partition(";")[0].strip().lower() == _PDF


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
