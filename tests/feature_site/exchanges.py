"""Features of exchanges as the servers and clients of today make them: states, streams, tokens, bodies and odd URLs."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from typing import Final

from feature_site.feature import Feature, Proof, Question, Raw, Reply, click, data, js, page, png
from feature_site.sockets import Read, Write, heard, upgrade
from support.clients.websocket import frame

_NO_STORE: Final = ("Cache-Control", "no-store")
_SEPARATOR: Final = "\x1e"
_LONG: Final = "q" * 6000


def _inertia(question: Question) -> Reply:
    """Answer with JSON to a script that names its version, and with the page to a browser."""
    if question.headers.get("x-inertia"):
        return data(
            '{"component": "Home", "props": {"picture": "210x20-props.png"}}',
            ("Vary", "X-Inertia"),
            ("X-Inertia", "true"),
        )
    return Reply(INERTIA.text(), "text/html; charset=utf-8", headers=(("Vary", "X-Inertia"),))


async def _deferred(_: Question, write: Write, read: Read) -> None:
    """Send a result in parts, of which the second comes later."""
    await write(
        b'HTTP/1.1 200 OK\r\nContent-Type: multipart/mixed; boundary="-"; deferSpec=20220824\r\n'
        b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    parts = (
        '{"data": {"picture": "212x20-now.png"}, "hasNext": true}',
        '{"data": {"picture": "212x21-later.png"}, "hasNext": false}',
    )
    for at, part in enumerate(parts):
        piece = f"\r\n---\r\nContent-Type: application/json\r\n\r\n{part}\r\n{'-----' if at else '---'}".encode()
        await write(b"%x\r\n%b\r\n" % (len(piece), piece))
        await asyncio.sleep(0.4)
    await write(b"0\r\n\r\n")


def _signed(question: Question) -> Reply:
    """Answer when the URL has a time and a signature of the right length."""
    if re.fullmatch(r"expires=\d{10}&sig=[0-9a-f]{64}", question.query):
        return Reply(png("signed", (214, 20)), "image/png")
    return Reply("Forbidden", status=403)


def _volatile(question: Question) -> Reply:
    """Answer by the method that the body names, beside a random number and the time."""
    asked = json.loads(question.body)
    return data(json.dumps({"id": asked["id"], "result": f"{asked['method']}!"}), _NO_STORE)


def _gzipped(question: Question) -> Reply:
    """Answer by what the compressed body says."""
    return data(json.dumps({"count": len(json.loads(gzip.decompress(question.body))["events"])}))


def _note(question: Question) -> Reply:
    """Keep a counter that PUT and DELETE change and GET shows."""
    if question.method == "PUT":
        question.memory["note"] = int(question.body)
        return Reply(status=204)
    if question.method == "DELETE":
        question.memory["note"] = 0
        return Reply(status=204)
    return data(json.dumps({"note": question.memory.get("note", -1)}), _NO_STORE)


def _job(question: Question) -> Reply:
    if question.count("asked") < 3:
        return Reply('{"state": "running"}', "application/json", status=202, headers=(("Retry-After", "1"), _NO_STORE))
    return Reply(status=303, headers=(("Location", "/export-job/results/9"), _NO_STORE))


def _score(question: Question) -> Reply:
    """Answer 304 until the third request, then with a new state."""
    times = question.count("score")
    tag = '"v1"' if times < 3 else '"v2"'
    if question.headers.get("if-none-match") == tag:
        return Reply(status=304, headers=(("ETag", tag),))
    return data(f'{{"goals": {0 if times < 3 else 1}}}', ("ETag", tag), ("Cache-Control", "no-cache"))


async def _graphql_socket(question: Question, write: Write, read: Read) -> None:
    """Answer a subscription under the id that the client has made up."""
    await upgrade(question, write, b"Sec-WebSocket-Protocol: graphql-transport-ws")
    while True:
        opcode, payload = await heard(read)
        if opcode == 8:
            return
        message = json.loads(payload)
        if message["type"] == "connection_init":
            await write(frame(1, b'{"type":"connection_ack"}'))
        elif message["type"] == "subscribe":
            for at in (1, 2):
                answer = {
                    "type": "next",
                    "id": message["id"],
                    "payload": {"data": {"picture": f"216x2{at}-event{at}.png"}},
                }
                await write(frame(1, json.dumps(answer).encode()))
            await write(frame(1, json.dumps({"type": "complete", "id": message["id"]}).encode()))


def _engine(question: Question) -> Reply:
    """Open a session at the first request, acknowledge what is posted, and deliver what waits."""
    if "sid=" not in question.query:
        return Reply(
            '0{"sid":"lv_VI97HAXpY6yYWAAAB","upgrades":["websocket"],"pingInterval":25000,"pingTimeout":20000}'
        )
    if question.method == "POST":
        return Reply("ok", "text/html")
    return Reply('40{"sid":"oSO0OpakMV_3jnilAAAA"}' if question.count("poll") == 1 else "6")


async def _engine_socket(question: Question, write: Write, read: Read) -> None:
    """Take a session over from polling: answer the probe, and send an event after the upgrade."""
    await upgrade(question, write)
    while True:
        opcode, payload = await heard(read)
        if opcode == 8:
            return
        if payload == b"2probe":
            await write(frame(1, b"3probe"))
        elif payload == b"5":
            await write(frame(1, b'42["hello","218x20-hello.png"]'))


async def _hub(question: Question, write: Write, read: Read) -> None:
    """Answer the handshake of a hub, and one invocation by its number."""
    await upgrade(question, write)
    await heard(read)
    await write(frame(1, f"{{}}{_SEPARATOR}".encode()))
    _, payload = await heard(read)
    asked = json.loads(payload.decode().rstrip(_SEPARATOR))
    answer = {"type": 3, "invocationId": asked["invocationId"], "result": "220x20-hub.png"}
    await write(frame(1, f"{json.dumps({'type': 6})}{_SEPARATOR}{json.dumps(answer)}{_SEPARATOR}".encode()))
    await heard(read)


def _news(question: Question) -> Reply:
    """Hold a request for news for a second, and answer with the next number."""
    since = int(question.query.removeprefix("since="))
    return Reply(
        json.dumps({"next": since + 1}),
        "application/json",
        headers=(_NO_STORE,),
        wait_seconds=1.2 if since < 3 else 3600,
    )


def _member(question: Question) -> Reply:
    if "tier=gold" in question.headers.get("cookie", ""):
        return data('{"picture": "222x20-gold.png"}', ("Vary", "Cookie"))
    return data('{"picture": ""}', ("Vary", "Cookie"))


def _search(question: Question) -> Reply:
    """Answer a QUERY by its body."""
    return data(json.dumps({"method": question.method, "asked": question.body.decode()}))


def _odd(question: Question) -> Reply:
    return Reply(png(question.path, (30, 30)), "image/png")


INERTIA: Final = Feature(
    "same-url-json",
    "A script asks for the URL of the page itself with a header, and gets JSON.",
    """<div id=app></div><script>fetch(location.href, {headers: {'X-Inertia': 'true', 'X-Inertia-Version': 'a1', Accept: 'text/html, application/xhtml+xml'}}).then(r => r.json()).then(answer => proof.add(answer.props.picture, app));</script>""",
    parts=("props",),
    proofs=("210x20-props.png",),
    page=_inertia,
)

EXCHANGES: Final = (
    INERTIA,
    Feature(
        "deferred-parts",
        "A query's answer is a stream of parts, and the second comes later.",
        """<script>
(async () => {
  const answer = await fetch('graphql', {method: 'POST', headers: {'content-type': 'application/json', accept: 'multipart/mixed;deferSpec=20220824, application/json'}, body: JSON.stringify({query: '{ picture ... @defer { picture } }'})});
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader(); let text = '';
  for (;;) { const {value, done} = await reader.read(); if (done) break; text += value; for (const [, name] of text.matchAll(/"picture": "([^"]+)"/g)) if (!document.querySelector(`[src="${name}"]`)) proof.add(name); }
})();</script>""",
        parts=("now", "later"),
        proofs=("graphql.*", "212x20-now.png", "212x21-later.png"),
        files={"graphql": Raw(_deferred)},
    ),
    Feature(
        "signed-by-key",
        "A script signs the URL of a picture with the time at which it expires.",
        """<script>
(async () => {
  const expires = Math.floor(Date.now() / 1000) + 3600;
  const key = await crypto.subtle.importKey('raw', new TextEncoder().encode('secret'), {name: 'HMAC', hash: 'SHA-256'}, false, ['sign']);
  const mac = new Uint8Array(await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(`214x20-signed.png${expires}`)));
  proof.add(`214x20-signed.png?expires=${expires}&sig=${[...mac].map(b => b.toString(16).padStart(2, '0')).join('')}`);
})();</script>""",
        parts=("signed",),
        proofs=("214x20-signed.png\\?expires=.*",),
        files={"214x20-signed.png": _signed},
    ),
    Feature(
        "session-path",
        "A random identifier is a part of the path of all further requests.",
        """<script>
const session = crypto.randomUUID();
fetch(`api/sessions/${session}/start`).then(r => r.json()).then(answer => { proof.add(`${answer.folder}/${session}/224x20-inside.png`); });</script>""",
        parts=("inside",),
        proofs=("api/sessions/[0-9a-f-]{36}/start", "media/[0-9a-f-]{36}/224x20-inside.png"),
        files={"api/sessions/*": data('{"folder": "media"}')},
    ),
    Feature(
        "keyed-path",
        "A random key of letters and digits is a part of a path.",
        "<script>proof.add(`c/${Math.random().toString(36).slice(2, 12)}/224x21-keyed.png`);</script>",
        parts=("keyed",),
        proofs=("c/\\w+/224x21-keyed.png",),
    ),
    Feature(
        "volatile-body",
        "Posted calls have a random number, a time and a trace beside what they ask.",
        """<script>
const call = (method, part) => fetch('rpc', {method: 'POST', headers: {'content-type': 'application/json', traceparent: `00-${crypto.randomUUID().replaceAll('-', '')}-0000000000000001-01`}, body: JSON.stringify({jsonrpc: '2.0', id: Math.floor(Math.random() * 1e9), ts: Date.now(), requestId: crypto.randomUUID(), method})})
  .then(r => r.json()).then(answer => { if (answer.result === `${method}!`) proof.done(part); });
Promise.all([call('leaf.get', 'leaf'), call('bark.get', 'bark')]).then(() => call('root.get', 'root'));</script>""",
        parts=("leaf", "bark", "root"),
        proofs=(Proof("rpc.*", 3),),
        files={"rpc": _volatile},
    ),
    Feature(
        "compressed-body",
        "Posted bodies are compressed by the browser, and two of them get other answers.",
        """<script>
const post = async (events, part) => {
  const body = await new Response(new Blob([JSON.stringify({events})]).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer();
  const answer = await fetch('ingest', {method: 'POST', headers: {'content-encoding': 'gzip', 'content-type': 'application/json'}, body}).then(r => r.json());
  if (answer.count === events.length) proof.done(part);
};
post(['view'], 'one').then(() => post(['view', 'scroll', 'read'], 'three'));</script>""",
        parts=("one", "three"),
        proofs=(Proof("ingest.*", 2),),
        files={"ingest": _gzipped},
    ),
    Feature(
        "changed-resource",
        "A resource is read, changed by PUT, read, removed by DELETE, and read again.",
        """<script>
const read = () => fetch('notes/1').then(r => r.json()).then(answer => answer.note);
(async () => {
  if (await read() === -1) proof.done('before');
  await fetch('notes/1', {method: 'PUT', body: '7'}); if (await read() === 7) proof.done('changed');
  await fetch('notes/1', {method: 'DELETE'}); if (await read() === 0) proof.done('removed');
})();</script>""",
        parts=("before", "changed", "removed"),
        proofs=(Proof("notes/1", 3),),
        files={"notes/1": _note},
    ),
    Feature(
        "export-job",
        "A job is accepted, asked for until it is done, and then redirects to its result.",
        """<button id=b>Show statistics</button><script>
b.onclick = async () => {
  b.disabled = true;
  const made = await fetch('jobs', {method: 'POST', body: new URLSearchParams({kind: 'leaves'})});
  for (;;) { const answer = await fetch(made.headers.get('Location')); if (answer.status === 200) { proof.add((await answer.json()).picture); break; } await new Promise(done => setTimeout(done, +answer.headers.get('Retry-After') * 300)); }
};</script>""",
        parts=("chart",),
        proofs=("jobs.*", "results/9", "226x20-chart.png"),
        files={
            "jobs": Reply(
                status=202,
                headers=(("Location", "/export-job/jobs/9"), ("Access-Control-Expose-Headers", "Location")),
            ),
            "jobs/9": _job,
            "results/9": data('{"picture": "226x20-chart.png"}'),
        },
        acts=(click("#b"),),
    ),
    Feature(
        "etag-polling",
        "A score is asked for with its tag, and is not modified for some time.",
        """<script>
let tag = null;
const poll = async () => {
  const answer = await fetch('score', {cache: 'no-store', headers: tag ? {'If-None-Match': tag} : {}});
  if (answer.status === 304) proof.done('same');
  else { tag = answer.headers.get('ETag'); const {goals} = await answer.json(); proof.done(goals ? 'goal' : 'begin'); if (goals) return; }
  setTimeout(poll, 500);
};
poll();</script>""",
        parts=("begin", "same", "goal"),
        proofs=(Proof("score", 2),),
        files={"score": _score},
    ),
    Feature(
        "graphql-socket",
        "A subscription runs over a WebSocket under a random id of the client.",
        """<script>
const id = crypto.randomUUID(), socket = new WebSocket(`wss://${location.host}/graphql-socket/graphql`, 'graphql-transport-ws');
socket.onopen = () => socket.send(JSON.stringify({type: 'connection_init'}));
socket.onmessage = event => {
  const message = JSON.parse(event.data);
  if (message.type === 'connection_ack') socket.send(JSON.stringify({id, type: 'subscribe', payload: {query: 'subscription { picture }'}}));
  if (message.id !== id) return;
  if (message.type === 'next') proof.add(message.payload.data.picture);
  if (message.type === 'complete') proof.done('complete');
};</script>""",
        parts=("event1", "event2", "complete"),
        proofs=("216x21-event1.png", "216x22-event2.png"),
        files={"graphql": Raw(_graphql_socket)},
    ),
    Feature(
        "engine-upgrade",
        "A socket begins by polling with time stamps, and moves its session to a WebSocket.",
        """<script>
(async () => {
  const base = 'engine/?EIO=4&transport=', stamp = () => Date.now().toString(36);
  const {sid} = JSON.parse((await fetch(`${base}polling&t=${stamp()}`).then(r => r.text())).slice(1));
  await fetch(`${base}polling&t=${stamp()}.1&sid=${sid}`, {method: 'POST', body: '40'});
  if ((await fetch(`${base}polling&t=${stamp()}.2&sid=${sid}`).then(r => r.text())).startsWith('40')) proof.done('polled');
  const socket = new WebSocket(`wss://${location.host}/engine-upgrade/socket/?EIO=4&transport=websocket&sid=${sid}`);
  socket.onopen = () => socket.send('2probe');
  socket.onmessage = event => { if (event.data === '3probe') socket.send('5'); else if (event.data.startsWith('42')) proof.add(JSON.parse(event.data.slice(2))[1]); };
})();</script>""",
        parts=("polled", "hello"),
        proofs=(Proof("engine/\\?EIO=4&transport=polling.*", 3), "218x20-hello.png"),
        files={"engine/": _engine, "socket/": Raw(_engine_socket)},
    ),
    Feature(
        "hub",
        "A hub negotiates a token, and its messages on a WebSocket end with a separator.",
        """<script>
(async () => {
  const {connectionToken} = await fetch('hub/negotiate?negotiateVersion=1', {method: 'POST', headers: {'X-Requested-With': 'XMLHttpRequest'}}).then(r => r.json());
  const socket = new WebSocket(`wss://${location.host}/hub/live?id=${connectionToken}`), end = String.fromCharCode(30);
  socket.onopen = () => socket.send(`{"protocol":"json","version":1}${end}`);
  let greeted = false;
  socket.onmessage = event => { for (const text of event.data.split(end).filter(Boolean)) { const message = JSON.parse(text); if (!greeted) { greeted = true; socket.send(JSON.stringify({arguments: [], invocationId: '0', target: 'Picture', type: 1}) + end); } else if (message.type === 3) proof.add(message.result); } };
})();</script>""",
        parts=("hub",),
        proofs=("hub/negotiate.*", "220x20-hub.png"),
        files={
            "hub/negotiate": data('{"connectionToken": "tok-1", "availableTransports": [{"transport": "WebSockets"}]}'),
            "live": Raw(_hub),
        },
    ),
    Feature(
        "refresh-field",
        "A frame's page is replaced by the one that its Refresh header names.",
        """<iframe src="wait.html"></iframe>""",
        parts=("ready",),
        proofs=("wait.html", "ready.html", "228x20-ready.png"),
        files={
            "wait.html": page("Please wait", ("Refresh", "1; url=ready.html")),
            "ready.html": page("<img src='228x20-ready.png' onload=\"parent.postMessage({part: 'ready'}, '*')\">"),
        },
    ),
    Feature(
        "precache",
        "A service worker keeps a list of files with revisions, and then answers from its cache.",
        """<script>
(async () => {
  await navigator.serviceWorker.register('sw.js'); await navigator.serviceWorker.ready;
  if (!navigator.serviceWorker.controller) await new Promise(done => navigator.serviceWorker.addEventListener('controllerchange', done));
  proof.add('234x20-shell.png'); proof.text('app/data.txt', 'kept', 'kept');
})();</script>""",
        parts=("shell", "kept"),
        proofs=("sw.js", "234x20-shell.png\\?__WB_REVISION__=a1b2", "app/data.txt\\?__WB_REVISION__=c3d4"),
        files={
            "sw.js": js(
                "const list = [['234x20-shell.png', 'a1b2'], ['app/data.txt', 'c3d4']];"
                "oninstall = event => event.waitUntil((async () => { const cache = await caches.open('precache-v2'); for (const [url, revision] of list) { const asked = new URL(url, location); asked.searchParams.set('__WB_REVISION__', revision); await cache.put(asked, await fetch(new Request(asked, {cache: 'reload', credentials: 'same-origin'}))); } await skipWaiting(); })());"
                "onactivate = event => event.waitUntil(clients.claim());"
                "onfetch = event => event.respondWith((async () => await caches.match(event.request, {ignoreSearch: true}) || fetch(event.request))());"
            ),
            "app/data.txt": Reply("kept"),
        },
    ),
    Feature(
        "cookie-answer",
        "A cookie that a script sets by the new interface changes the answer of the same URL.",
        """<script>
(async () => {
  const ask = () => fetch('member', {cache: 'no-store'}).then(r => r.json());
  if ((await ask()).picture === '') proof.done('guest');
  await cookieStore.set({name: 'tier', value: 'gold', path: '/cookie-answer/'});
  proof.add((await ask()).picture);
})();</script>""",
        parts=("guest", "gold"),
        proofs=(Proof("member", 2), "222x20-gold.png"),
        files={"member": _member},
    ),
    Feature(
        "odd-urls",
        "Addresses have doubled slashes, brackets, quotes, sessions, odd escapes and no values.",
        """<script>
const odd = ['odd//double/slash', 'odd/a;jsessionid=1F?x', 'odd/%7Euser/%e4%f6', 'odd/sp ace/plus+plus', "odd/it's/[1]/{2}", 'odd/p|pe/^caret', 'odd/q?a=1&&b&=c&a=2', 'odd/q?url=https://x.test/?y=1', 'odd/q?%', 'odd/ünï?ß=ø', 'odd/Case/UPPER?Q=Z', 'odd/case/upper?q=z', 'odd/a%2Fb%3Fc', 'odd/dot/%2e%2e%2f', 'odd/empty?', 'odd/comma,a:b@c!d$e'];
odd.forEach((path, at) => { const image = new Image(); image.onload = () => proof.done(`u${at}`); image.src = path; document.body.append(image); });</script>""",
        parts=tuple(f"u{at}" for at in range(16)),
        proofs=(Proof("odd/.*", 16),),
        files={"odd/*": _odd},
    ),
    Feature(
        "long-queries",
        "A query has 6,000 characters, and so has a body.",
        """<script>
const long = 'q'.repeat(6000);
fetch(`find?state=${long}&n=1`).then(r => r.text()).then(text => text === 'one' && proof.done('get'));
fetch(`find?state=${long}&n=2`).then(r => r.text()).then(text => text === 'two' && proof.done('other'));</script>""",
        parts=("get", "other"),
        proofs=(Proof("find\\?state=q+&n=\\d", 2),),
        files={
            "find": lambda question: Reply({f"state={_LONG}&n=1": "one", f"state={_LONG}&n=2": "two"}[question.query])
        },
    ),
    Feature(
        "four-hundred",
        "A page has four hundred small pictures, and asks for half of them by a script.",
        "".join(f"<img src='p/10x10-i{at}.png' width=8 height=8>" for at in range(200))
        + "<script>for (let at = 200; at < 400; at++) { const image = new Image(); image.width = image.height = 8; image.src = `p/10x10-i${at}.png`; document.body.append(image); }</script>",
        parts=("i0", "i99", "i199", "i200", "i399"),
        proofs=tuple(f"p/10x10-i{at}.png" for at in range(400)),
        seconds=40,
    ),
    Feature(
        "long-poll",
        "News are asked for by requests that the server holds for more than a second.",
        """<script>
(async () => { let since = 0; for (;;) { const answer = await fetch(`news?since=${since}`).then(r => r.json()); since = answer.next; proof.done(`news${since}`); if (since === 3) proof.add('238x20-third.png'); } })();</script>""",
        parts=("news1", "news2", "news3", "third"),
        proofs=("news\\?since=0", "news\\?since=1", "news\\?since=2", "238x20-third.png"),
        files={"news": _news},
    ),
    Feature(
        "query-method",
        "Requests have the method QUERY and a body, and one URL has two answers.",
        """<script>
for (const asked of ['oak', 'elm']) fetch('trees', {method: 'QUERY', headers: {'content-type': 'text/plain'}, body: asked}).then(r => r.json()).then(answer => { if (answer.method === 'QUERY' && answer.asked === asked) proof.done(asked); });</script>""",
        parts=("oak", "elm"),
        proofs=(Proof("trees.*", 2),),
        files={"trees": _search},
    ),
    Feature(
        "six-seconds",
        "An answer takes six seconds, and leads to a picture.",
        """<div id=box>Loading…</div><script>fetch('report').then(r => r.json()).then(answer => { box.innerHTML = `<img src="${answer.picture}">`; });</script>""",
        parts=("slow",),
        proofs=("report", "242x20-slow.png"),
        files={"report": Reply('{"picture": "242x20-slow.png"}', "application/json", wait_seconds=6.0)},
    ),
    Feature(
        "background-tasks",
        "Work is cut in tasks of the scheduler and of idle times, one after the other.",
        """<script>
(async () => {
  for (let at = 0; at < 4; at++) { await new Promise(done => requestIdleCallback(done, {timeout: 900})); if (globalThis.scheduler?.yield) await scheduler.yield(); }
  proof.add('244x20-idle.png');
  await scheduler.postTask(() => proof.add('244x21-background.png'), {priority: 'background', delay: 1200});
})();</script>""",
    ),
    Feature(
        "worker-clock",
        "A worker has the only timer of the page, and says when the time is over.",
        """<script>const worker = new Worker(URL.createObjectURL(new Blob(['setTimeout(() => postMessage(1), 1500)']))); worker.onmessage = () => proof.add('244x22-clock.png');</script>""",
    ),
    Feature(
        "idn-host",
        "Pictures come from a host with an international name.",
        """<img src="https://bücher.features.test/idn-host/246x20-book.png"><script>fetch('https://xn--bcher-kva.features.test/idn-host/list.json').then(r => r.json()).then(answer => proof.add(answer.picture));</script>""",
        parts=("book", "listed"),
        proofs=("246x20-book.png", "246x21-listed.png"),
        files={"list.json": data('{"picture": "246x21-listed.png"}')},
    ),
    Feature(
        "leaving-beacon",
        "The last beacon of a page is sent when it is hidden or left.",
        """<script>
addEventListener('pagehide', () => navigator.sendBeacon('bye', 'pagehide')); document.addEventListener('visibilitychange', () => navigator.sendBeacon('bye', document.visibilityState));
proof.add('248x20-here.png');</script>""",
        parts=("here",),
        proofs=("248x20-here.png", "bye.*"),
        files={"bye": Reply(status=204)},
    ),
)
