"""These features are about what pages load: the requests, answers, media, scripts and platform of sites of 2026."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import io
import json
import secrets
import sqlite3
import time
import zipfile
from contextlib import closing
from typing import Final
from urllib.parse import parse_qs, quote

from feature_site.feature import Feature, Proof, Question, Raw, Reply, css, data, js, page, png
from feature_site.media import MP4, TONE, WEBM, ranged
from feature_site.pictures import FONT
from feature_site.sockets import Read, Write, heard, upgrade
from feature_site.whole_pages import html, whole
from support.clients.websocket import BINARY, TEXT, frame

_NO_STORE: Final = ("Cache-Control", "no-store")


def _asked(question: Question) -> dict[str, str]:
    """Return the first value of each parameter of the query."""
    return {name: values[0] for name, values in parse_qs(question.query).items()}


def _posted(question: Question) -> dict[str, str]:
    """Return the first value of each field of a posted form."""
    return {name: values[0] for name, values in parse_qs(question.body.decode()).items()}


def _digest(text: str) -> str:
    """Return the source expression of a text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


_RUNTIME: Final = """(() => { "use strict"; const modules = {}, kept = {}, installed = {};
const need = id => { if (kept[id]) return kept[id].exports; const module = kept[id] = {exports: {}}; modules[id](module, module.exports, need); return module.exports; };
need.p = document.currentScript.src.replace(/#.*$/, '').replace(/\\?.*$/, '').replace(/\\/js\\/[^/]+$/, '/');
need.u = id => `js/${({412: 'gallery'})[id] || id}.${({412: '5fd1c2aa', 87: '0b9e77d1'})[id]}.chunk.js`; need.miniCssF = id => `css/gallery.${({412: '91ac03fe'})[id]}.chunk.css`;
const push = list => { list.push = ([ids, more]) => { Object.assign(modules, more); for (const id of ids) if (installed[id]) { installed[id].go(); installed[id] = 0; } }; };
const script = id => installed[id] === 0 ? undefined : (installed[id] ??= (() => { let go, no; const promise = new Promise((a, b) => { go = a; no = b; }), s = document.createElement('script'); s.charset = 'utf-8'; s.timeout = 120; s.setAttribute('data-webpack', `leaf:chunk-${id}`); s.src = need.p + need.u(id); s.onerror = () => no(new Error('ChunkLoadError')); document.head.append(s); return {promise, go}; })()).promise;
const style = id => id === 412 && new Promise((go, no) => { const l = document.createElement('link'); l.rel = 'stylesheet'; l.href = need.p + need.miniCssF(id); l.onload = go; l.onerror = no; document.head.append(l); });
need.e = id => Promise.all([script(id), style(id)]); const list = self.webpackChunkleaf = self.webpackChunkleaf || []; push(list); need.go = () => need(1); self.__leaf = need; })();"""

_VITE_MAIN: Final = """import {mark} from './vendor-Ck2x9aQe.js';
const deps = ['assets/Gallery-DqN1tJ7b.js', 'assets/shared-Bf0aW3xZ.js', 'assets/Gallery-Cx8Lm2Pq.css'], known = {};
const preload = async (load, list) => { await Promise.all(list.map(at => { const href = '/vite-build/' + deps[at]; if (known[href] || document.querySelector(`link[href="${href}"]`)) return; known[href] = true; const l = document.createElement('link'), sheet = href.endsWith('.css'); l.rel = sheet ? 'stylesheet' : 'modulepreload'; if (!sheet) l.as = 'script'; l.crossOrigin = ''; l.href = href; document.head.append(l); if (sheet) return new Promise((go, no) => { l.onload = go; l.onerror = no; }); })); return load(); };
mark('app'); const {show} = await preload(() => import('./Gallery-DqN1tJ7b.js'), [0, 1, 2]); show(document.getElementById('app'));"""

_REMOTE: Final = """var leafShop = (() => { const own = document.currentScript.src, base = own.slice(0, own.lastIndexOf('/') + 1); let scope;
const chunk = name => new Promise((go, no) => { const s = document.createElement('script'); s.src = base + name; s.async = true; s.onload = () => go(self.leafShopChunks[name]); s.onerror = no; document.head.append(s); });
return {init: async shared => { scope = shared; }, get: async name => { if (name !== './Basket') throw new Error(name); const make = await chunk('src_Basket_3a7c.js'); return () => make(scope.view['1.4.0'].get(), base); }}; })();"""


async def _pieces(question: Question, write: Write, read: Read) -> None:
    """Send a fragment in three pieces, with time between them."""
    await write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\n")
    await write(b"Transfer-Encoding: chunked\r\n\r\n")
    parts = ("<ol><li><img src='485x20-first.png'>", "</li><li><p>Text <img src='485x2", "1-second.png'></p></li></ol>")
    for part in parts:
        await write(b"%x\r\n%s\r\n" % (len(part), part.encode()))
        await asyncio.sleep(0.4)
    await write(b"0\r\n\r\n")


def _preloaded(question: Question) -> Reply:
    """Answer with the part of a page to a preload of a service worker, and else with its frame alone."""
    vary = ("Vary", "Service-Worker-Navigation-Preload")
    if question.headers.get("service-worker-navigation-preload") != "part":
        return page("<p>Shell", vary, _NO_STORE)
    picture = "<img src='/navigation-preload/486x20-story.png' onload=\"parent.postMessage({part: 'story'}, '*')\">"
    return page(picture, vary, _NO_STORE)


def _vp8(body: bytes) -> list[bytes]:
    """Return the frames of a WebM film with one track."""
    frames: list[bytes] = []

    def walk(at: int, end: int) -> None:
        while at < end:
            first = body[at]
            id_size = 9 - first.bit_length()
            name = body[at : at + id_size]
            at += id_size
            size_size = 9 - body[at].bit_length()
            size = int.from_bytes(body[at : at + size_size]) & ((1 << 7 * size_size) - 1)
            at += size_size
            stop = end if size == (1 << 7 * size_size) - 1 else min(end, at + size)
            if name in (b"\x18\x53\x80\x67", b"\x1f\x43\xb6\x75", b"\xa0"):  # segment, cluster, block group
                walk(at, stop)
            elif name in (b"\xa3", b"\xa1"):  # simple block, block
                frames.append(body[at + 4 : stop])
            at = stop

    walk(0, len(body))
    return frames


_FRAMES: Final = _vp8(WEBM)[:6]
_ANSWER_WASM: Final = bytes.fromhex("0061736d0100000001050160 00017f 03020100 070a0106616e7377657200000a06010400412a0b")
_PACKED: Final = (b"leaf: 7\n", png("emscripten-package/inside", (494, 20)))
_GLUE: Final = """(async () => { const M = self.Module, path = M.locateFile('leaf.wasm'), imports = {env: {}};
const whole = async () => WebAssembly.instantiate(await (await fetch(path, {credentials: 'same-origin'})).arrayBuffer(), imports);
const made = await WebAssembly.instantiateStreaming(fetch(path, {credentials: 'same-origin'}), imports).catch(e => { console.warn('falling back to ArrayBuffer instantiation', e.message); return whole(); });
const x = new XMLHttpRequest(); x.open('GET', M.locateFile('leaf.data'), true); x.responseType = 'arraybuffer'; x.onprogress = e => M.setStatus?.(`Downloading data... (${e.loaded}/${e.total})`); x.onload = () => { if (x.status !== 200 || x.response.byteLength !== M.files.at(-1).end) return; const FS = {}; for (const f of M.files) FS[f.filename] = new Uint8Array(x.response, f.start, f.end - f.start); M.onRuntimeInitialized(made.instance.exports, FS); }; x.send(null); })();"""

_INNER: Final = png("gltf-scene/inner", (496, 20))
_BIN: Final = bytes(48) + _INNER + bytes(-len(_INNER) % 4)
_GLTF: Final = {
    "asset": {"version": "2.0"},
    "scene": 0,
    "scenes": [{"nodes": [0]}],
    "nodes": [{"mesh": 0}],
    "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "material": 0}]}],
    "accessors": [{"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"}],
    "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}, "normalTexture": {"index": 1}}],
    "textures": [{"source": 0}, {"source": 1}],
    "images": [{"uri": "textures/496x21-base.png"}, {"bufferView": 1, "mimeType": "image/png"}],
    "bufferViews": [
        {"buffer": 0, "byteOffset": 0, "byteLength": 48},
        {"buffer": 0, "byteOffset": 48, "byteLength": len(_INNER)},
    ],
    "buffers": [{"uri": "scene.bin", "byteLength": len(_BIN)}],
}


def _chunk(*values: int) -> Reply:
    """Return the chunk of an array, which is packed by its writer and not by the server."""
    return Reply(gzip.compress(bytes(values), mtime=0), "application/octet-stream")


def _database() -> bytes:
    """Return a database of many pages, whose last rows name a picture."""
    with closing(sqlite3.connect(":memory:")) as base, base:
        base.execute("PRAGMA page_size = 1024")
        base.execute("CREATE TABLE works (id INTEGER PRIMARY KEY, title TEXT, picture TEXT)")
        rows = [(at, f"Work {at} " + "x" * 300, f"999x20-work{at}.jpg") for at in range(90)]
        base.executemany("INSERT INTO works VALUES (?, ?, ?)", rows)
        base.execute("INSERT INTO works VALUES (90, 'The last', '499x20-last.png')")
        return base.serialize()


_DATABASE: Final = _database()
_SQL_WORKER: Final = """const url = new URL('catalogue.sqlite3', location.href).href, pages = new Map();
const ask = (method, range) => { const x = new XMLHttpRequest(); x.open(method, url, false); if (range) { x.setRequestHeader('Range', range); x.responseType = 'arraybuffer'; } x.send(); return x; };
onmessage = () => { const head = ask('HEAD'), length = +head.getResponseHeader('Content-Length'); if (head.getResponseHeader('Accept-Ranges') !== 'bytes') return; const first = ask('GET', 'bytes=0-99'), size = new DataView(first.response).getUint16(16), count = new DataView(first.response).getUint32(28);
  if (first.status !== 206 || first.response.byteLength !== 100 || size * count !== length) return; const page = n => { if (!pages.has(n)) { const from = (n - 1) * size, x = ask('GET', `bytes=${from}-${from + size - 1}`); if (x.status !== 206 || x.response.byteLength !== size) throw new Error('range'); pages.set(n, x.response); } return new DataView(pages.get(n)); };
  const name = new TextDecoder('latin1'), schema = page(1); if (schema.getUint8(100) !== 13) return; let at = 2; while (page(at).getUint8(0) === 5) at = page(at).getUint32(8); const found = /499x20-\\w+\\.png/.exec(name.decode(pages.get(at))); if (found) postMessage(found[0]); };"""


def _archive() -> bytes:
    """Return an archive with much ballast before its picture."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as packed:
        packed.writestr(zipfile.ZipInfo("ballast.bin"), bytes(150_000))
        packed.writestr(zipfile.ZipInfo("cover.png"), png("zip-suffix/cover", (500, 20)))
    return file.getvalue()


_ARCHIVE: Final = _archive()


def _by_suffix(question: Question) -> Reply:
    """Answer ranges of an archive, also those that count from its end."""
    wanted = question.headers.get("range", "").removeprefix("bytes=")
    first, _, last = wanted.partition("-")
    size = len(_ARCHIVE)
    start = int(first) if first else size - int(last or size)
    end = int(last) if first and last else size - 1
    head = (("Accept-Ranges", "bytes"), ("ETag", '"leaf-7"'))
    if not wanted:
        return Reply(_ARCHIVE, "application/zip", headers=head)
    where = ("Content-Range", f"bytes {start}-{end}/{size}")
    return Reply(_ARCHIVE[start : end + 1], "application/zip", 206, (where, *head))


def _faces(question: Question) -> Reply:
    """Answer as a service of fonts does: with the faces of the families that the query names."""
    home = "https://elsewhere.test/font-service/s"
    parts = {
        "Leaf Serif": (("latin", "U+0000-00FF, U+2019"), ("greek", "U+0370-03FF"), ("cyrillic", "U+0400-04FF")),
        "Leaf Icons": (("icons", "U+E000-F8FF"),),
    }
    rules = [
        f"/* {part} */ @font-face {{ font-family: '{family}'; font-style: normal; font-weight: 400 700; font-display: swap;"
        f" src: url({home}/{family.replace(' ', '').lower()}/v7/{part}.woff2) format('woff2'); unicode-range: {letters}; }}"
        for asked in parse_qs(question.query, separator="&")["family"]
        for family in (asked.partition(":")[0],)
        for part, letters in parts[family]
    ]
    return css("\n".join(rules))


_BLOBS: Final = {
    hashlib.sha256(body).hexdigest(): body
    for body in (png("content-addressed/leaf", (502, 20)), b'{"title": "The leaf", "picture": "leaf.png"}')
}
_LEAF_BLOB, _INDEX_BLOB = _BLOBS


def _grpc(question: Question) -> Reply:
    """Answer a call whose frames are written in Base64, with a message and with trailers."""
    body = base64.b64decode(question.body)
    word = body[7 : 7 + body[6]].decode()
    name = f"503x20-{word}.png".encode()
    message = b"\x0a" + bytes([len(name)]) + name
    trailers = b"grpc-status:0\r\ngrpc-message:\r\n"
    frames = (b"\0" + len(message).to_bytes(4) + message, b"\x80" + len(trailers).to_bytes(4) + trailers)
    answer = b"".join(base64.b64encode(each) for each in frames)  # each frame has a padding of its own
    return Reply(answer, "application/grpc-web-text+proto")


def _procedures(question: Question) -> Reply:
    """Answer a batch of procedures in lines, the last call first."""
    names = question.path.removeprefix("trpc/").split(",")
    given = json.loads(_asked(question)["input"])
    lines = [{str(at): [[0], [None, 0, at]] for at in range(len(names))}]
    answers = [
        {"id": at, "result": {"data": f"504x2{at}-{name.replace('.', '-')}-{given[str(at)]['id']}.png"}}
        for at, name in enumerate(names)
    ]
    text = "\n".join(json.dumps(line) for line in (*lines, *answers[::-1]))
    return Reply(text + "\n", "application/jsonl", headers=(("Vary", "trpc-accept, accept"),), chunked=True)


async def _stomp(question: Question, write: Write, read: Read) -> None:
    """Speak STOMP: connect, confirm a subscription, and send two messages."""
    await upgrade(question, write, b"Sec-WebSocket-Protocol: v12.stomp")
    while True:
        opcode, payload = await heard(read)
        if opcode not in (TEXT, BINARY):
            return
        command, *lines = payload.decode().partition("\n\n")[0].split("\n")
        given = dict(line.split(":", 1) for line in lines if ":" in line)
        if command == "CONNECT":
            await write(frame(TEXT, b"CONNECTED\nversion:1.2\nheart-beat:0,0\nserver:leaf/1\n\n\0"))
        elif command == "SUBSCRIBE":
            await write(frame(TEXT, f"RECEIPT\nreceipt-id:{given['receipt']}\n\n\0".encode()))
            for at in (1, 2):
                head = f"MESSAGE\nsubscription:{given['id']}\nmessage-id:m-{at}\ndestination:{given['destination']}\n"
                body = json.dumps({"picture": f"505x2{at}-tide{at}.png"})
                text = f"{head}content-type:application/json\ncontent-length:{len(body)}\n\n{body}\0"
                await write(frame(TEXT, text.encode()))


def _token(question: Question) -> Reply:
    """Give a token that is old already for the client's name, and a good one for a refresh."""
    refreshes = _posted(question).get("grant_type") == "refresh_token"
    if refreshes and _posted(question).get("refresh_token") != "leaf-refresh":
        return Reply('{"error": "invalid_grant"}', "application/json", 400)
    kind = "fresh" if refreshes else "stale"
    answer = {"access_token": f"{kind}.{secrets.token_urlsafe(16)}", "token_type": "Bearer", "expires_in": 300}
    return data(json.dumps(answer | {"refresh_token": "leaf-refresh"}), _NO_STORE)


def _guarded_works(question: Question) -> Reply:
    """Answer to a fresh token alone."""
    if not question.headers.get("authorization", "").startswith("Bearer fresh."):
        head = (("WWW-Authenticate", 'Bearer error="invalid_token"'), _NO_STORE)
        return Reply('{"error": "token_expired"}', "application/json", 401, head)
    return data('{"works": ["506x20-vase.png", "506x21-bowl.png"]}', ("Vary", "Authorization"))


def _with_token(question: Question) -> Reply:
    """Answer with the page, and with a token in a cookie that scripts may read."""
    cookie = f"XSRF-TOKEN={secrets.token_urlsafe(18)}; Path=/csrf-cookie/; Secure; SameSite=Lax"
    return Reply(TOKENED.text(), "text/html; charset=utf-8", headers=(("Set-Cookie", cookie), _NO_STORE))


def _with_header(question: Question) -> Reply:
    """Answer when the header repeats the token of the cookie."""
    cookies = dict(each.strip().split("=", 1) for each in question.headers.get("cookie", "").split(";") if "=" in each)
    if not cookies.get("XSRF-TOKEN") or question.headers.get("x-xsrf-token") != cookies["XSRF-TOKEN"]:
        return Reply('{"message": "CSRF token mismatch."}', "application/json", 403)
    shelf = json.loads(question.body)["shelf"]
    return data(json.dumps({"picture": f"507x20-{shelf}.png"}))


def _trace(question: Question) -> Reply:
    """Say what a network knows of the visitor."""
    lines = f"fl=17f42\nh={question.host}\nip=192.0.2.7\nts={time.time():.3f}\ncolo=CPH\nsliver=none\nhttp=http/1.1\nloc=DK\ntls=TLSv1.3\n"
    return Reply(lines, "text/plain", headers=(_NO_STORE,))


def _worked(question: Question) -> Reply:
    """Answer with the page to a visitor who has done the work, and with new work to any other."""
    if "leaf-pass=" in question.headers.get("cookie", ""):
        return Reply(WORKED.text(), "text/html; charset=utf-8", headers=(_NO_STORE,))
    work = json.dumps({"rules": {"algorithm": "fast", "difficulty": 2}, "challenge": secrets.token_hex(32)})
    return Reply(
        "<!doctype html><html><head><title>Making sure you're not a bot!</title>"
        f'<script id="leaf_challenge" type="application/json">{work}</script></head><body><h1>Making sure you\'re not a bot!</h1>'
        '<p id="status">Loading...</p><script type="module" src="/proof-of-work/.within/main.mjs?cacheBuster=1.21"></script></body></html>',
        "text/html; charset=utf-8",
        headers=(_NO_STORE,),
    )


def _passed(question: Question) -> Reply:
    """Check the work, and lead the visitor back with a cookie."""
    asked = _asked(question)
    right = hashlib.sha256((asked["id"] + asked["nonce"]).encode()).hexdigest()
    if asked["response"] != right or not right.startswith("00"):
        return Reply("Wrong", status=403)
    cookie = f"leaf-pass={right[:24]}; Path=/proof-of-work/; HttpOnly; Secure; SameSite=Lax"
    return Reply(status=302, headers=(("Location", asked["redir"]), ("Set-Cookie", cookie), _NO_STORE))


def _sync(question: Question) -> Reply:
    """Redirect to a partner with an identifier that this host has just made."""
    there = "https://www.features.test/cookie-sync/510x20-matched.png"
    user = secrets.token_hex(8)
    where = f"https://elsewhere.test/cookie-sync/match?uid={user}&redir={quote(there, safe='')}%3Fpartner_uid%3D%24UID"
    cookie = ("Set-Cookie", f"uid={user}; Path=/; Secure; SameSite=None; Partitioned")
    return Reply(status=302, headers=(("Location", where), cookie, _NO_STORE))


def _match(question: Question) -> Reply:
    """Redirect back, with an identifier of the partner in place of the macro."""
    where = _asked(question)["redir"].replace("$UID", secrets.token_hex(8))
    return Reply(status=302, headers=(("Location", where), _NO_STORE))


_HASHED: Final = "proof.add('518x20-hashed.png');"
_HANDLER: Final = "proof.done('handler')"
_SHEET: Final = ".styled {height: 20px; background: url(518x22-styled.png)}"
_OUTER: Final = "proof.add('518x23-outer.png');"
_POLICY: Final = (
    f"default-src 'none'; script-src 'nonce-r4nd0m' '{_digest(_HASHED)}' '{_digest(_HANDLER)}' '{_digest(_OUTER)}' 'unsafe-hashes'; "
    f"style-src '{_digest(_SHEET)}'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'"
)

_SCRIPTS: Final = (
    Feature(
        "webpack-runtime",
        "A bundler's runtime finds its own folder, and loads chunks and their style sheets by tables of hashes.",
        """<div id="root"></div><script defer src="static/js/runtime~main.3c9d.js"></script><script defer src="static/js/main.77e0.js"></script><script>proof.resource('480x21-wall.png', 'wall');</script>""",
        parts=("hall", "wall"),
        proofs=(
            "static/js/runtime(~|%7E)main.3c9d.js",
            "static/js/main.77e0.js",
            "static/js/gallery.5fd1c2aa.chunk.js",
            "static/js/87.0b9e77d1.chunk.js",
            "static/css/gallery.91ac03fe.chunk.css",
            "static/media/480x20-hall.png",
            "static/media/480x21-wall.png",
        ),
        files={
            "static/js/runtime~main.3c9d.js": js(_RUNTIME),
            "static/js/main.77e0.js": js(
                "self.webpackChunkleaf.push([[179], {1: (module, exports, need) => { need.e(87).then(() => need.e(412)).then(() => need(4120).show(document.getElementById('root'))); }}]); __leaf.go();"
            ),
            "static/js/87.0b9e77d1.chunk.js": js(
                "(self.webpackChunkleaf = self.webpackChunkleaf || []).push([[87], {870: (module, exports, need) => { module.exports = need.p + 'media/480x20-hall.png'; }}]);"
            ),
            "static/js/gallery.5fd1c2aa.chunk.js": js(
                "(self.webpackChunkleaf = self.webpackChunkleaf || []).push([[412], {4120: (module, exports, need) => { exports.show = root => { root.innerHTML = `<div class='wall'></div><img src='${need(870)}'>`; }; }}]);"
            ),
            "static/css/gallery.91ac03fe.chunk.css": css(
                ".wall {height: 20px; background: url(../media/480x21-wall.png)}"
            ),
        },
    ),
    Feature(
        "vite-build",
        "A built application preloads the parts of a module, its style sheet, its worker and its picture by their hashes.",
        '<div id="app"></div>',
        head="""<script type="module" crossorigin src="/vite-build/assets/index-BvT5rY1k.js"></script><link rel="modulepreload" crossorigin href="/vite-build/assets/vendor-Ck2x9aQe.js"><link rel="stylesheet" crossorigin href="/vite-build/assets/index-Dz7Hq0Us.css">""",
        parts=("app", "hall", "worker", "panel"),
        proofs=(
            "assets/index-BvT5rY1k.js",
            "assets/vendor-Ck2x9aQe.js",
            "assets/Gallery-DqN1tJ7b.js",
            "assets/shared-Bf0aW3xZ.js",
            "assets/Gallery-Cx8Lm2Pq.css",
            "assets/search.worker-A1b2C3d4.js",
            "assets/words.json",
            "assets/481x20-hall.png",
            "assets/481x21-panel.png",
        ),
        files={
            "assets/index-BvT5rY1k.js": js(_VITE_MAIN),
            "assets/vendor-Ck2x9aQe.js": js("export const mark = part => proof.done(part);"),
            "assets/index-Dz7Hq0Us.css": css("#app {min-height: 30px}"),
            "assets/Gallery-Cx8Lm2Pq.css": css(".panel {height: 21px; background: url(./481x21-panel.png)}"),
            "assets/shared-Bf0aW3xZ.js": js("export const word = 'leaf';"),
            "assets/Gallery-DqN1tJ7b.js": js(
                "import {word} from './shared-Bf0aW3xZ.js'; const hall = new URL('481x20-hall.png', import.meta.url).href; export const show = app => { proof.resource('481x21-panel.png', 'panel'); app.innerHTML = `<div class='panel'></div><img src='${hall}'>`; const worker = new Worker(new URL('/vite-build/assets/search.worker-A1b2C3d4.js', import.meta.url), {type: 'module', name: 'search'}); worker.onmessage = e => e.data === word && proof.done('worker'); worker.postMessage(1); };"
            ),
            "assets/search.worker-A1b2C3d4.js": js(
                "import {word} from './shared-Bf0aW3xZ.js'; onmessage = async e => { const words = await (await fetch(new URL('words.json', import.meta.url))).json(); postMessage(words[e.data] === word ? word : ''); };"
            ),
            "assets/words.json": data('["tree", "leaf"]'),
        },
    ),
    Feature(
        "module-federation",
        "A shop's part comes from another host: its manifest, its entry and its chunk, which get a library from the page.",
        """<div id="basket"></div><script>
const scope = {view: {'1.4.0': {get: () => ({draw: (at, src) => { document.getElementById(at).innerHTML = `<img src="${src}">`; }}), from: 'host', loaded: 1}}};
(async () => { const where = 'https://cdn.features.test/module-federation/shop/mf-manifest.json', {metaData: meta} = await (await fetch(where)).json(); await new Promise((go, no) => { const s = document.createElement('script'); s.src = new URL(meta.remoteEntry.path + meta.remoteEntry.name, where).href; s.async = true; s.onload = go; s.onerror = no; document.head.append(s); });
  const remote = window[meta.globalName]; await remote.init(scope); (await remote.get('./Basket'))(); })();</script>""",
        parts=("basket",),
        proofs=(
            "shop/mf-manifest.json",
            "shop/remoteEntry.8be1.js",
            "shop/src_Basket_3a7c.js",
            "shop/482x20-basket.png",
        ),
        files={
            "shop/mf-manifest.json": data(
                '{"id": "leafShop", "metaData": {"remoteEntry": {"name": "remoteEntry.8be1.js", "path": "", "type": "global"}, "globalName": "leafShop", "publicPath": "auto"}}'
            ),
            "shop/remoteEntry.8be1.js": js(_REMOTE),
            "shop/src_Basket_3a7c.js": js(
                "(self.leafShopChunks ??= {})['src_Basket_3a7c.js'] = (view, base) => view.draw('basket', base + '482x20-basket.png');"
            ),
        },
    ),
    Feature(
        "link-header",
        "The head of the answer names a picture, a style sheet, data and a module to load early, and a host to connect with.",
        """<div class="hero"></div><script type="module">
import {name} from './parts/late.js'; const {picture} = await (await fetch('start.json')).json(); if (name === 'late') proof.add(picture);</script>""",
        head="""<script>new PerformanceObserver(list => { for (const e of list.getEntries()) if (e.name.endsWith('483x20-hero.png') && ['link', 'early-hints'].includes(e.initiatorType) && e.responseStatus === 200) proof.done('hero'); }).observe({type: 'resource', buffered: true});</script>
<link rel="stylesheet" href="main.css">""",
        parts=("hero", "start"),
        proofs=("483x20-hero.png", "483x21-start.png", "parts/late.js", "start.json", "main.css"),
        headers=(
            (
                "Link",
                "<https://cdn.features.test>; rel=preconnect, <483x20-hero.png>; rel=preload; as=image; fetchpriority=high, <main.css>; rel=preload; as=style",
            ),
            (
                "Link",
                '<start.json>; rel="preload"; as="fetch"; crossorigin="anonymous", <parts/late.js>; rel="modulepreload"',
            ),
        ),
        files={
            "main.css": css(".hero {height: 20px; background: url(483x20-hero.png)}"),
            "start.json": data('{"picture": "483x21-start.png"}'),
            "parts/late.js": js("export const name = 'late';"),
        },
    ),
    Feature(
        "flight-payload",
        "The page's scripts push the rows of a component tree, which name its modules and the pictures to preload.",
        """<main></main><script>(self.__next_f = self.__next_f || []).push([0]);</script><script>self.__next_f.push([1, "1:I[4707,[\\"71\\",\\"static/chunks/app/card-81ad.js\\"],\\"Card\\"]\\n:HL[\\"/flight-payload/484x20-hero.png\\",\\"image\\"]\\n2:I[31,[\\"9\\",\\"static/chunks/foot-2f.js\\"],"]);</script><script>self.__next_f.push([1, "\\"Foot\\"]\\n0:[[\\"$\\",\\"$L1\\",null,{\\"src\\":\\"/flight-payload/484x20-hero.png\\"}],[\\"$\\",\\"$L2\\",null,{\\"src\\":\\"/flight-payload/484x21-foot.png\\"}]]\\n"]);</script><script src="_next/static/chunks/main-app-5c1.js" async></script>""",
        parts=("hero", "foot"),
        proofs=(
            "_next/static/chunks/main-app-5c1.js",
            "_next/static/chunks/app/card-81ad.js",
            "_next/static/chunks/foot-2f.js",
            "484x20-hero.png",
            "484x21-foot.png",
        ),
        files={
            "_next/static/chunks/main-app-5c1.js": js(
                "(async () => { const rows = new Map(), base = '/flight-payload/_next/'; let rest = ''; const take = ([kind, text]) => { if (kind !== 1) return; rest += text; const lines = rest.split('\\n'); rest = lines.pop(); for (const line of lines) { const at = line.indexOf(':'), id = line.slice(0, at), row = line.slice(at + 1); if (row.startsWith('HL')) { const [href, as] = JSON.parse(row.slice(2)), l = document.createElement('link'); Object.assign(l, {rel: 'preload', as, href}); document.head.append(l); } else if (row[0] === 'I') { const [, chunks, name] = JSON.parse(row.slice(1)); rows.set('$L' + id, import(base + chunks[1]).then(m => m[name])); } else rows.set(id, JSON.parse(row)); } };"
                "self.__next_f.forEach(take); self.__next_f.push = take; for (const [, kind,, props] of rows.get('0')) document.querySelector('main').append((await rows.get(kind))(props)); })();"
            ),
            "_next/static/chunks/app/card-81ad.js": js(
                "export const Card = ({src}) => { const figure = document.createElement('figure'); figure.innerHTML = `<img src='${src}'>`; return figure; };"
            ),
            "_next/static/chunks/foot-2f.js": js(
                "export const Foot = ({src}) => { const foot = document.createElement('footer'); foot.innerHTML = `<img src='${src}'>`; return foot; };"
            ),
        },
    ),
    Feature(
        "streamed-fragment",
        "A script parses a fragment while it arrives, by a second document, and moves its first node into the page at once.",
        """<section id="place"></section><script>
(async () => { const other = document.implementation.createHTMLDocument(''); other.write('<!doctype html><body><streaming-element>'); const node = other.body.firstChild; place.append(node); const reader = (await fetch('parts/story.html', {headers: {accept: 'text/html-fragment'}})).body.pipeThrough(new TextDecoderStream()).getReader(); for (;;) { const {value, done} = await reader.read(); if (done) break; other.write(value); } other.write('</streaming-element>'); other.close(); })();</script>""",
        parts=("first", "second"),
        proofs=("parts/story.html", "485x20-first.png", "485x21-second.png"),
        files={"parts/story.html": Raw(_pieces)},
    ),
    Feature(
        "navigation-preload",
        "A service worker lets the browser ask for the part of a frame's page while the worker starts.",
        """<div id="spot"></div><script>
(async () => { const r = await navigator.serviceWorker.register('sw.js', {scope: './app/'}); const w = r.installing || r.waiting || r.active; if (w.state !== 'activated') await new Promise(go => w.addEventListener('statechange', () => w.state === 'activated' && go())); spot.innerHTML = '<iframe src="app/story" title="Story"></iframe>'; })();</script>""",
        parts=("story",),
        proofs=("sw.js", "app/story", "486x20-story.png"),
        files={
            "sw.js": js(
                "oninstall = () => skipWaiting(); onactivate = e => e.waitUntil((async () => { await registration.navigationPreload.enable(); await registration.navigationPreload.setHeaderValue('part'); await clients.claim(); })());"
                "onfetch = e => { if (e.request.mode === 'navigate') e.respondWith((async () => (await e.preloadResponse) || fetch(e.request))()); };"
            ),
            "app/story": _preloaded,
        },
    ),
    Feature(
        "worker-stream",
        "A service worker answers a page as one stream of three parts: two from its cache, and one from the network.",
        """<div id="spot"></div><script>
(async () => { const r = await navigator.serviceWorker.register('sw.js', {scope: './pages/'}); const w = r.installing || r.waiting || r.active; if (w.state !== 'activated') await new Promise(go => w.addEventListener('statechange', () => w.state === 'activated' && go())); spot.innerHTML = '<iframe src="pages/leaf" title="Leaf"></iframe>'; })();</script>""",
        parts=("top", "content", "bottom"),
        proofs=(
            "sw.js",
            "partials/top.html",
            "partials/bottom.html",
            r"partials/content\.html\?path=leaf",
            "487x20-top.png",
            "487x21-content.png",
            "487x22-bottom.png",
        ),
        files={
            "sw.js": js(
                "const shell = ['partials/top.html', 'partials/bottom.html']; oninstall = e => { skipWaiting(); e.waitUntil(caches.open('shell-v3').then(c => c.addAll(shell))); }; onactivate = e => e.waitUntil(clients.claim());"
                "onfetch = e => { if (e.request.mode !== 'navigate') return; const path = new URL(e.request.url).pathname.split('/').pop(), parts = [caches.match(shell[0]), fetch('partials/content.html?path=' + path), caches.match(shell[1])], {readable, writable} = new TransformStream(); e.waitUntil((async () => { for (const part of parts) await (await part).body.pipeTo(writable, {preventClose: true}); await writable.close(); })()); e.respondWith(new Response(readable, {headers: {'content-type': 'text/html; charset=utf-8'}})); };"
            ),
            "partials/top.html": html(
                "<!doctype html><title>Leaf</title><header><img src='/worker-stream/487x20-top.png' onload=\"parent.postMessage({part: 'top'}, '*')\"></header>"
            ),
            "partials/content.html": html(
                "<main><img src='/worker-stream/487x21-content.png' onload=\"parent.postMessage({part: 'content'}, '*')\"></main>",
                0.3,
            ),
            "partials/bottom.html": html(
                "<footer><img src='/worker-stream/487x22-bottom.png' onload=\"parent.postMessage({part: 'bottom'}, '*')\"></footer>"
            ),
        },
    ),
    Feature(
        "static-routes",
        "A service worker declares routes: some addresses go to the network, some to a cache, and the rest to its listener.",
        """<div id="spot"></div><script>
(async () => { await navigator.serviceWorker.register('sw.js'); if (!navigator.serviceWorker.controller) await new Promise(go => { navigator.serviceWorker.oncontrollerchange = go; }); proof.add('kept/488x20-kept.png'); proof.text('live/now.txt', 'now', 'live'); proof.text('made/word.txt', 'made by the worker', 'made'); })();</script>""",
        parts=("kept", "live", "made"),
        proofs=("sw.js", "kept/488x20-kept.png", "live/now.txt"),
        files={
            "sw.js": js(
                "oninstall = e => { skipWaiting(); e.waitUntil((async () => { await (await caches.open('kept')).addAll(['kept/488x20-kept.png']); if (e.addRoutes) await e.addRoutes([{condition: {urlPattern: new URLPattern({pathname: '/static-routes/live/*'})}, source: 'network'}, {condition: {urlPattern: new URLPattern({pathname: '/static-routes/kept/*'}), requestMethod: 'get'}, source: {cacheName: 'kept'}}]); })()); }; onactivate = e => e.waitUntil(clients.claim());"
                "onfetch = e => { if (e.request.url.endsWith('/made/word.txt')) e.respondWith(new Response('made by the worker')); };"
            ),
            "live/now.txt": Reply("now", headers=(_NO_STORE,)),
        },
    ),
    Feature(
        "script-own-address",
        "Three scripts find their folders: by the current script and its query, by the last script, and by an error's stack.",
        """<div id="spot"></div><script async src="https://cdn.features.test/script-own-address/v2/widget.js?site=leaf&theme=dark#spot"></script><script src="legacy/loader.js"></script><script src="lib/tracer.js"></script>""",
        parts=("widget", "last", "stack"),
        proofs=(
            r"v2/widget.js\?site=leaf&theme=dark",
            "v2/sites/leaf.json",
            "v2/themes/512x20-widget.png",
            "legacy/images/512x21-last.png",
            "lib/512x22-stack.png",
        ),
        files={
            "v2/widget.js": js(
                "(() => { const own = new URL(document.currentScript.src), asked = own.searchParams; fetch(new URL(`sites/${asked.get('site')}.json`, own)).then(r => r.json()).then(s => { const l = document.createElement('link'); l.rel = 'stylesheet'; l.href = new URL(`themes/${asked.get('theme')}.css`, own); document.head.append(l); proof.add(new URL(s.picture, own).href, document.querySelector(own.hash)); }); })();"
            ),
            "v2/sites/leaf.json": data('{"picture": "themes/512x20-widget.png"}'),
            "v2/themes/dark.css": css("#spot {background: #222}"),
            "legacy/loader.js": js(
                "(function () { var all = document.getElementsByTagName('script'), src = all[all.length - 1].getAttribute('src'), base = src.replace(/loader\\.js(\\?.*)?$/, ''); document.write('<img src=\"' + base + 'images/512x21-last.png\">'); })();"
            ),
            "lib/tracer.js": js(
                "(function () { var found; try { throw new Error(); } catch (e) { found = /(https?:\\/\\/[^\\s)]+\\/)tracer\\.js/.exec(e.stack); } if (found) proof.add(found[1] + '512x22-stack.png'); })();"
            ),
        },
    ),
    Feature(
        "policy-hashes",
        "A policy names the hashes of a script, of a handler, of a style and of a file with integrity, and allows nothing else.",
        f"""<script>{_HASHED}</script><img src="518x21-picture.png" onload="{_HANDLER}"><div class="styled"></div><script src="outer.js" integrity="{_digest(_OUTER)}"></script><script src="start.js" nonce="r4nd0m"></script>""",
        head=f"<style>{_SHEET}</style>",
        parts=("hashed", "handler", "styled", "outer"),
        proofs=("518x20-hashed.png", "518x21-picture.png", "518x22-styled.png", "518x23-outer.png", "outer.js"),
        headers=(("Content-Security-Policy", _POLICY),),
        nonce="r4nd0m",
        files={"outer.js": js(_OUTER), "start.js": js("proof.resource('518x22-styled.png', 'styled');")},
    ),
    Feature(
        "tag-manager",
        "A container of tags is loaded by its snippet, and its tags load scripts, send pixels and post what was viewed.",
        whole("<article><h2>Leaves</h2><p>Text</p></article>"),
        head="""<script>(function(w,d,s,l,i){w[l]=w[l]||[];w[l].push({'gtm.start':new Date().getTime(),event:'gtm.js'});var f=d.getElementsByTagName(s)[0],j=d.createElement(s),dl=l!='dataLayer'?'&l='+l:'';j.async=true;j.src='https://cdn.features.test/tag-manager/gtm.js?id='+i+dl;f.parentNode.insertBefore(j,f);})(window,document,'script','dataLayer','GTM-L3AF');</script>""",
        parts=("pixel", "custom", "collect"),
        proofs=(
            r"gtm\.js\?id=GTM-L3AF",
            r"gtag/js\?id=G-L3AF00&cx=c&gtm=.*",
            r"td/509x20-pixel\.png\?.*",
            "tags/custom.js",
            "509x21-custom.png",
            r"g/collect\?v=2.*",
        ),
        files={
            "gtm.js": js(
                "(() => { const dl = window.dataLayer, rnd = Math.floor(2147483647 * Math.random()), script = (src, go) => { const s = document.createElement('script'); s.async = true; s.src = src; s.onload = go; document.head.append(s); };"
                "const tags = {'gtm.js': () => script('https://cdn.features.test/tag-manager/gtag/js?id=G-L3AF00&cx=c&gtm=45je5b' + rnd % 10), 'gtm.dom': () => { const box = document.createElement('div'); box.innerHTML = '<script type=\"text/gtmscript\" src=\"/tag-manager/tags/custom.js\"></scr' + 'ipt>'; for (const old of box.querySelectorAll('script')) script(old.getAttribute('src')); }, 'gtm.load': () => proof.add(`https://elsewhere.test/tag-manager/td/509x20-pixel.png?id=L3AF&dl=${encodeURIComponent(location.href)}&rnd=${rnd}&ts=${Date.now()}`)};"
                "const run = e => tags[e.event] && tags[e.event](); const push = dl.push; dl.push = function (e) { push.call(dl, e); run(e); }; [...dl].forEach(run); const dom = () => dl.push({event: 'gtm.dom'}), load = () => dl.push({event: 'gtm.load'}); document.readyState === 'loading' ? addEventListener('DOMContentLoaded', dom) : dom(); document.readyState === 'complete' ? load() : addEventListener('load', load); })();"
            ),
            "gtag/js": js(
                "(() => { const cid = `${Math.floor(2147483647 * Math.random())}.${Math.floor(Date.now() / 1000)}`, q = new URLSearchParams({v: '2', tid: 'G-L3AF00', _p: Date.now(), cid, ul: navigator.language.toLowerCase(), sr: `${screen.width}x${screen.height}`, _s: 1, sid: Math.floor(Date.now() / 1000), sct: 1, dl: location.href, dt: document.title, en: 'page_view'}); fetch('https://elsewhere.test/tag-manager/g/collect?' + q, {method: 'POST', mode: 'no-cors', keepalive: true, credentials: 'include'}).then(() => proof.done('collect')); })();"
            ),
            "g/collect": Reply(status=204),
            "tags/custom.js": js("proof.add('/tag-manager/509x21-custom.png');"),
        },
    ),
    Feature(
        "paint-timing",
        "The rest of the page is loaded when the browser says that it has painted the first picture and the largest text.",
        """<img src="517x20-hero.png" elementtiming="hero" alt=""><p style="font-size:40px">A long line of text that is the largest thing to be painted on this page about leaves and trees.</p><script>
new PerformanceObserver(list => { for (const e of list.getEntries()) if (e.identifier === 'hero' && e.naturalWidth === 517) proof.add(e.url.replace('20-hero', '21-rest')); }).observe({type: 'element', buffered: true});
let once; new PerformanceObserver(list => { if (list.getEntries().some(e => e.size > 0) && !once) { once = true; proof.add('517x22-after.png'); } }).observe({type: 'largest-contentful-paint', buffered: true});</script>""",
        parts=("hero", "rest", "after"),
        proofs=("517x20-hero.png", "517x21-rest.png", "517x22-after.png"),
    ),
)

_FILMS: Final = (
    Feature(
        "media-source-worker",
        "A worker owns the buffers of a film, fetches its pieces, and gives the page a handle to play.",
        """<video id="film" muted playsinline width="64" height="48"></video><script>
const worker = new Worker('player/worker.js'); worker.onmessage = e => { if (e.data.handle) { film.srcObject = e.data.handle; film.play(); } }; film.requestVideoFrameCallback((now, about) => about.width === film.videoWidth && proof.done('playing'));</script>""",
        parts=("playing",),
        proofs=("player/worker.js", "player/film.json", "player/pieces/init.mp4", "player/pieces/1.m4s"),
        files={
            "player/worker.js": js(
                "const source = new MediaSource(), handle = source.handle; source.onsourceopen = async () => { const {codec, pieces} = await (await fetch('film.json')).json(), buffer = source.addSourceBuffer(codec); for (const piece of pieces) { buffer.appendBuffer(await (await fetch(piece)).arrayBuffer()); await new Promise(go => { buffer.onupdateend = go; }); } source.endOfStream(); }; postMessage({handle}, [handle]);"
            ),
            "player/film.json": data(
                '{"codec": "video/mp4; codecs=\\"avc1.42E01E\\"", "pieces": ["pieces/init.mp4", "pieces/1.m4s"]}'
            ),
            "player/pieces/init.mp4": Reply(MP4[:750], "video/mp4"),
            "player/pieces/1.m4s": Reply(MP4[750:1350], "video/iso.segment"),
        },
    ),
    Feature(
        "hls-renditions",
        "A master playlist names a rendition of subtitles, and the playlist of the film has a section for its start.",
        """<video id="film" muted playsinline width="64" height="48"></video><script>
const text = async url => { const r = await fetch(url); return {url: r.url, lines: (await r.text()).split('\\n')}; }, value = (line, name) => new RegExp(name + '="([^"]*)"').exec(line)?.[1], bytes = async url => (await fetch(url)).arrayBuffer();
(async () => { const master = await text('stream/master.m3u8?cmcd=' + encodeURIComponent(`sid="${crypto.randomUUID()}",ot=m`)), at = master.lines.findIndex(l => l.startsWith('#EXT-X-STREAM-INF')), subs = await text(new URL(value(master.lines.find(l => l.includes('TYPE=SUBTITLES')), 'URI'), master.url));
  const words = await (await fetch(new URL(subs.lines.find(l => l && !l.startsWith('#')), subs.url))).text(), track = film.addTextTrack('subtitles', 'English', 'en'); track.mode = 'showing'; track.addCue(new VTTCue(0, 5, words.trim().split('\\n').pop())); track.oncuechange = () => track.activeCues[0]?.text === 'A leaf falls' && proof.done('words');
  const list = await text(new URL(master.lines[at + 1], master.url)), source = new MediaSource(); film.src = URL.createObjectURL(source); await new Promise(go => { source.onsourceopen = go; }); const buffer = source.addSourceBuffer(`video/mp4; codecs="${value(master.lines[at], 'CODECS')}"`); for (const piece of [value(list.lines.find(l => l.startsWith('#EXT-X-MAP')), 'URI'), ...list.lines.filter(l => l && !l.startsWith('#'))]) { buffer.appendBuffer(await bytes(new URL(piece, list.url))); await new Promise(go => { buffer.onupdateend = go; }); } source.endOfStream(); film.requestVideoFrameCallback(() => proof.done('playing')); film.play(); })();</script>""",
        parts=("playing", "words"),
        proofs=(
            r"stream/master\.m3u8\?cmcd=.*",
            "stream/v1/index.m3u8",
            "stream/v1/init.mp4",
            "stream/v1/seg-1.m4s",
            "stream/subs/en.m3u8",
            "stream/subs/en-1.vtt",
        ),
        files={
            "stream/master.m3u8": Reply(
                '#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="subs",NAME="English",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,URI="subs/en.m3u8"\n#EXT-X-STREAM-INF:BANDWIDTH=90000,RESOLUTION=64x48,CODECS="avc1.42E01E",SUBTITLES="subs"\nv1/index.m3u8\n',
                "application/vnd.apple.mpegurl",
            ),
            "stream/v1/index.m3u8": Reply(
                '#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:2\n#EXT-X-MAP:URI="init.mp4"\n#EXTINF:2,\nseg-1.m4s\n#EXT-X-ENDLIST\n',
                "application/vnd.apple.mpegurl",
            ),
            "stream/v1/init.mp4": Reply(MP4[:750], "video/mp4"),
            "stream/v1/seg-1.m4s": Reply(MP4[750:1350], "video/iso.segment"),
            "stream/subs/en.m3u8": Reply(
                "#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\nen-1.vtt\n#EXT-X-ENDLIST\n",
                "application/vnd.apple.mpegurl",
            ),
            "stream/subs/en-1.vtt": Reply(
                "WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:900000\n\n00:00.000 --> 00:05.000\nA leaf falls\n",
                "text/vtt",
            ),
        },
    ),
    Feature(
        "vast-advert",
        "A player asks for an advertisement, follows its wrapper to another host, plays it, and tells both by pixels.",
        """<video id="film" muted playsinline width="64" height="48"></video><script>
const fill = url => url.trim().replace('[CACHEBUSTING]', String(Math.floor(1e8 * Math.random())).padStart(8, '0')).replace('[TIMESTAMP]', encodeURIComponent(new Date().toISOString())), ping = url => proof.add(fill(url));
const ask = async (url, pings = []) => { const xml = new DOMParser().parseFromString(await (await fetch(fill(url), {credentials: 'omit'})).text(), 'text/xml'); pings.push(...[...xml.querySelectorAll('Impression')].map(i => i.textContent)); const next = xml.querySelector('VASTAdTagURI'); return next ? ask(next.textContent, pings) : {xml, pings}; };
(async () => { const {xml, pings} = await ask('https://elsewhere.test/vast-advert/ads?iu=/17/leaf&sz=640x480&gdfp_req=1&output=vast&correlator=[CACHEBUSTING]&url=' + encodeURIComponent(location.href)); const file = [...xml.querySelectorAll('MediaFile')].find(f => film.canPlayType(f.getAttribute('type'))); film.src = file.textContent.trim(); film.onplaying = () => { pings.forEach(ping); ping(xml.querySelector('Tracking[event=start]').textContent); }; film.onended = () => { film.onplaying = () => proof.done('story'); film.src = 'story.webm'; film.play(); }; film.play(); })();</script>""",
        parts=("wrapper", "impression", "start", "story"),
        proofs=(
            r"ads\?iu=.*",
            r"inline\.xml\?cb=\d+",
            "spot.mp4",
            "story.webm",
            r"pixels/490x20-wrapper\.png\?.*",
            r"pixels/490x21-impression\.png\?.*",
            r"pixels/490x22-start\.png\?.*",
        ),
        files={
            "ads": Reply(
                '<?xml version="1.0"?><VAST version="4.2"><Ad id="1"><Wrapper><AdSystem>Leaf</AdSystem><VASTAdTagURI><![CDATA[https://cdn.features.test/vast-advert/inline.xml?cb=[CACHEBUSTING]]]></VASTAdTagURI><Impression><![CDATA[https://elsewhere.test/vast-advert/pixels/490x20-wrapper.png?t=[TIMESTAMP]]]></Impression></Wrapper></Ad></VAST>',
                "text/xml",
            ),
            "inline.xml": Reply(
                '<?xml version="1.0"?><VAST version="4.2"><Ad id="2"><InLine><Impression><![CDATA[https://cdn.features.test/vast-advert/pixels/490x21-impression.png?cb=[CACHEBUSTING]]]></Impression><Creatives><Creative><Linear><Duration>00:00:02</Duration><TrackingEvents><Tracking event="start"><![CDATA[https://cdn.features.test/vast-advert/pixels/490x22-start.png?e=start&cb=[CACHEBUSTING]]]></Tracking></TrackingEvents><MediaFiles><MediaFile delivery="progressive" type="video/x-none"><![CDATA[https://cdn.features.test/vast-advert/spot.xyz]]></MediaFile><MediaFile delivery="progressive" type="video/mp4" width="64" height="48"><![CDATA[https://cdn.features.test/vast-advert/spot.mp4]]></MediaFile></MediaFiles></Linear></Creative></Creatives></InLine></Ad></VAST>',
                "text/xml",
            ),
            "spot.mp4": ranged(MP4, "video/mp4"),
            "story.webm": ranged(WEBM, "video/webm"),
        },
    ),
    Feature(
        "player-api",
        "A script makes a player in a frame of another site, greets it by messages, and lets it play.",
        """<div id="player"></div><script>
window.onPlayerAPIReady = () => new LEAF.Player('player', {videoId: 'leaf7', events: {onReady: p => { proof.done('ready'); p.playVideo(); }, onStateChange: s => s === 1 && proof.done('playing')}});</script><script async src="https://cdn.features.test/player-api/iframe_api"></script>""",
        parts=("ready", "playing", "poster"),
        proofs=(
            "iframe_api",
            "s/player/7c1/www-widgetapi.js",
            r"embed/leaf7\?enablejsapi=1.*",
            r"v1/player\?key=.*",
            r"film\.webm\?.*",
            "vi/491x20-poster.png",
        ),
        files={
            "iframe_api": js(
                "(() => { const s = document.createElement('script'), first = document.getElementsByTagName('script')[0]; s.src = 'https://cdn.features.test/player-api/s/player/7c1/www-widgetapi.js'; s.async = true; first.parentNode.insertBefore(s, first); })();"
            ),
            "s/player/7c1/www-widgetapi.js": js(
                "window.LEAF = {Player: class { constructor(at, {videoId, events}) { const home = 'https://elsewhere.test', id = Math.floor(1e9 * Math.random()); this.frame = document.createElement('iframe'); this.frame.allow = 'autoplay; encrypted-media'; this.frame.title = 'Player'; this.frame.src = `${home}/player-api/embed/${videoId}?enablejsapi=1&origin=${encodeURIComponent(location.origin)}&widgetid=1&forigin=${encodeURIComponent(location.href)}&aoriginsup=1`; document.getElementById(at).replaceWith(this.frame);"
                "const say = (event, more) => this.frame.contentWindow.postMessage(JSON.stringify({event, id, channel: 'widget', ...more}), home); this.playVideo = () => say('command', {func: 'playVideo', args: []}); const greet = setInterval(() => say('listening'), 250); addEventListener('message', e => { if (e.origin !== home || e.source !== this.frame.contentWindow || typeof e.data !== 'string') return; const said = JSON.parse(e.data); if (said.id !== id) return; clearInterval(greet); if (said.event === 'onReady') events.onReady(this); if (said.event === 'onStateChange') events.onStateChange(said.info); if (said.event === 'poster') proof.done('poster'); }); } }}; onPlayerAPIReady();"
            ),
            "embed/*": page(
                """<video id="film" muted playsinline width="64" height="48"></video><script>
let id, ready; const asked = new URLSearchParams(location.search), home = asked.get('origin'), say = (event, info) => parent.postMessage(JSON.stringify({event, info, id}), home), letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_', cpn = [...crypto.getRandomValues(new Uint8Array(16))].map(n => letters[n & 63]).join('');
const config = fetch('/player-api/v1/player?key=AIzaL3af&prettyPrint=false', {method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify({videoId: location.pathname.split('/').pop(), context: {client: {hl: 'en', clientName: 'WEB_EMBEDDED_PLAYER', utcOffsetMinutes: -new Date().getTimezoneOffset(), screenWidthPoints: innerWidth}}, playbackContext: {html5Preference: 'HTML5_PREF_WANTS'}, cpn})}).then(r => r.json());
addEventListener('message', async e => { if (e.origin !== home) return; const said = JSON.parse(e.data); id = said.id; const {url, poster} = await config; if (said.event === 'listening' && !ready) { ready = true; const i = new Image(); i.onload = () => i.naturalWidth === 491 && say('poster'); i.src = film.poster = poster; say('onReady'); } if (said.func === 'playVideo') { film.src = `${url}&cpn=${cpn}&rn=1`; film.onplaying = () => say('onStateChange', 1); film.play(); } });</script>"""
            ),
            "v1/player": data('{"url": "/player-api/film.webm?itag=43", "poster": "/player-api/vi/491x20-poster.png"}'),
            "film.webm": ranged(WEBM, "video/webm"),
        },
    ),
    Feature(
        "sound-sprite",
        "A library of sounds takes the form that the browser plays, decodes one file, and plays a part of it.",
        """<script>
(async () => { const {src, sprite} = await (await fetch('sounds/sprite.json')).json(), test = new Audio(), types = {xyz: 'audio/x-none', webm: 'audio/webm; codecs="opus"'}, chosen = src.find(s => test.canPlayType(types[s.split('.').pop()])), x = new XMLHttpRequest(); x.open('GET', 'sounds/' + chosen, true); x.withCredentials = false; x.responseType = 'arraybuffer';
  x.onload = async () => { if (String(x.status)[0] !== '2') return; const context = new OfflineAudioContext(1, 24000, 48000), sound = await context.decodeAudioData(x.response), node = context.createBufferSource(); node.buffer = sound; node.connect(context.destination); const [start, length] = sprite.bell; node.start(0, start / 1000, length / 1000); const made = (await context.startRendering()).getChannelData(0); if (made.some(v => v !== 0)) proof.add('492x20-bell.png'); }; x.send(); })();</script>""",
        parts=("bell",),
        proofs=("sounds/sprite.json", "sounds/all.webm", "492x20-bell.png"),
        files={
            "sounds/sprite.json": data('{"src": ["all.xyz", "all.webm"], "sprite": {"bell": [100, 300]}}'),
            "sounds/all.webm": Reply(TONE, "audio/webm"),
        },
    ),
    Feature(
        "video-decoder",
        "A script fetches the frames of a film one by one, decodes them, and draws them to a canvas.",
        """<canvas id="screen" width="64" height="48"></canvas><script>
(async () => { const {codec, frames} = await (await fetch('clip/index.json')).json(); let drawn = 0; const decoder = new VideoDecoder({error: console.error, output: f => { screen_.drawImage(f, 0, 0); drawn++; f.close(); }}), screen_ = document.getElementById('screen').getContext('2d'); if (!(await VideoDecoder.isConfigSupported({codec})).supported) return; decoder.configure({codec}); for (const [at, name] of frames.entries()) decoder.decode(new EncodedVideoChunk({type: at ? 'delta' : 'key', timestamp: at * 40000, data: await (await fetch('clip/' + name)).arrayBuffer()})); await decoder.flush(); if (drawn === frames.length) proof.done('drawn'); })();</script>""",
        parts=("drawn",),
        proofs=("clip/index.json", *(rf"clip/frame-{at}\.vp8" for at in range(len(_FRAMES)))),
        files={
            "clip/index.json": data(
                json.dumps({"codec": "vp8", "frames": [f"frame-{at}.vp8" for at in range(len(_FRAMES))]})
            ),
            **{f"clip/frame-{at}.vp8": Reply(each, "application/octet-stream") for at, each in enumerate(_FRAMES)},
        },
    ),
)

_FACES: Final = ("px", "nx", "py", "ny", "pz", "nz")
_SCENES: Final = (
    Feature(
        "emscripten-package",
        "A program and its packed files come from another host, and the server gives the program a wrong type.",
        """<p id="status"></p><script>
var Module = {locateFile: path => 'https://cdn.features.test/emscripten-package/build-7/' + path, files: FILES, setStatus: t => { status_.textContent = t; }, onRuntimeInitialized: (exports, FS) => { if (exports.answer() === 42) proof.done('answer'); const i = new Image(); i.onload = () => i.naturalWidth === 494 && proof.done('inside'); i.src = URL.createObjectURL(new Blob([FS['/assets/leaf.png']], {type: 'image/png'})); document.body.append(i); }}, status_ = document.getElementById('status');</script><script async src="https://cdn.features.test/emscripten-package/build-7/leaf.js" crossorigin="anonymous"></script>""".replace(
            "FILES",
            json.dumps(
                [
                    {"filename": "/config.txt", "start": 0, "end": len(_PACKED[0])},
                    {"filename": "/assets/leaf.png", "start": len(_PACKED[0]), "end": sum(map(len, _PACKED))},
                ]
            ),
        ),
        parts=("answer", "inside"),
        proofs=("build-7/leaf.js", "build-7/leaf.wasm", "build-7/leaf.data"),
        files={
            "build-7/leaf.js": js(_GLUE),
            "build-7/leaf.wasm": Reply(_ANSWER_WASM, "application/octet-stream"),
            "build-7/leaf.data": Reply(b"".join(_PACKED), "application/octet-stream"),
        },
    ),
    Feature(
        "cubemap",
        "A scene takes six pictures of another host as the sides of a cube, and reads what it has drawn.",
        """<canvas id="view" width="64" height="64"></canvas><script>
(async () => { const gl = view.getContext('webgl'), names = ['px', 'nx', 'py', 'ny', 'pz', 'nz'], sides = await Promise.all(names.map(name => new Promise((go, no) => { const i = new Image(); i.crossOrigin = 'anonymous'; i.onload = () => go(i); i.onerror = no; i.src = `https://cdn.features.test/cubemap/sky/64x64-${name}.png`; }))); if (!sides.every(i => i.naturalWidth === 64)) return; if (!gl) return proof.done('sky');
  gl.bindTexture(gl.TEXTURE_CUBE_MAP, gl.createTexture()); sides.forEach((i, at) => gl.texImage2D(gl.TEXTURE_CUBE_MAP_POSITIVE_X + at, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, i)); const buffer = gl.createFramebuffer(), pixel = new Uint8Array(4); gl.bindFramebuffer(gl.FRAMEBUFFER, buffer); gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_CUBE_MAP_NEGATIVE_Z, gl.getParameter(gl.TEXTURE_BINDING_CUBE_MAP), 0); gl.readPixels(5, 5, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel); if (pixel[3] === 255 && gl.getError() === 0) proof.done('sky'); })();</script>""",
        parts=("sky",),
        proofs=tuple(rf"sky/64x64-{name}\.png" for name in _FACES),
    ),
    Feature(
        "gltf-scene",
        "The text of a model names its buffer and one texture beside it, and another texture lies in the buffer.",
        """<script>
(async () => { const url = new URL('models/scene.gltf', document.baseURI), model = await (await fetch(url)).json(), bytes = await (await fetch(new URL(model.buffers[0].uri, url))).arrayBuffer(); if (bytes.byteLength === model.buffers[0].byteLength) proof.done('buffer');
  const picture = async ({uri, bufferView, mimeType}) => { let src = uri && new URL(uri, url).href; if (!uri) { const v = model.bufferViews[bufferView]; src = URL.createObjectURL(new Blob([new Uint8Array(bytes, v.byteOffset, v.byteLength)], {type: mimeType})); } const made = await createImageBitmap(await (await fetch(src)).blob(), {premultiplyAlpha: 'none', colorSpaceConversion: 'none'}); if (made.width === 496) proof.done(uri ? 'base' : 'inner'); }; for (const t of model.textures) picture(model.images[t.source]); })();</script>""",
        parts=("buffer", "base", "inner"),
        proofs=("models/scene.gltf", "models/scene.bin", "models/textures/496x21-base.png"),
        files={
            "models/scene.gltf": Reply(json.dumps(_GLTF), "model/gltf+json"),
            "models/scene.bin": Reply(_BIN, "application/octet-stream"),
        },
    ),
    Feature(
        "quadkey-tiles",
        "A map names its tiles by the path through a tree of quarters, and spreads them over four hosts.",
        """<div id="map" style="position:relative;height:256px;width:256px;overflow:hidden"></div><script>
const key = (x, y, z) => Array.from({length: z}, (_, at) => { const bit = 1 << (z - at - 1); return (x & bit ? 1 : 0) + (y & bit ? 2 : 0); }).join(''), lon = 12.57, lat = 55.68, z = 12, n = 2 ** z, X = Math.floor((lon + 180) / 360 * n), Y = Math.floor((1 - Math.asinh(Math.tan(lat * Math.PI / 180)) / Math.PI) / 2 * n); let left = 9;
for (let x = X - 1; x <= X + 1; x++) for (let y = Y - 1; y <= Y + 1; y++) { const i = new Image(); i.onload = () => i.naturalWidth === 64 && !--left && proof.done('map'); i.style.cssText = `position:absolute;left:${(x - X + 1) * 64}px;top:${(y - Y + 1) * 64}px`; i.src = `https://img${(x + y) % 4 + 1}.features.test/quadkey-tiles/tiles/a${key(x, y, z)}.png?g=14226&n=z`; map.append(i); }</script>""",
        parts=("map",),
        proofs=(Proof(r"tiles/a[0-3]{12}\.png\?g=14226&n=z", 9),),
        files={"tiles/*": lambda question: Reply(png(question.path, (64, 64)), "image/png")},
    ),
    Feature(
        "zarr-chunks",
        "A grid of numbers is read in packed chunks, and a chunk that the server doesn't have is filled with one value.",
        """<script>
(async () => { const meta = await (await fetch('store/zarr.json')).json(), [size] = meta.chunk_grid.configuration.chunk_shape, count = meta.shape[0] / size; let sum = 0; await Promise.all(Array.from({length: count * count}, async (_, at) => { const r = await fetch(`store/c/${Math.floor(at / count)}/${at % count}`); if (r.status === 404) { sum += meta.fill_value * size * size; return; } const values = new Uint8Array(await new Response(r.body.pipeThrough(new DecompressionStream('gzip'))).arrayBuffer()); for (const v of values) sum += v; })); proof.add(`498x20-sum${sum}.png`); })();</script>""",
        parts=("sum75",),
        proofs=("store/zarr.json", "store/c/0/0", "store/c/0/1", "store/c/1/1", "498x20-sum75.png"),
        files={
            "store/zarr.json": data(
                '{"zarr_format": 3, "node_type": "array", "shape": [4, 4], "data_type": "uint8", "fill_value": 7, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 2]}}, "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}, {"name": "gzip"}]}'
            ),
            "store/c/0/0": _chunk(1, 2, 3, 4),
            "store/c/0/1": _chunk(5, 6, 7, 8),
            "store/c/1/1": _chunk(1, 1, 4, 5),
        },
    ),
    Feature(
        "sqlite-ranges",
        "A worker reads a database page by page, by synchronous requests for its ranges, after one for its length.",
        """<script>const worker = new Worker('sql/worker.js'); worker.onmessage = e => proof.add(e.data); worker.postMessage('open');</script>""",
        parts=("last",),
        proofs=("sql/worker.js", "sql/catalogue.sqlite3", "499x20-last.png"),
        files={
            "sql/worker.js": js(_SQL_WORKER),
            "sql/catalogue.sqlite3": ranged(_DATABASE, "application/vnd.sqlite3"),
        },
    ),
    Feature(
        "zip-suffix",
        "A script asks for the last bytes of an archive, reads where its picture lies, and asks for that range.",
        """<script>
(async () => { const tail = await fetch('pack.zip', {headers: {Range: 'bytes=-256'}}); if (tail.status !== 206) return; const end = await tail.arrayBuffer(), size = +tail.headers.get('content-range').split('/')[1], v = new DataView(end); let at = end.byteLength - 22; while (v.getUint32(at, true) !== 0x06054b50) at--; let entry = v.getUint32(at + 16, true) - (size - end.byteLength);
  for (let n = v.getUint16(at + 10, true); n--;) { const long = v.getUint16(entry + 28, true), name = new TextDecoder().decode(new Uint8Array(end, entry + 46, long)); if (name === 'cover.png') { const from = v.getUint32(entry + 42, true), bytes = v.getUint32(entry + 20, true), part = await fetch('pack.zip', {headers: {Range: `bytes=${from}-${from + 30 + long + bytes - 1}`, 'If-Range': tail.headers.get('etag')}}), body = await part.arrayBuffer(); const i = new Image(); i.onload = () => part.status === 206 && i.naturalWidth === 500 && proof.done('cover'); i.src = URL.createObjectURL(new Blob([body.slice(30 + long)], {type: 'image/png'})); document.body.append(i); } entry += 46 + long + v.getUint16(entry + 30, true) + v.getUint16(entry + 32, true); } })();</script>""",
        parts=("cover",),
        proofs=("pack.zip",),
        files={"pack.zip": _by_suffix},
    ),
)

TOKENED: Final = Feature(
    "csrf-cookie",
    "A cookie of the page holds a random token, and a script repeats it in a header of its posts.",
    """<script>
const token = decodeURIComponent(/(?:^|; )XSRF-TOKEN=([^;]*)/.exec(document.cookie)?.[1] || ''); for (const shelf of ['north', 'south']) fetch('api/shelf', {method: 'POST', credentials: 'same-origin', headers: {'content-type': 'application/json', 'x-xsrf-token': token, 'x-requested-with': 'XMLHttpRequest'}, body: JSON.stringify({shelf})}).then(r => r.json()).then(a => proof.add(a.picture));</script>""",
    parts=("north", "south"),
    proofs=(Proof("api/shelf", 2), "507x20-north.png", "507x20-south.png"),
    files={"api/shelf": _with_header},
    page=_with_token,
)
WORKED: Final = Feature(
    "proof-of-work",
    "The page stands behind a piece of work for the visitor's processor, whose result is sent for a cookie.",
    "<main><img src='508x20-content.png'></main>",
    page=_worked,
    proofs=(r"\.within/main\.mjs\?cacheBuster=.*", r"\.within/pass\?.*", "508x20-content.png"),
    files={
        ".within/main.mjs": js(
            "const {rules, challenge} = JSON.parse(document.getElementById('leaf_challenge').textContent), began = Date.now(), hex = async text => [...new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))].map(b => b.toString(16).padStart(2, '0')).join('');"
            "let nonce = 0, found; while (!(found = await hex(challenge + nonce)).startsWith('0'.repeat(rules.difficulty))) nonce++; document.getElementById('status').textContent = `Done! Took ${Date.now() - began}ms, ${nonce} iterations`; const to = new URL('/proof-of-work/.within/pass', location.href); to.search = new URLSearchParams({id: challenge, response: found, nonce, redir: '/proof-of-work/', elapsedTime: Date.now() - began}); setTimeout(() => location.replace(to), 250);"
        ),
        ".within/pass": _passed,
    },
)

_CALLS: Final = (
    Feature(
        "content-addressed",
        "Files are named by the hashes of their bytes, and a script shows them only when the hash is right.",
        """<script>
(async () => { const get = async hash => { const bytes = await (await fetch(`blobs/sha256/${hash.slice(0, 2)}/${hash}`)).arrayBuffer(), sum = [...new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))].map(b => b.toString(16).padStart(2, '0')).join(''); if (sum !== hash) throw new Error('hash'); return bytes; }, {files} = await (await fetch('pins/latest.json', {cache: 'no-cache'})).json();
  const index = JSON.parse(new TextDecoder().decode(await get(files['index.json']))), i = new Image(); i.onload = () => i.naturalWidth === 502 && proof.done('leaf'); i.src = URL.createObjectURL(new Blob([await get(files[index.picture])], {type: 'image/png'})); document.body.append(i); })();</script>""",
        parts=("leaf",),
        proofs=("pins/latest.json", *(f"blobs/sha256/{each[:2]}/{each}" for each in _BLOBS)),
        files={
            "pins/latest.json": data(json.dumps({"files": {"index.json": _INDEX_BLOB, "leaf.png": _LEAF_BLOB}})),
            **{
                f"blobs/sha256/{name[:2]}/{name}": Reply(
                    body,
                    "application/octet-stream",
                    headers=(("Cache-Control", "public, max-age=31536000, immutable"),),
                )
                for name, body in _BLOBS.items()
            },
        },
    ),
    Feature(
        "grpc-web",
        "Calls are posted as frames in Base64 to one method, and each answer has a message and then trailers as a frame.",
        """<script>
const call = async word => { const text = new TextEncoder().encode(word), message = [0x0a, text.length, ...text], body = btoa(String.fromCharCode(0, 0, 0, 0, message.length, ...message)), r = await fetch('rpc/leaf.v1.Catalogue/Find', {method: 'POST', headers: {'content-type': 'application/grpc-web-text', accept: 'application/grpc-web-text', 'x-grpc-web': '1', 'x-user-agent': 'grpc-web-javascript/0.1', 'grpc-timeout': '10000m'}, body}), coded = await r.text();
  const bytes = Uint8Array.from(coded.match(/[^=]+=*/g).map(atob).join(''), c => c.charCodeAt(0)), frames = []; for (let at = 0; at < bytes.length;) { const size = new DataView(bytes.buffer).getUint32(at + 1); frames.push([bytes[at], bytes.subarray(at + 5, at + 5 + size)]); at += 5 + size; } const words = new TextDecoder(), trailers = frames.find(f => f[0] & 0x80); if (/grpc-status: ?0/.test(words.decode(trailers[1]))) proof.add(words.decode(frames[0][1].subarray(2))); }; call('vases'); call('bowls');</script>""",
        parts=("vases", "bowls"),
        proofs=(Proof("rpc/leaf.v1.Catalogue/Find", 2), "503x20-vases.png", "503x20-bowls.png"),
        files={"rpc/leaf.v1.Catalogue/Find": _grpc},
    ),
    Feature(
        "procedure-batch",
        "A client puts its calls of one moment into one address with commas, and reads the answers line by line.",
        """<script>
const queue = []; let due; const call = (name, input) => new Promise(go => { queue.push({name, input, go}); due ??= setTimeout(send); });
const send = async () => { const batch = queue.splice(0), input = JSON.stringify(Object.fromEntries(batch.map((c, at) => [at, c.input]))); due = undefined; const r = await fetch(`trpc/${batch.map(c => c.name).join(',')}?batch=1&input=${encodeURIComponent(input)}`, {headers: {'trpc-accept': 'application/jsonl'}}), lines = r.body.pipeThrough(new TextDecoderStream()).getReader(); let rest = ''; for (;;) { const {value, done} = await lines.read(); if (done) break; rest += value; const all = rest.split('\\n'); rest = all.pop(); for (const line of all) { const said = JSON.parse(line); if (said.result) batch[said.id].go(said.result.data); } } };
Promise.all([call('work.byId', {id: 7}), call('work.byId', {id: 8}), call('place.near', {id: 3, radius: 20})]).then(all => all.forEach(src => proof.add(src)));</script>""",
        parts=("work-byId-7", "work-byId-8", "place-near-3"),
        proofs=(
            r"trpc/work\.byId(,|%2C)work\.byId(,|%2C)place\.near\?batch=1&input=.*",
            "504x20-work-byId-7.png",
            "504x21-work-byId-8.png",
            "504x22-place-near-3.png",
        ),
        files={"trpc/*": _procedures},
    ),
    Feature(
        "stomp-socket",
        "A page connects to a broker by frames of text on a WebSocket, and waits for the receipt with its random name.",
        """<script>
const s = new WebSocket(`wss://${location.host}/stomp-socket/ws`, ['v12.stomp', 'v11.stomp']), say = (command, head, body = '') => s.send([command, ...Object.entries(head).map(([k, v]) => `${k}:${v}`), '', body].join('\\n') + '\\0'), receipt = 'rcpt-' + crypto.randomUUID();
s.onopen = () => s.protocol === 'v12.stomp' && say('CONNECT', {'accept-version': '1.2,1.1,1.0', host: location.host, 'heart-beat': '10000,10000'}); s.onmessage = e => { const [top, ...rest] = e.data.replace(/\\0$/, '').split('\\n\\n'), [command, ...lines] = top.split('\\n'), head = Object.fromEntries(lines.map(l => l.split(/:(.*)/s))); if (command === 'CONNECTED') say('SUBSCRIBE', {id: 'sub-0', destination: '/topic/tides', receipt}); if (command === 'RECEIPT' && head['receipt-id'] === receipt) proof.done('receipt'); if (command === 'MESSAGE' && head.subscription === 'sub-0') proof.add(JSON.parse(rest.join('\\n\\n')).picture); };</script>""",
        parts=("receipt", "tide1", "tide2"),
        proofs=("ws", "505x21-tide1.png", "505x22-tide2.png"),
        files={"ws": Raw(_stomp)},
    ),
    Feature(
        "token-refresh",
        "A token is refused as too old, and a client gets a new one by a refresh and asks the same address again.",
        """<script>
let token, refresh; const grant = async fields => { const a = await (await fetch('oauth/token', {method: 'POST', body: new URLSearchParams({client_id: 'leaf-web', ...fields})})).json(); token = a.access_token; refresh = a.refresh_token; }, api = async (path, again = true) => { const r = await fetch(path, {headers: {authorization: 'Bearer ' + token}}); if (r.status === 401 && again) { await grant({grant_type: 'refresh_token', refresh_token: refresh}); return api(path, false); } return r.json(); };
(async () => { await grant({grant_type: 'anonymous', device: crypto.randomUUID()}); (await api('api/works')).works.forEach(src => proof.add(src)); })();</script>""",
        parts=("vase", "bowl"),
        proofs=(Proof("oauth/token", 2), "api/works", "506x20-vase.png", "506x21-bowl.png"),
        files={"oauth/token": _token, "api/works": _guarded_works},
    ),
    TOKENED,
    WORKED,
    Feature(
        "cookie-sync",
        "A pixel is led over three hosts, each of which puts an identifier of its own into the next address.",
        """<script>proof.add('https://cdn.features.test/cookie-sync/sync?partner=leaf&gdpr=0&cb=' + Date.now()).onload = e => e.target.naturalWidth === 510 && proof.done('matched');</script>""",
        parts=("matched",),
        proofs=(
            r"sync\?partner=leaf&gdpr=0&cb=\d+",
            r"match\?uid=\w+&redir=.*",
            r"510x20-matched\.png\?partner_uid=\w+",
        ),
        files={"sync": _sync, "match": _match},
    ),
    Feature(
        "country-trace",
        "A script reads the visitor's country from a service of the network, and loads the edition for it and for the zone.",
        """<script>
(async () => { const trace = Object.fromEntries((await (await fetch('cdn-cgi/trace')).text()).trim().split('\\n').map(l => l.split('='))), zone = Intl.DateTimeFormat().resolvedOptions().timeZone, [edition, clock] = await Promise.all([fetch(`editions/${trace.loc.toLowerCase()}.json`), fetch(`zones/${zone}.json?ts=${Math.floor(+trace.ts)}`)].map(async r => (await r).json())); proof.add(edition.picture); if (clock.zone === zone) proof.add(clock.picture); })();</script>""",
        parts=("dk", "clock"),
        proofs=("cdn-cgi/trace", "editions/dk.json", r"zones/.*\.json\?ts=\d+", "511x20-dk.png", "511x21-clock.png"),
        files={
            "cdn-cgi/trace": _trace,
            "editions/dk.json": data('{"picture": "511x20-dk.png"}'),
            "zones/*": lambda question: data(
                json.dumps(
                    {"zone": question.path.removeprefix("zones/").removesuffix(".json"), "picture": "511x21-clock.png"}
                )
            ),
        },
    ),
    Feature(
        "redirected-url",
        "Scripts ask for the latest version, and resolve what it names by the address to which they were led.",
        """<script>
fetch('releases/latest').then(async r => { if (r.redirected && /3\\.2\\.1/.test(r.url)) proof.add(new URL((await r.json()).picture, r.url).href); });
const x = new XMLHttpRequest(); x.open('GET', 'short/x7'); x.onload = () => { const at = new URL(x.responseURL); if (at.host === 'cdn.features.test') proof.add(at.origin + at.pathname.replace(/[^/]*$/, '') + x.responseText.trim() + '?' + at.searchParams.get('lang')); }; x.send();</script>""",
        parts=("release", "short"),
        proofs=(
            "releases/latest",
            "releases/v3.2.1/index.json",
            "releases/v3.2.1/files/513x20-release.png",
            "short/x7",
            r"long/leaf/name\.txt\?lang=en",
            r"long/leaf/513x21-short\.png\?en",
        ),
        files={
            "releases/latest": Reply(status=302, headers=(("Location", "v3.2.1/index.json"), _NO_STORE)),
            "releases/v3.2.1/index.json": data('{"picture": "files/513x20-release.png"}'),
            "short/x7": Reply(
                status=301,
                headers=(("Location", "https://cdn.features.test/redirected-url/long/leaf/name.txt?lang=en"),),
            ),
            "long/leaf/name.txt": Reply("513x21-short.png\n"),
        },
    ),
    Feature(
        "decoded-texts",
        "Scripts decode files whose server doesn't know their encodings: Japanese, two bytes a letter, and plain bytes.",
        """<script>
fetch('names.csv').then(r => r.arrayBuffer()).then(b => new TextDecoder('shift_jis', {fatal: true}).decode(b)).then(t => { const [name, src] = t.split('\\n')[1].split(','); if (name === '紅葉') proof.add(src.trim()); });
const ask = (url, type, done) => { const x = new XMLHttpRequest(); x.open('GET', url); x.overrideMimeType(type); x.onload = () => done(x.responseText); x.send(); };
ask('places.txt', 'text/plain; charset=utf-16le', t => { const [name, src] = t.trim().split('\\t'); if (name.endsWith('Åbo')) proof.add(src); });
ask('table.bin', 'text/plain; charset=x-user-defined', t => { let sum = 0; for (let at = 0; at < t.length; at++) sum += t.charCodeAt(at) & 0xff; if (t.length === 256 && sum === 32640) proof.add('514x22-bytes.png'); });</script>""",
        parts=("maple", "place", "bytes"),
        proofs=(
            "names.csv",
            "places.txt",
            "table.bin",
            "514x20-maple.png",
            "514x21-place.png",
            "514x22-bytes.png",
        ),
        files={
            "names.csv": Reply("名前,写真\n紅葉,514x20-maple.png\n".encode("shift_jis"), "text/csv"),
            "places.txt": Reply(b"\xff\xfe" + "Åbo\t514x21-place.png\n".encode("utf-16le"), "text/plain"),
            "table.bin": Reply(bytes(range(256)), "application/octet-stream"),
        },
    ),
)

_STYLES: Final = (
    Feature(
        "font-service",
        "A service of fonts answers a long query with faces for parts of the alphabet, and a script makes one of bytes.",
        """<p style="font: 600 24px 'Leaf Serif', serif">Leaves and trees, δέντρο</p><script>
addEventListener('load', async () => { const [latin] = await document.fonts.load("600 24px 'Leaf Serif'", 'Leaves'), [greek] = await document.fonts.load("400 24px 'Leaf Serif'", 'δέντρο'), [icons] = await document.fonts.load("400 24px 'Leaf Icons'", '\ue8b6'); if (latin?.status === 'loaded' && greek?.status === 'loaded' && latin !== greek) proof.done('serif'); if (icons?.status === 'loaded') proof.done('icons');
  const face = await new FontFace('Leaf Own', await (await fetch('fonts/own.woff2')).arrayBuffer(), {weight: '100 900'}).load(); document.fonts.add(face); if (document.fonts.check("700 24px 'Leaf Own'")) proof.add('501x20-own.png'); });</script>""",
        head="""<link rel="preconnect" href="https://elsewhere.test" crossorigin><link rel="stylesheet" href="https://cdn.features.test/font-service/css2?family=Leaf+Serif:ital,opsz,wght@0,8..60,400..700;1,8..60,400&amp;family=Leaf+Icons:opsz,wght@20..48,400&amp;icon_names=search,tree&amp;display=swap">""",
        parts=("serif", "icons", "own"),
        proofs=(
            r"css2\?family=Leaf.*",
            "s/leafserif/v7/latin.woff2",
            "s/leafserif/v7/greek.woff2",
            "s/leaficons/v7/icons.woff2",
            "fonts/own.woff2",
            "501x20-own.png",
        ),
        files={
            "css2": _faces,
            "s/leafserif/v7/latin.woff2": FONT,
            "s/leafserif/v7/greek.woff2": FONT,
            "s/leaficons/v7/icons.woff2": FONT,
            "fonts/own.woff2": FONT,
        },
    ),
    Feature(
        "css-scope",
        "A style sheet has scopes with an end, a style to start from, a shape made of a picture, and nested layers.",
        """<article class="card"><div class="cover"></div><div class="inner"><div class="cover"></div></div></article><div class="float"></div><p>Text around a shape.</p><div id="late" hidden>Late</div><script>
for (const [name, part] of [['515x20-scoped.png', 'scoped'], ['515x21-shape.png', 'shape'], ['515x23-layered.png', 'layered']]) proof.resource(name, part);
late.ontransitionend = e => e.propertyName === 'opacity' && proof.add('515x22-started.png'); addEventListener('load', () => setTimeout(() => { late.hidden = false; }, 200));</script>""",
        head='<link rel="stylesheet" href="css/main.css">',
        parts=("scoped", "shape", "layered", "started"),
        proofs=(
            "css/main.css",
            "css/515x20-scoped.png",
            "css/515x21-shape.png",
            "css/515x23-layered.png",
            "515x22-started.png",
        ),
        files={
            "css/main.css": css(
                "@layer base, theme; @layer theme { body:has(.card) { & > p { min-height: 30px; background: url('515x23-layered.png') } } } @layer base { p { background: url(515x29-never.png) } }"
                "@scope (.card) to (.inner) { .cover { height: 20px; background-image: url(515x20-scoped.png) } }"
                ".float { float: left; width: 60px; height: 40px; shape-outside: url(515x21-shape.png); shape-margin: 4px }"
                "#late { opacity: 1; transition: opacity .2s, display .2s allow-discrete; @starting-style { opacity: 0 } } #late[hidden] { display: none; opacity: 0 }"
            )
        },
    ),
    Feature(
        "svg-filter",
        "A filter of a drawing takes a picture, a page filters a photograph by a file, and a drawing holds a piece of HTML.",
        """<svg width="540" height="60" xmlns="http://www.w3.org/2000/svg"><filter id="grain" x="0" y="0" width="100%" height="100%"><feImage href="516x20-grain.png" result="g"/><feBlend in="SourceGraphic" in2="g" mode="multiply"/></filter><rect width="516" height="20" fill="#9c7" filter="url(#grain)"/><foreignObject x="0" y="22" width="530" height="30"><img xmlns="http://www.w3.org/1999/xhtml" src="516x21-inside.png" alt=""/></foreignObject></svg>
<img src="516x22-photo.png" style="filter: url(filters/tones.svg#sepia)" alt=""><script>proof.resource('516x20-grain.png', 'grain'); new PerformanceObserver(list => { for (const e of list.getEntries()) { if (/\\/tones\\.svg(#|$)/.test(e.name) && e.responseStatus === 200) proof.done('tones'); } }).observe({type: 'resource', buffered: true});</script>""",
        parts=("grain", "inside", "photo", "tones"),
        proofs=("516x20-grain.png", "516x21-inside.png", "516x22-photo.png", "filters/tones.svg"),
        files={
            "filters/tones.svg": Reply(
                '<svg xmlns="http://www.w3.org/2000/svg"><filter id="sepia"><feColorMatrix values=".4 .7 .2 0 0 .3 .6 .2 0 0 .2 .5 .1 0 0 0 0 0 1 0"/></filter></svg>',
                "image/svg+xml",
            )
        },
    ),
)

LOADS: Final[tuple[Feature, ...]] = (*_SCRIPTS, *_FILMS, *_SCENES, *_CALLS, *_STYLES)
