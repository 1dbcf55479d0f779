"""This module answers requests to the garden site: pages, redirects, answers to scripts, files of `site/`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, Final
from urllib.parse import parse_qs

from admin.demo.film import film
from admin.demo.wire import Answer, Request

SITE: Final = Path(__file__).resolve().parent / "site"
STATIC: Final = SITE / "static"
WWW: Final = "www.garden.test"
MEDIA: Final = "media.garden.test"
SHOP: Final = "shop.garden.test"
HOSTS: Final = (WWW, MEDIA, SHOP)
ORCHARD: Final = "www.orchard.test"
MEADOW: Final = "www.meadow.test"
NEIGHBOURS: Final = (ORCHARD, MEADOW)
"""These small sites are domains of their own, for harvests of several domains."""
SLOW_SECONDS: Final = 1.5
COOKIE: Final = "season=spring"

TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".jpg": "image/jpeg",
    ".js": "text/javascript; charset=utf-8",
    ".mp4": "video/mp4",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
PLANTS: Final = {
    "fern": ("Hill fern", "It unrolls in April."),
    "water-lily": ("Water lily", "Pink, and closed by four."),
    "cactus": ("Night cactus", "One flower, one night."),
    "ginkgo": ("Ginkgo", "Older than flowers."),
}
HOURS: Final = [["Spring", "8 to 18"], ["Summer", "7 to 20"], ["Autumn", "8 to 17"], ["Winter", "9 to 15"]]
ROBOTS: Final = f"User-agent: *\nCrawl-delay: 0.2\nDisallow: /private/\n\nSitemap: http://{WWW}/sitemap.xml\n"

LINKED_PAGES: Final = (
    f"http://{WWW}/",
    f"http://{WWW}/plants/",
    *(f"http://{WWW}/plants/{plant}.html" for plant in PLANTS),
    f"http://{WWW}/gallery.html",
    f"http://{WWW}/journal.html",
    f"http://{WWW}/visit.html",
    f"http://{WWW}/film.html",
    f"http://{WWW}/slow.html",
    f"http://{WWW}/notes/gzip.html",
    f"http://{WWW}/notes/chunked.html",
    f"http://{WWW}/notes/closing.html",
    f"https://{WWW}/members.html",
)
LISTED_PAGES: Final = (f"http://{WWW}/hidden/greenhouse.html",)
"""These pages are in the site map only."""

type Maker = Callable[[Request], Answer]


def answer_to(request: Request) -> Answer:
    """Return the answer of a host: 421 for an unknown name, 404 for an unknown path."""
    routes = _routes().get(request.host)
    if routes is None:
        return Answer(b"This server knows no such host.\n", 421, TYPES[".txt"])
    made = routes.get(request.path)
    if made is None:
        made = _file(request.path)
    answer = made(request) if callable(made) else made
    return _without_gzip(answer) if "gzip" not in request.headers.get("accept-encoding", "") else answer


def _without_gzip(answer: Answer) -> Answer:
    return Answer(answer.body, answer.status, answer.content_type, answer.headers, answer.framing)


@cache
def _page(file: str, *, layout: str = "layout.html", **words: str) -> bytes:
    """Return a page of `site/pages`. Its first line is the title, and the rest goes into the layout."""
    text = Template((SITE / "pages" / file).read_text("utf-8")).substitute(words)
    title, _, body = text.partition("\n")
    whole = Template((SITE / layout).read_text("utf-8")).substitute(title=title, body=body.rstrip())
    return whole.encode("utf-8")


def _plant(plant: str) -> Answer:
    name, caption = PLANTS[plant]
    return Answer(_page("plant.html", name=name, caption=caption, picture=plant))


@cache
def _file(path: str) -> Answer:
    """Return a file of `site/static`, which is the same on each host."""
    found = (STATIC / path.lstrip("/")).resolve()
    if not found.is_file() or STATIC not in found.parents:
        return Answer(_page("missing.html"), 404)
    body = film(found) if found.suffix == ".mp4" else found.read_bytes()
    return Answer(body, content_type=TYPES[found.suffix], gzip=found.suffix in {".css", ".js"})


def _redirect(status: int, to: str) -> Answer:
    return Answer(b"Moved.\n", status, TYPES[".txt"], (("Location", to),))


def _json(value: Mapping[str, Any], status: int = 200) -> Answer:
    return Answer(json.dumps(value).encode(), status, "application/json")


def _journal(request: Request) -> Answer:
    batches = json.loads((SITE / "journal.json").read_text("utf-8"))
    wanted = parse_qs(request.query).get("batch", [""])[0]
    if not wanted.isdigit() or not 1 <= int(wanted) <= len(batches):
        return _json({"error": f"batch must be 1 to {len(batches)}"}, 404)
    entries = [{"title": title, "text": text} for title, text in batches[int(wanted) - 1]]
    return _json({"entries": entries, "last": int(wanted) == len(batches)})


def _greeting(request: Request) -> Answer:
    if request.method != "POST":
        return _json({"error": "POST a name"}, 405)
    try:
        name = json.loads(request.body)["name"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return _json({"error": "POST a JSON object with a name"}, 400)
    return _json({"greeting": f"Good morning, {name}. The gate is open."})


def _ticket(request: Request) -> Answer:
    carried = COOKIE in request.headers.get("cookie", "")
    return _json({"ticket": "spring, one person"}) if carried else _json({"error": "no cookie"}, 403)


def _basket(request: Request) -> Answer:
    seeds = parse_qs(request.body.decode("utf-8", "replace")).get("seeds")
    if seeds is None:
        return _json({"error": "POST the name of seeds"}, 400)
    return _json({"basket": f"In your basket: one bag of {seeds[0]} seeds."})


def _members(request: Request) -> Answer:
    return Answer(_page("members.html")) if request.scheme == "https" else _redirect(301, f"https://{WWW}/members.html")


def _site_map() -> Answer:
    places = "".join(f"<url><loc>{page}</loc></url>" for page in (f"http://{WWW}/", *LISTED_PAGES))
    body = f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{places}</urlset>\n'
    return Answer(body.encode(), content_type="application/xml")


@cache
def _routes() -> dict[str, dict[str, Answer | Maker]]:
    """Return the answers of each host by path. Each host has the files of `site/static` besides."""
    return {
        WWW: {
            "/": Answer(_page("index.html"), gzip=True),
            "/plants/": Answer(_page("plants.html")),
            **{f"/plants/{plant}.html": _plant(plant) for plant in PLANTS},
            "/gallery.html": Answer(_page("gallery.html")),
            "/journal.html": Answer(_page("journal.html")),
            "/visit.html": Answer(_page("visit.html"), headers=(("Set-Cookie", f"{COOKIE}; Path=/"),)),
            "/film.html": Answer(_page("film.html")),
            "/slow.html": Answer(_page("slow.html"), wait_seconds=SLOW_SECONDS),
            "/notes/gzip.html": Answer(_page("gzip.html"), gzip=True),
            "/notes/chunked.html": Answer(_page("chunked.html"), gzip=True, framing="chunked"),
            "/notes/closing.html": Answer(_page("closing.html"), framing="close"),
            "/hidden/greenhouse.html": Answer(_page("greenhouse.html")),
            "/private/office.html": Answer(_page("office.html")),
            "/members.html": _members,
            "/members": _redirect(302, "/members.html"),
            "/old-plants": _redirect(302, "/older-plants"),
            "/older-plants": _redirect(301, "/plants/"),
            "/files/take-away.txt": _file("/files/leaflet.txt"),
            "/api/hours": _json({"hours": HOURS}),
            "/api/journal": _journal,
            "/api/greeting": _greeting,
            "/api/ticket": _ticket,
            "/robots.txt": Answer(ROBOTS.encode(), content_type=TYPES[".txt"]),
            "/sitemap.xml": _site_map(),
        },
        MEDIA: {
            "/map.html": Answer(_page("map.html", layout="frame.html")),
            "/files/leaflet-copy.txt": _file("/files/leaflet.txt"),
        },
        SHOP: {
            "/": Answer(_page("shop.html")),
            "/basket": _basket,
            "/robots.txt": Answer(b"User-agent: *\nDisallow:\n", content_type=TYPES[".txt"]),
        },
        ORCHARD: {
            "/": Answer(_page("orchard.html", layout="neighbour.html")),
            "/apples.html": Answer(_page("apples.html", layout="neighbour.html")),
            "/pears.html": Answer(_page("pears.html", layout="neighbour.html")),
        },
        MEADOW: {
            "/": Answer(_page("meadow.html", layout="neighbour.html")),
            "/hay.html": Answer(_page("hay.html", layout="neighbour.html")),
            "/old": _redirect(301, "/hay.html"),
        },
        "wild.garden.test": {"/": Answer(_page("greenhouse.html"))},
    }
