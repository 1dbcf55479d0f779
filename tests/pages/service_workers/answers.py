"""The pages of this folder get these answers of the server."""

from __future__ import annotations

from typing import Final

from support.pages.feature import Answers, js

_CLAIM: Final = (
    "addEventListener('install', () => skipWaiting()); addEventListener('activate', e => e.waitUntil(clients.claim()));"
)


ANSWERS: Final[Answers] = {
    "service-update": {
        "sw.js": lambda q: js(
            _CLAIM + f"addEventListener('message', e => e.source.postMessage('v{q.query.removeprefix('v=')}'));"
        ),
    },
}
