"""Further features of requests: streams, sockets, posted data, codings and service workers."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import zlib
from typing import Final

import brotli
from feature_site.feature import Feature, File, Proof, Question, Raw, Reply, data, js, page
from feature_site.media import MP4, ranged
from feature_site.sockets import Read, Write, heard, upgrade
from support.clients.websocket import frame

_HASH: Final = hashlib.sha256(b"query Leaf").hexdigest()
_UTF_8: Final = "text/html; charset=utf-8"


async def _reconnected(question: Question, write: Write, read: Read) -> None:
    """Send one event, and after it the one behind the event that the client names."""
    last = question.headers.get("last-event-id", "0")
    if last == "2":
        await write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        return
    number = int(last) + 1
    await write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
    await write(f"retry: 200\nid: {number}\ndata: event {number}\n\n".encode())


async def _typed(_: Question, write: Write, read: Read) -> None:
    """Answer a posted question with a stream of events, word by word."""
    await write(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    for word in ("moss ", "and ", "fern"):
        piece = f"data: {json.dumps(word)}\n\n".encode()
        await write(b"%x\r\n%b\r\n" % (len(piece), piece))
        await asyncio.sleep(0.15)
    await write(b"0\r\n\r\n")


async def _json_lines(_: Question, write: Write, read: Read) -> None:
    await write(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    for name in ("151x10-l1.png", "151x11-l2.png", "151x12-l3.png"):
        line = json.dumps({"picture": name}).encode() + b"\n"
        for piece in (line[:9], line[9:]):
            await write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await asyncio.sleep(0.05)
    await write(b"0\r\n\r\n")


async def _bytes_socket(question: Question, write: Write, read: Read) -> None:
    """Choose the second protocol, send 70,000 bytes, return what is sent, and close with a code of its own."""
    await upgrade(question, write, b"Sec-WebSocket-Protocol: leaf.v1")
    await write(frame(2, b"m" * 70_000))
    opcode, payload = await heard(read)
    await write(frame(opcode, payload) + frame(8, (4001).to_bytes(2) + b"done"))
    await heard(read)


async def _short_socket(question: Question, write: Write, read: Read) -> None:
    """Say which socket of the page it is, and close."""
    await upgrade(question, write)
    await write(frame(1, b"socket %d" % question.count("socket")) + frame(8, (1001).to_bytes(2)))
    await heard(read)


def _persisted(question: Question) -> Reply:
    """Know a query by its hash when it was posted once."""
    if question.method == "POST":
        question.count("known")
    if question.memory.get("known"):
        return data('{"data":{"leaf":"green"}}', ("Cache-Control", "no-store"))
    return data('{"errors":[{"message":"PersistedQueryNotFound"}]}', ("Cache-Control", "no-store"))


def _batch(question: Question) -> Reply:
    calls = json.loads(question.body)
    answers = [{"jsonrpc": "2.0", "id": call["id"], "result": call["method"].upper()} for call in calls]
    return data(json.dumps(answers))


def _saved(question: Question) -> Reply:
    if question.headers.get("x-csrf-token") != "t0k3n-of-this-visit-4711":
        return data('"no token"')
    return data(f'"saved {json.loads(question.body)["word"]}"')


def _page_after(question: Question) -> Reply:
    """Answer with the pictures behind a cursor."""
    cursor = json.loads(question.body).get("cursor") or "p0"
    at = int(cursor[1:])
    following = f'"p{at + 1}"' if at < 3 else "null"
    return data(f'{{"pictures": ["152x{10 + at}-c{at}.png"], "next": {following}}}', ("Cache-Control", "no-store"))


def _binary(question: Question) -> Reply:
    return Reply(bytes([7, question.body[-1]]), "application/grpc-web+proto")


def _by_variable(question: Question) -> Reply:
    return data(f'"{json.loads(question.body)["variables"]["fruit"]}"')


def _unavailable_first(question: Question) -> Reply:
    if question.count("asked") < 3:
        return Reply("later", status=503, headers=(("Retry-After", "1"), ("Cache-Control", "no-store")))
    return Reply("now", headers=(("Cache-Control", "no-store"),))


def _news(question: Question) -> Reply:
    return Reply(f"news {question.count('asked')}", headers=(("Cache-Control", "no-store"),))


def _coded(body: bytes, coding: str) -> Reply:
    return Reply(body, headers=(("Content-Encoding", coding),))


def _in(charset: str, text: str, kind: str, *, told: str = "") -> Reply:
    return Reply(text.encode(charset), f"{kind}; charset={told}" if told else kind)


def _frame_text(part: str, text: str) -> str:
    escaped = text.encode("ascii", "backslashreplace").decode()
    return f"<p id=p>{text}</p><script>p.textContent === '{escaped}' && parent.postMessage({{part: '{part}'}}, '*')</script>"


_FOUR: Final = tuple(len(MP4) * at // 4 for at in range(5))
_FILM: Final[dict[str, File]] = {"film.mp4": ranged(MP4, "video/mp4")}
_TAKEN: Final = (
    "if (!navigator.serviceWorker.controller) await new Promise(go => navigator.serviceWorker.oncontrollerchange = go);"
)
_CLAIM: Final = (
    "addEventListener('install', () => skipWaiting()); addEventListener('activate', e => e.waitUntil(clients.claim()));"
)

MODERN_REQUESTS: Final = (
    Feature(
        "graphql-persisted",
        "A query is asked for by its hash, posted when the server does not know it, and asked for again.",
        f"<script>const hash = '{_HASH}', extensions = JSON.stringify({{persistedQuery: {{version: 1, sha256Hash: hash}}}});"
        "const url = 'graphql?operationName=Leaf&variables=' + encodeURIComponent('{\"id\":7}') + '&extensions=' + encodeURIComponent(extensions);"
        "(async () => { const first = await (await fetch(url)).json(); if (first.errors) proof.done('unknown');"
        "const init = {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({query: 'query Leaf { leaf }', extensions})};"
        'await proof.text(\'graphql\', \'{"data":{"leaf":"green"}}\', \'posted\', init); await proof.text(url, \'{"data":{"leaf":"green"}}\', \'known\'); })();</script>',
        parts=("unknown", "posted", "known"),
        proofs=(Proof(r"graphql\?operationName.*", 2), Proof("graphql.*", 3)),
        files={"graphql": _persisted},
    ),
    Feature(
        "rpc-batch",
        "Calls of JSON-RPC are posted in batches to one URL.",
        "<script>let id = 0; const call = async (...methods) => { const body = JSON.stringify(methods.map(method => ({jsonrpc: '2.0', id: ++id, method, params: []})));"
        "const answers = await (await fetch('rpc', {method: 'POST', headers: {'Content-Type': 'application/json'}, body})).json();"
        "for (const answer of answers) proof.done(answer.result); }; call('moss', 'fern'); call('leaf');</script>",
        parts=("MOSS", "FERN", "LEAF"),
        proofs=(Proof("rpc.*", 2),),
        files={"rpc": _batch},
    ),
    Feature(
        "token-then-post",
        "A script fetches a token, and posts it with a random id, in the body and in a header.",
        "<script>(async () => { const {token} = await (await fetch('token', {cache: 'no-store'})).json();"
        "for (const word of ['leaf', 'root']) { const body = JSON.stringify({id: crypto.randomUUID(), at: Date.now(), token, word});"
        "await proof.text('save', `\"saved ${word}\"`, word, {method: 'POST', body, headers: {'Content-Type': 'application/json', 'X-CSRF-Token': token}}); } })();</script>",
        parts=("leaf", "root"),
        proofs=("token", Proof("save.*", 2)),
        files={"token": data('{"token": "t0k3n-of-this-visit-4711"}'), "save": _saved},
    ),
    Feature(
        "cursor-post",
        "A list grows while it is scrolled, by posts with the cursor of the last answer.",
        "<div id=list></div><div id=end style='height:20px'>More</div><script>let cursor = null, busy = false, over = false; const more = async () => { if (busy || over) return; busy = true;"
        "const answer = await (await fetch('page', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({size: 1, cursor})})).json();"
        "for (const name of answer.pictures) { const box = document.createElement('div'); box.style.height = '1500px'; list.append(box); proof.add(name, box); }"
        "cursor = answer.next; over = !cursor; busy = false; };"
        "new IntersectionObserver(e => e.some(x => x.isIntersecting) && more()).observe(end);</script>",
        parts=("c0", "c1", "c2", "c3"),
        proofs=(Proof("page.*", 4), *(f"152x{10 + at}-c{at}.png" for at in range(4))),
        files={"page": _page_after},
    ),
    Feature(
        "binary-post",
        "Messages in bytes are posted to one URL, with and without a type.",
        "<script>const ask = async (last, type) => { const answer = await fetch('pb.Service/Get', {method: 'POST', body: new Uint8Array([0, 0, 0, 0, 2, 255, last]),"
        "headers: type ? {'Content-Type': type} : {}}); const bytes = new Uint8Array(await answer.arrayBuffer()); if (bytes[1] === last) proof.done(`m${last}`); };"
        "ask(1, 'application/grpc-web+proto'); ask(2, 'application/grpc-web+proto'); ask(3, '');</script>",
        parts=("m1", "m2", "m3"),
        proofs=(Proof("pb.*", 3),),
        files={"pb.Service/Get": _binary},
    ),
    Feature(
        "long-body",
        "Two long queries are posted at once, which differ at their end alone.",
        "<script>for (const fruit of ['apple', 'pear']) proof.text('api', `\"${fruit}\"`, fruit, {method: 'POST', headers: {'Content-Type': 'application/json'},"
        "body: JSON.stringify({query: 'query Q { ' + 'leaf '.repeat(1500) + '}', variables: {fruit}})});</script>",
        parts=("apple", "pear"),
        proofs=(Proof("api.*", 2),),
        files={"api": _by_variable},
    ),
    Feature(
        "events-again",
        "An EventSource connects again with the id of its last event, until the server ends it.",
        "<script>const source = new EventSource('events'); source.onmessage = ({data}) => proof.done(data.replace(' ', '-'));</script>",
        parts=("event-1", "event-2"),
        proofs=(Proof("events", 2),),
        files={"events": Raw(_reconnected)},
    ),
    Feature(
        "post-stream",
        "A posted question is answered by a stream of events, word by word.",
        "<script>(async () => { const answer = await fetch('ask', {method: 'POST', headers: {'Content-Type': 'application/json', Accept: 'text/event-stream'}, body: '{\"question\": \"what grows?\"}'});"
        "const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader(); let all = ''; for (;;) { const {done, value} = await reader.read(); if (done) break; all += value; }"
        "if (all.split('\\n\\n').filter(Boolean).map(line => JSON.parse(line.slice(6))).join('') === 'moss and fern') proof.done('words'); })();</script>",
        parts=("words",),
        proofs=("ask.*",),
        files={"ask": Raw(_typed)},
    ),
    Feature(
        "json-lines",
        "A stream has a JSON text in each line, and each names a picture.",
        "<script>(async () => { const reader = (await fetch('lines')).body.pipeThrough(new TextDecoderStream()).getReader(); let rest = '';"
        "for (;;) { const {done, value} = await reader.read(); if (done) break; rest += value; const lines = rest.split('\\n'); rest = lines.pop();"
        "for (const line of lines) proof.add(JSON.parse(line).picture); } })();</script>",
        parts=("l1", "l2", "l3"),
        proofs=("lines", "151x10-l1.png", "151x11-l2.png", "151x12-l3.png"),
        files={"lines": Raw(_json_lines)},
    ),
    Feature(
        "socket-bytes",
        "A WebSocket has a protocol, sends many bytes, and is closed by the server with a code.",
        "<script>const socket = new WebSocket('wss://www.features.test/socket-bytes/socket', ['leaf.v2', 'leaf.v1']); socket.binaryType = 'arraybuffer';"
        "socket.onopen = () => socket.protocol === 'leaf.v1' && proof.done('protocol'); socket.onmessage = ({data}) => { if (data.byteLength === 70000) { proof.done('many'); socket.send(new Uint8Array([9, 8, 7])); }"
        "else if (new Uint8Array(data)[0] === 9) proof.done('echo'); }; socket.onclose = ({code}) => code === 4001 && proof.done('closed');</script>",
        parts=("protocol", "many", "echo", "closed"),
        proofs=("socket",),
        files={"socket": Raw(_bytes_socket)},
    ),
    Feature(
        "socket-again",
        "A WebSocket is closed by the server, and the page connects again.",
        "<script>const connect = left => { const socket = new WebSocket('wss://www.features.test/socket-again/socket');"
        "socket.onmessage = ({data}) => proof.done(data.replace(' ', '-')); socket.onclose = () => left && setTimeout(connect, 200, left - 1); }; connect(1);</script>",
        parts=("socket-1", "socket-2"),
        proofs=(Proof("socket", 2),),
        files={"socket": Raw(_short_socket)},
    ),
    Feature(
        "transport-fallback",
        "WebTransport can't connect, and the page fetches instead.",
        "<script>(async () => { try { const transport = new WebTransport('https://www.features.test:4433/t'); transport.closed.catch(() => {});"
        "await Promise.race([transport.ready, new Promise((go, no) => setTimeout(no, 1500))]); } catch { await proof.text('instead.txt', 'leaf', 'instead'); } })();</script>",
        parts=("instead",),
        proofs=("instead.txt",),
        files={"instead.txt": Reply("leaf")},
    ),
    Feature(
        "range-append",
        "A player fetches a film in ranges and appends them.",
        "<video id=film muted width=64 height=48></video><script>(async () => { const source = new MediaSource(); film.src = URL.createObjectURL(source); await new Promise(go => source.onsourceopen = go);"
        f"const buffer = source.addSourceBuffer('video/mp4; codecs=\"avc1.42E01E\"'), cuts = {list(_FOUR)};"
        "for (let at = 0; at < 4; at++) { const answer = await fetch('film.mp4', {headers: {Range: `bytes=${cuts[at]}-${cuts[at + 1] - 1}`}}); if (answer.status !== 206) return;"
        "buffer.appendBuffer(await answer.arrayBuffer()); await new Promise(go => buffer.onupdateend = go); }"
        "source.endOfStream(); await film.play(); film.requestVideoFrameCallback(() => proof.done('playing')); })();</script>",
        parts=("playing",),
        proofs=(Proof("film.mp4", 4),),
        files=_FILM,
    ),
    Feature(
        "retry-later",
        "A script asks again while the server answers 503.",
        "<script>(async () => { for (let tries = 0; tries < 6; tries++) { const answer = await fetch('soon'); if (answer.ok) { if (await answer.text() === 'now') proof.done('now'); return; }"
        "if (answer.headers.get('Retry-After') === '1') proof.done('later'); await new Promise(go => setTimeout(go, 300)); } })();</script>",
        parts=("later", "now"),
        proofs=("soon",),
        files={"soon": _unavailable_first},
    ),
    Feature(
        "codings-odd",
        "Texts have rare codings: x-gzip, deflate without a head, two codings in turn, and identity.",
        "<script>for (const name of ['xgzip', 'raw', 'both', 'identity']) proof.text(name, 'leaf', name);</script>",
        parts=("xgzip", "raw", "both", "identity"),
        proofs=("xgzip", "raw", "both", "identity"),
        files={
            "xgzip": _coded(gzip.compress(b"leaf", mtime=0), "x-gzip"),
            "raw": _coded(zlib.compress(b"leaf")[2:-4], "deflate"),
            "both": _coded(brotli.compress(gzip.compress(b"leaf", mtime=0)), "gzip, br"),
            "identity": _coded(b"leaf", "identity"),
        },
    ),
    Feature(
        "charsets",
        "Frames and a script have old charsets, which a header, a tag or their first bytes tell.",
        "<iframe src=header.html></iframe><iframe src=tag.html></iframe><iframe src=mark.html></iframe><script src=words.js charset=windows-1251></script>",
        parts=("header", "tag", "mark", "script"),
        proofs=("header.html", "tag.html", "mark.html", "words.js"),
        files={
            "header.html": _in("windows-1251", _frame_text("header", "сад"), "text/html", told="windows-1251"),
            "tag.html": _in("shift_jis", "<meta charset=shift_jis>" + _frame_text("tag", "庭"), "text/html"),
            "mark.html": _in("utf-16", _frame_text("mark", "jardín"), "text/html"),
            "words.js": _in(
                "windows-1251", "if ('сад' === '\\u0441\\u0430\\u0434') proof.done('script');", "text/javascript"
            ),
        },
    ),
    Feature(
        "redirect-parts",
        "A style sheet, a script, a module, a font and a frame are redirected, and what they name is relative to the new place.",
        "<div id=box style='height:30px'></div><script>proof.resource('153x10-moved.png', 'moved'); fetch('r/data').then(async a => a.redirected && a.url.endsWith('/new/data.txt') && await a.text() === 'leaf' && proof.done('data'));</script>"
        "<script src=r/script></script><script type=module src=r/module></script><iframe src=r/frame></iframe>",
        head="<link rel=stylesheet href=r/style>",
        parts=("moved", "data", "script", "module", "frame"),
        proofs=(
            *(f"r/{name}" for name in ("style", "script", "module", "frame", "data")),
            "new/look.css",
            "new/153x10-moved.png",
            "new/side.js",
        ),
        files={
            **{
                f"r/{name}": Reply("", status=status, headers=(("Location", f"../new/{to}"),))
                for name, status, to in (
                    ("style", 301, "look.css"),
                    ("script", 307, "plain.js"),
                    ("module", 302, "main.js"),
                    ("frame", 308, "inner.html"),
                    ("data", 303, "data.txt"),
                )
            },
            "new/look.css": Reply("#box {background: url(153x10-moved.png)}", "text/css"),
            "new/plain.js": js("proof.done('script');"),
            "new/main.js": js("import './side.js';"),
            "new/side.js": js("proof.done('module');"),
            "new/inner.html": page(
                "<script>location.pathname.endsWith('inner.html') && parent.postMessage({part: 'frame'}, '*')</script>"
            ),
            "new/data.txt": Reply("leaf"),
        },
    ),
    Feature(
        "service-shell",
        "A service worker answers every address of an application with its shell.",
        f"<script>navigator.serviceWorker.register('sw.js').then(() => navigator.serviceWorker.ready).then(async () => {{ {_TAKEN}"
        "const frame = document.createElement('iframe'); frame.src = 'app/plants/7'; document.body.append(frame); });</script>",
        parts=("shell",),
        proofs=("sw.js", "shell.html", "app/plants.json"),
        files={
            "sw.js": js(
                _CLAIM
                + "addEventListener('install', e => e.waitUntil(caches.open('s').then(c => c.add('shell.html'))));"
                "addEventListener('fetch', e => { if (e.request.mode === 'navigate' && e.request.url.includes('/app/')) e.respondWith(caches.match('shell.html')); });"
            ),
            "shell.html": page(
                "<script>fetch('../plants.json').then(a => a.json()).then(n => n === 7 && parent.postMessage({part: 'shell'}, '*'))</script>"
            ),
            "app/plants.json": data("7"),
        },
    ),
    Feature(
        "service-update",
        "A second version of a service worker takes the page over.",
        f"<script>(async () => {{ navigator.serviceWorker.onmessage = ({{data}}) => proof.done(data); await navigator.serviceWorker.register('sw.js?v=1'); await navigator.serviceWorker.ready; {_TAKEN}"
        "const taken = new Promise(go => navigator.serviceWorker.oncontrollerchange = go); navigator.serviceWorker.controller.postMessage('version'); await new Promise(go => setTimeout(go, 300));"
        "await navigator.serviceWorker.register('sw.js?v=2'); await taken; navigator.serviceWorker.controller.postMessage('version'); })();</script>",
        parts=("v1", "v2"),
        proofs=(r"sw\.js\?v=1", r"sw\.js\?v=2"),
        files={
            "sw.js": lambda q: js(
                _CLAIM + f"addEventListener('message', e => e.source.postMessage('v{q.query.removeprefix('v=')}'));"
            )
        },
    ),
    Feature(
        "service-revalidate",
        "A service worker answers from its cache and fetches the next version meanwhile.",
        f"<script>navigator.serviceWorker.register('sw.js').then(() => navigator.serviceWorker.ready).then(async () => {{ {_TAKEN}"
        "for (const [expected, part] of [['news 1', 'first'], ['news 1', 'cached'], ['news 2', 'second']]) { await proof.text('news', expected, part); await new Promise(go => setTimeout(go, 700)); } });</script>",
        parts=("first", "cached", "second"),
        proofs=("sw.js", Proof("news", 2)),
        files={
            "sw.js": js(
                _CLAIM + "addEventListener('fetch', e => { if (!e.request.url.endsWith('/news')) return;"
                "e.respondWith(caches.open('n').then(async cache => { const old = await cache.match(e.request);"
                "const fresh = fetch(e.request).then(a => { cache.put(e.request, a.clone()); return a; }); e.waitUntil(fresh); return old || fresh; })); });"
            ),
            "news": _news,
        },
    ),
)
