"""Features of requests: methods, streams, codings, redirects, cookies, service workers."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Awaitable, Callable
from typing import Final

from feature_site.feature import Act, Feature, Proof, Question, Raw, Reply, data, js, page, png
from support.clients.websocket import frame

type _Write = Callable[[bytes], Awaitable[None]]
type _Read = Callable[[int], Awaitable[bytes]]

_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def _redirect(to: str, status: int = 302, *headers: tuple[str, str]) -> Reply:
    return Reply("", status=status, headers=(("Location", to), *headers))


def _echo(question: Question) -> Reply:
    return Reply(f"{question.method} {hashlib.sha256(question.body).hexdigest()[:8]}")


def _posts(question: Question) -> Reply:
    """Answer with a word of the body, so that each body has an answer of its own."""
    for word in ("apple", "pear", "plum", "quince"):
        if word.encode() in question.body:
            return Reply(f"you sent {word}")
    return Reply("nothing", status=400)


async def _events(_: Question, write: _Write, read: _Read) -> None:
    await write(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    for number in range(3):
        await asyncio.sleep(0.2)
        await write(f"event: word\nid: {number}\ndata: event {number}\n\n".encode())


async def _endless_events(_: Question, write: _Write, read: _Read) -> None:
    await write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
    for number in range(10_000):
        await write(f"data: event {number}\n\n".encode())
        await asyncio.sleep(0.5)


async def _drip(_: Question, write: _Write, read: _Read) -> None:
    await write(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    for number in range(4):
        await asyncio.sleep(0.25)
        await write(f"5\r\nline{number}\r\n".encode())
    await write(b"0\r\n\r\n")


async def _socket(question: Question, write: _Write, read: _Read) -> None:
    """Say hello, then return each message turned round; `bytes` gets four bytes."""
    key = question.headers.get("sec-websocket-key", "").encode()
    accept = base64.b64encode(hashlib.sha1(key + _GUID).digest())
    await write(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
        + accept
        + b"\r\n\r\n"
        + frame(1, b"hello")
    )
    while True:
        first, second = await read(2)
        size = second & 0x7F
        if size == 126:
            size = int.from_bytes(await read(2))
        mask = await read(4)
        payload = bytes(byte ^ mask[at % 4] for at, byte in enumerate(await read(size)))
        if first & 0x0F == 8:
            await write(frame(8, payload[:2]))
            return
        if payload == b"bytes":
            await write(frame(2, b"\x01\x02\x03\x04"))
        else:
            await write(frame(1, payload[::-1]))


def _range(question: Question) -> Reply:
    whole = b"".join(b"%04d" % number for number in range(2500))
    wanted = question.headers.get("range", "").removeprefix("bytes=")
    if not wanted:
        return Reply(whole, "application/octet-stream", headers=(("Accept-Ranges", "bytes"),))
    first, _, last = wanted.partition("-")
    start, end = (int(first), int(last or len(whole) - 1)) if first else (len(whole) - int(last), len(whole) - 1)
    head = (("Content-Range", f"bytes {start}-{end}/{len(whole)}"), ("Accept-Ranges", "bytes"))
    return Reply(whole[start : end + 1], "application/octet-stream", 206, head)


def _growing(question: Question) -> Reply:
    return data(f'{{"items": {question.count("asked")}}}', ("Cache-Control", "no-store"))


def _ready(question: Question) -> Reply:
    return data('{"state": "%s"}' % ("ready" if question.count("poll") >= 4 else "busy"), ("Cache-Control", "no-store"))


def _by_language(question: Question) -> Reply:
    language = question.headers.get("accept-language", "")[:2]
    word = {"de": "Blatt", "fr": "feuille"}.get(language, "leaf")
    return Reply(word, headers=(("Vary", "Accept-Language"), ("Cache-Control", "no-store")))


def _by_accept(question: Question) -> Reply:
    is_json = "json" in question.headers.get("accept", "")
    kind = "application/json" if is_json else "text/plain"
    return Reply('"json"' if is_json else "text", kind, headers=(("Vary", "Accept"), ("Cache-Control", "no-store")))


def _with_cookie(name: str) -> Callable[[Question], Reply]:
    def answer(question: Question) -> Reply:
        if f"{name}=yes" in question.headers.get("cookie", ""):
            return Reply("welcome")
        return Reply("no cookie", status=403)

    return answer


def _preflight(question: Question) -> Reply:
    allowed = (
        ("Access-Control-Allow-Origin", "https://www.features.test"),
        ("Access-Control-Allow-Methods", "PUT, DELETE, POST"),
        ("Access-Control-Allow-Headers", "X-Feature, Content-Type"),
        ("Access-Control-Allow-Credentials", "true"),
        ("Access-Control-Expose-Headers", "X-Answer"),
    )
    if question.method == "OPTIONS":
        return Reply(status=204, headers=allowed)
    if question.headers.get("x-feature") != "yes":
        return Reply("no header", status=400, headers=allowed)
    return Reply(f"{question.method} done", headers=(*allowed, ("X-Answer", "42")))


def _conditional(question: Question) -> Reply:
    headers = (("ETag", '"leaf-1"'), ("Cache-Control", "no-cache"))
    if question.headers.get("if-none-match") == '"leaf-1"':
        return Reply(status=304, headers=headers)
    return Reply("leaf", headers=headers)


def _unauthorized(question: Question) -> Reply:
    return Reply("secret", status=401, headers=(("WWW-Authenticate", 'Basic realm="Pictures"'),))


def _worker(strategy: str) -> str:
    cached = "(await caches.match(event.request)) || (await fetch(event.request))"
    network = "await fetch(event.request).catch(() => caches.match(event.request))"
    return (
        "addEventListener('install', event => { skipWaiting(); event.waitUntil("
        "caches.open('v1').then(cache => cache.addAll(['cached.txt', '50x10-precached.png']))); });"
        "addEventListener('activate', event => event.waitUntil(clients.claim()));"
        "addEventListener('fetch', event => { const path = new URL(event.request.url).pathname;"
        "if (path.endsWith('made.txt')) event.respondWith(new Response('made by the worker'));"
        "else if (path.endsWith('.txt') || path.endsWith('.png')) event.respondWith((async () => "
        + (cached if strategy == "cache" else network)
        + ")()); });"
    )


_SERVICE_PAGE: Final = (
    "<script>navigator.serviceWorker.register('sw.js').then(() => navigator.serviceWorker.ready).then(async () => {"
    "if (!navigator.serviceWorker.controller) await new Promise(go => navigator.serviceWorker.oncontrollerchange = go);"
    "await proof.text('cached.txt', 'cached', 'cached'); await proof.text('fresh.txt', 'fresh', 'fresh');"
    "await proof.text('made.txt', 'made by the worker', 'made'); proof.add('50x10-precached.png'); });</script>"
)


def _second(name: str, body: str) -> Reply:
    """Return the last page of a chain, which tells whether the feature works."""
    return Reply(Feature(name, "The last page of a chain.", body).text(), "text/html; charset=utf-8")


def _service(name: str, strategy: str) -> Feature:
    return Feature(
        name,
        f"A service worker answers from its cache ({strategy} first).",
        _SERVICE_PAGE,
        parts=("cached", "fresh", "made", "precached"),
        proofs=("sw.js", "cached.txt", "fresh.txt", "50x10-precached.png"),
        files={"sw.js": js(_worker(strategy)), "cached.txt": Reply("cached"), "fresh.txt": Reply("fresh")},
    )


_SRI: Final = "proof.done('sri');"
_SRI_HASH: Final = "sha384-" + base64.b64encode(hashlib.sha384(_SRI.encode()).digest()).decode()

NETWORK: Final = (
    Feature(
        "fetch-json",
        "A script fetches JSON, and what that names.",
        "<script>fetch('list.json').then(a => a.json()).then(list => list.pictures.forEach(name => proof.add(name)));</script>",
        files={"list.json": data('{"pictures": ["51x10-first.png", "51x11-second.png"]}')},
        proofs=("list.json", "51x10-first.png", "51x11-second.png"),
    ),
    Feature(
        "fetch-post",
        "A script posts four bodies to one URL, as JSON, a form, a multipart form and plain text.",
        "<script>const form = new FormData(); form.append('fruit', 'plum');"
        "const bodies = {apple: JSON.stringify({fruit: 'apple'}), pear: new URLSearchParams({fruit: 'pear'}), plum: form, quince: 'quince'};"
        "(async () => { for (const [word, body] of Object.entries(bodies)) {"
        "const headers = word === 'apple' ? {'Content-Type': 'application/json'} : {};"
        "await proof.text('api', `you sent ${word}`, word, {method: 'POST', body, headers}); } })();</script>",
        parts=("apple", "pear", "plum", "quince"),
        proofs=(Proof(r"api.*", 4),),
        files={"api": _posts},
    ),
    Feature(
        "graphql",
        "Two queries are posted to one GraphQL URL at the same time.",
        "<script>for (const word of ['apple', 'pear']) fetch('graphql', {method: 'POST', headers: {'Content-Type': 'application/json'},"
        'body: JSON.stringify({operationName: word, query: `query ${word} { fruit(name: "${word}") { name } }`, variables: {at: 1}})})'
        ".then(a => a.text()).then(text => text === `you sent ${word}` && proof.done(word));</script>",
        parts=("apple", "pear"),
        proofs=(Proof(r"graphql.*", 2),),
        files={"graphql": _posts},
    ),
    Feature(
        "xhr",
        "XMLHttpRequests load text, JSON, bytes, and one of them is synchronous.",
        "<script>const ask = (path, type, part, good) => { const x = new XMLHttpRequest(); x.open('GET', path); x.responseType = type;"
        "x.onload = () => good(x.response) && proof.done(part); x.send(); };"
        "ask('a.txt', 'text', 'text', r => r === 'leaf'); ask('b.json', 'json', 'json', r => r.word === 'leaf');"
        "ask('c.bin', 'arraybuffer', 'bytes', r => new Uint8Array(r)[1] === 255);"
        "const x = new XMLHttpRequest(); x.open('GET', 'd.txt', false); x.send(); if (x.responseText === 'now') proof.done('sync');</script>",
        parts=("text", "json", "bytes", "sync"),
        proofs=("a.txt", "b.json", "c.bin", "d.txt"),
        files={
            "a.txt": Reply("leaf"),
            "b.json": data('{"word": "leaf"}'),
            "c.bin": Reply(b"\0\xff\0", "application/octet-stream"),
            "d.txt": Reply("now"),
        },
    ),
    Feature(
        "fetch-stream",
        "A script reads a response while it arrives.",
        "<script>fetch('drip.txt').then(async answer => { const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader(); let all = '';"
        "for (;;) { const {done, value} = await reader.read(); if (done) break; all += value; }"
        "if (all === 'line0line1line2line3') proof.done('lines'); });</script>",
        parts=("lines",),
        proofs=("drip.txt",),
        files={"drip.txt": Raw(_drip)},
    ),
    Feature(
        "fetch-abort",
        "A script aborts a slow fetch and makes another.",
        "<script>const control = new AbortController(); fetch('drip.txt', {signal: control.signal}).then(async answer => {"
        "const reader = answer.body.getReader(); await reader.read(); control.abort(); await reader.read(); })"
        ".catch(() => {}).then(() => proof.text('word.txt', 'leaf', 'word'));</script>",
        parts=("word",),
        proofs=("word.txt",),
        files={"drip.txt": Raw(_drip), "word.txt": Reply("leaf")},
    ),
    Feature(
        "server-events",
        "An EventSource gets three events.",
        "<script>let count = 0; const source = new EventSource('events'); source.addEventListener('word', event => {"
        "if (event.data === `event ${count}`) count++; if (count === 3) { proof.done('events'); source.close(); } });</script>",
        parts=("events",),
        proofs=("events",),
        files={"events": Raw(_events)},
    ),
    Feature(
        "endless-events",
        "An EventSource never ends.",
        "<script>new EventSource('events').onmessage = event => event.data === 'event 1' && proof.done('event');</script>",
        parts=("event",),
        proofs=("events",),
        files={"events": Raw(_endless_events)},
    ),
    Feature(
        "websocket",
        "A WebSocket greets, answers two texts, and sends bytes.",
        "<script>const socket = new WebSocket('wss://www.features.test/websocket/socket'); socket.binaryType = 'arraybuffer';"
        "socket.onmessage = ({data}) => { if (data instanceof ArrayBuffer) { if (new Uint8Array(data)[3] === 4) proof.done('bytes'); socket.close(); return; }"
        "if (data === 'hello') { proof.done('greeting'); socket.send('abc'); }"
        "if (data === 'cba') { proof.done('first'); socket.send('leaf'); }"
        "if (data === 'fael') { proof.done('second'); socket.send('bytes'); } };</script>",
        parts=("greeting", "first", "second", "bytes"),
        proofs=("socket",),
        files={"socket": Raw(_socket)},
    ),
    _service("service-cache", "cache"),
    _service("service-network", "network"),
    Feature(
        "keepalive",
        "A script posts with keepalive, and sends a beacon.",
        "<script>fetch('kept', {method: 'POST', body: 'alive', keepalive: true}).then(a => a.ok && proof.done('kept'));"
        "if (navigator.sendBeacon('beacon', 'seen')) proof.done('beacon');</script>",
        parts=("kept", "beacon"),
        proofs=("kept.*", "beacon.*"),
        files={"kept": _echo, "beacon": lambda q: Reply(status=204)},
    ),
    Feature(
        "cors-preflight",
        "Requests to another host need a preflight, and credentials.",
        "<script>const url = 'https://cdn.features.test/cors-preflight/api'; const headers = {'X-Feature': 'yes'};"
        "(async () => { const a = await fetch(url, {method: 'PUT', headers, body: 'x', credentials: 'include'});"
        "if (await a.text() === 'PUT done' && a.headers.get('X-Answer') === '42') proof.done('put');"
        "await proof.text(url, 'GET done', 'get', {headers});"
        "await proof.text(url, 'DELETE done', 'delete', {method: 'DELETE', headers}); })();</script>",
        parts=("put", "get", "delete"),
        proofs=("api", Proof("api.*", 3)),
        files={"api": _preflight},
    ),
    Feature(
        "methods",
        "A script uses HEAD, PUT, PATCH and DELETE at one URL.",
        "<script>(async () => { const head = await fetch('thing', {method: 'HEAD'}); if (head.headers.get('X-Kind') === 'thing') proof.done('HEAD');"
        "for (const method of ['PUT', 'PATCH', 'DELETE']) { const text = await (await fetch('thing', {method, body: method})).text();"
        "if (text.startsWith(method)) proof.done(method); } })();</script>",
        parts=("HEAD", "PUT", "PATCH", "DELETE"),
        proofs=(Proof("thing.*", 3),),
        files={"thing": lambda q: Reply(_echo(q).body, headers=(("X-Kind", "thing"),))},
    ),
    Feature(
        "policy",
        "A content security policy allows what has a nonce, and one host.",
        "<img src='https://cdn.features.test/policy/52x10-allowed.png'><img src='https://elsewhere.test/policy/52x11-refused.png'>"
        "<script nonce='abc'>addEventListener('securitypolicyviolation', event => event.blockedURI.includes('refused') && proof.done('blocked'));"
        "const s = document.createElement('script'); s.nonce = 'abc'; s.src = 'trusted.js'; document.head.append(s);</script>"
        "<script>proof.done('never')</script>",
        nonce="abc",
        headers=(
            (
                "Content-Security-Policy",
                "default-src 'self'; script-src 'nonce-abc'; img-src https://cdn.features.test",
            ),
        ),
        parts=("allowed", "blocked", "trusted"),
        proofs=("52x10-allowed.png", "trusted.js"),
        files={"trusted.js": js("proof.done('trusted');")},
    ),
    Feature(
        "integrity",
        "A script and a picture of another host have integrity and crossorigin.",
        f"<script src='https://cdn.features.test/integrity/sri.js' integrity='{_SRI_HASH}' crossorigin='anonymous'></script>"
        '<img crossorigin src=\'https://cdn.features.test/integrity/53x10-cross.png\' onload=\'const c = document.createElement("canvas").getContext("2d");'
        'c.drawImage(this, 0, 0); c.getImageData(1, 1, 1, 1); proof.done("readable")\'>',
        parts=("sri", "cross", "readable"),
        proofs=("sri.js", "53x10-cross.png"),
        files={"sri.js": js(_SRI)},
    ),
    Feature(
        "isolated",
        "The page is isolated from other origins and uses a SharedArrayBuffer.",
        "<script>if (crossOriginIsolated && new SharedArrayBuffer(8).byteLength === 8) proof.add('53x11-isolated.png');</script>",
        headers=(("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Embedder-Policy", "require-corp")),
    ),
    Feature(
        "vary-language",
        "One URL has an answer for each language.",
        "<script>(async () => { for (const [language, word] of [['de', 'Blatt'], ['fr', 'feuille'], ['en', 'leaf']])"
        "await proof.text('word.txt', word, language, {headers: {'Accept-Language': language}}); })();</script>",
        parts=("de", "fr", "en"),
        proofs=(Proof("word.txt", 3),),
        files={"word.txt": _by_language},
    ),
    Feature(
        "vary-accept",
        "One URL has an answer for each media type.",
        "<script>(async () => { await proof.text('word', '\"json\"', 'json', {headers: {Accept: 'application/json'}});"
        "await proof.text('word', 'text', 'text', {headers: {Accept: 'text/plain'}}); })();</script>",
        parts=("json", "text"),
        proofs=(Proof("word", 2),),
        files={"word": _by_accept},
    ),
    Feature(
        "growing",
        "One URL is asked three times and answers more each time.",
        "<script>(async () => { for (const count of [1, 2, 3]) { const answer = await (await fetch('items')).json();"
        "if (answer.items === count) proof.done(`answer${count}`); } })();</script>",
        parts=("answer1", "answer2", "answer3"),
        proofs=(Proof("items", 3),),
        files={"items": _growing},
    ),
    Feature(
        "polling",
        "A script asks each 600 ms until the answer is ready.",
        "<script>const ask = async () => { const {state} = await (await fetch('state')).json();"
        "if (state === 'ready') proof.add('54x10-ready.png'); else setTimeout(ask, 600); }; ask();</script>",
        parts=("ready",),
        proofs=(Proof("state", 4), "54x10-ready.png"),
        files={"state": _ready},
    ),
    Feature(
        "polling-for-ever",
        "A script asks each second for ever.",
        "<script>let times = 0; const ask = async () => { await fetch('state'); if (++times === 3) proof.add('54x11-thrice.png'); setTimeout(ask, 1000); }; ask();</script>",
        parts=("thrice",),
        proofs=(Proof("state", 3), "54x11-thrice.png"),
        files={"state": data('{"state": "busy"}', ("Cache-Control", "no-store"))},
    ),
    Feature(
        "ranges",
        "A script fetches three ranges of one file.",
        "<script>(async () => { for (const [range, start] of [['bytes=0-39', '0000'], ['bytes=4000-4039', '1000'], ['bytes=-40', '2490']]) {"
        "const answer = await fetch('numbers.bin', {headers: {Range: range}}); const text = await answer.text();"
        "if (answer.status === 206 && text.length === 40 && text.startsWith(start)) proof.done(start); } })();</script>",
        parts=("0000", "1000", "2490"),
        proofs=("numbers.bin",),
        files={"numbers.bin": _range},
    ),
    Feature(
        "codings",
        "Responses are coded by gzip, deflate, Brotli and Zstandard, and chunked.",
        "<script>for (const name of ['gzip', 'deflate', 'br', 'zstd', 'chunked']) proof.text(`${name}.txt`, 'leaf '.repeat(500), name);</script>",
        parts=("gzip", "deflate", "br", "zstd", "chunked"),
        proofs=tuple(f"{name}.txt" for name in ("gzip", "deflate", "br", "zstd", "chunked")),
        files={
            **{f"{name}.txt": Reply("leaf " * 500, encoding=name) for name in ("gzip", "deflate", "br", "zstd")},
            "chunked.txt": Reply("leaf " * 500, chunked=True, encoding="gzip"),
        },
    ),
    Feature(
        "trailers",
        "A chunked response has trailers.",
        "<script>proof.text('words.txt', 'leaf', 'body');</script>",
        parts=("body",),
        proofs=("words.txt",),
        files={"words.txt": Reply("leaf", trailers=(("X-Sum", "1"), ("Server-Timing", "a;dur=1")))},
    ),
    Feature(
        "empty-answers",
        "Answers have no body: 204, and 200 with length zero.",
        "<script>fetch('none').then(a => a.status === 204 && proof.done('204')); proof.text('zero', '', 'zero');</script>",
        parts=("204", "zero"),
        proofs=("none", "zero"),
        files={"none": Reply(status=204), "zero": Reply("")},
    ),
    Feature(
        "not-modified",
        "A script asks twice, and the second answer is a 304.",
        "<script>(async () => { await proof.text('word.txt', 'leaf', 'first'); await proof.text('word.txt', 'leaf', 'second', {cache: 'no-cache'}); })();</script>",
        parts=("first", "second"),
        proofs=("word.txt",),
        files={"word.txt": _conditional},
    ),
    Feature(
        "slow-answer",
        "The first byte of a picture and of a script takes three seconds.",
        "<img src='55x10-slow.png'><script async src='slow.js'></script>",
        parts=("slow", "script"),
        proofs=("55x10-slow.png", "slow.js"),
        files={
            "slow.js": Reply("proof.done('script');", "text/javascript", wait_seconds=3),
            "55x10-slow.png": Reply(png("slow", (55, 10)), "image/png", wait_seconds=3),
        },
    ),
    Feature(
        "redirects",
        "Resources are redirected over hosts, by 301, 302, 303, 307 and 308.",
        "<img src='r/301' onload=\"naturalWidth === 56 && proof.done('redirected')\"><script>proof.text('r/302', 'leaf', '302'); proof.text('r/303', 'leaf', '303', {method: 'POST', body: 'x'});"
        "proof.text('r/307', 'POST 2d711642', '307', {method: 'POST', body: 'x'}); proof.text('r/308', 'leaf', '308');</script>",
        parts=("redirected", "302", "303", "307", "308"),
        proofs=("r/301", "r/302", "r/303.*", "r/307.*", "r/308", "56x10-redirected.png", "word.txt", "echo.*"),
        files={
            "r/301": _redirect("https://cdn.features.test/redirects/r/again", 301),
            "r/again": _redirect("https://elsewhere.test/redirects/56x10-redirected.png", 302),
            "r/302": _redirect("../word.txt"),
            "r/303": _redirect("../word.txt", 303),
            "r/307": _redirect("../echo", 307),
            "r/308": _redirect("../word.txt", 308),
            "word.txt": Reply("leaf"),
            "echo": _echo,
        },
    ),
    Feature(
        "redirect-cookie",
        "A redirect sets the cookie that the next URL needs.",
        "<script>proof.text('enter', 'welcome', 'welcome');</script>",
        parts=("welcome",),
        proofs=("enter", "inside"),
        files={
            "enter": _redirect("inside", 302, ("Set-Cookie", "pass=yes; Path=/redirect-cookie/")),
            "inside": _with_cookie("pass"),
        },
    ),
    Feature(
        "meta-refresh",
        "The page leads on by a meta element.",
        "",
        page=page("<title>First</title><meta http-equiv=refresh content='0; url=second.html'>Moved"),
        files={"second.html": _second("meta-refresh", "<img src='57x10-second.png'>")},
        parts=("second",),
        proofs=("second.html", "57x10-second.png"),
    ),
    Feature(
        "script-redirect",
        "The page leads on by a script, and then by a Refresh header.",
        "",
        page=page("<title>First</title><script>location.replace('second.html')</script>"),
        files={
            "second.html": page("Second", ("Refresh", "0; url=third.html")),
            "third.html": _second("script-redirect", "<img src='57x11-third.png'>"),
        },
        parts=("third",),
        proofs=("second.html", "third.html", "57x11-third.png"),
    ),
    Feature(
        "cookies",
        "A cookie of the page and a cookie of a script are needed by resources.",
        "<script>document.cookie = 'script=yes; path=/cookies/'; proof.text('page.txt', 'welcome', 'page'); proof.text('script.txt', 'welcome', 'script');</script>",
        headers=(("Set-Cookie", "page=yes; Path=/cookies/; HttpOnly; Secure; SameSite=Lax"),),
        parts=("page", "script"),
        proofs=("page.txt", "script.txt"),
        files={"page.txt": _with_cookie("page"), "script.txt": _with_cookie("script")},
    ),
    Feature(
        "mixed-schemes",
        "A page on http loads from http and https, and is redirected from one to the other.",
        "<img src='http://cdn.features.test/mixed-schemes/58x10-plain.png'><img src='https://cdn.features.test/mixed-schemes/58x11-secure.png'>"
        "<img src='http://www.features.test/mixed-schemes/up' onload=\"naturalWidth === 58 && proof.done('upgraded')\">",
        scheme="http",
        parts=("plain", "secure", "upgraded"),
        proofs=("58x10-plain.png", "58x11-secure.png", "up", "58x12-upgraded.png"),
        files={"up": _redirect("https://www.features.test/mixed-schemes/58x12-upgraded.png", 301)},
    ),
    Feature(
        "international-url",
        "URLs have umlauts, spaces, plus signs, brackets and encoded slashes.",
        "<script>for (const [path, part] of [['gr\\u00fc\\u00dfe.txt', 'umlaut'], ['a b.txt', 'space'], ['a+b.txt', 'plus'], ['q.txt?x[]=1&y={2}|3', 'query'],"
        "['a%2Fb.txt', 'slash'], ['UPPER.txt', 'upper']]) proof.text(path, 'leaf', part);</script>",
        parts=("umlaut", "space", "plus", "query", "slash", "upper"),
        proofs=("gr.*e.txt", "a(%20| )b.txt", r"a\+b.txt", r"q\.txt\?.*", "a%2Fb.txt", "UPPER.txt"),
        files={f"{name}.txt": Reply("leaf") for name in ("grüße", "a b", "a+b", "q", "a/b", "UPPER")},
    ),
    Feature(
        "long-query",
        "A URL has 3,000 characters.",
        f"<script>proof.text('q.txt?state={'abc' * 1000}', 'leaf', 'long');</script>",
        parts=("long",),
        proofs=(r"q\.txt\?state=(abc){1000}",),
        files={"q.txt": Reply("leaf")},
    ),
    Feature(
        "same-url-cached",
        "One picture stands in the page, in a frame and in a style.",
        "<img src='59x10-shared.png'><iframe src='frame.html'></iframe><div style=\"height:20px;background:url(59x10-shared.png)\"></div>",
        parts=("shared", "inframe"),
        proofs=("59x10-shared.png", "frame.html"),
        files={
            "frame.html": page("<img src='59x10-shared.png' onload=\"parent.postMessage({part: 'inframe'}, '*')\">")
        },
    ),
    Feature(
        "refused-resource",
        "A picture and a fetch get a 401 with a request for a password; the rest works.",
        "<img src='secret.gif' onerror=\"proof.done('refused')\"><img src='59x11-beside.png'>"
        "<script>fetch('secret.txt').then(a => a.status === 401 && proof.done('401'));</script>",
        parts=("refused", "beside", "401"),
        proofs=("59x11-beside.png",),
        files={"secret.gif": _unauthorized, "secret.txt": _unauthorized},
        acts=(Act("login", "nobody", "wrong"),),
    ),
)
