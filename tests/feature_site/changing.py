"""Features whose requests differ between two visits, in the ways of real sites: stamps, shards, tokens and bodies."""

from __future__ import annotations

import base64
import gzip
import json
import random
import re
from functools import reduce
from typing import Final
from urllib.parse import parse_qsl

from feature_site.feature import CDN, Feature, Proof, Question, Raw, Reply, data, png
from feature_site.sockets import Read, Write, upgrade
from support.clients.websocket import frame

_NO_STORE: Final = ("Cache-Control", "no-store")
_TRACK: Final = random.Random(7).randbytes(240_000)
"""A file that is fetched in pieces of changing sizes."""
_SUM: Final = reduce(lambda total, byte: (total * 31 + byte) % 1_000_003, _TRACK, 0)


def _picture(name: str, size: tuple[int, int]) -> Reply:
    return Reply(png(name, size), "image/png")


def _sorted_query(question: Question) -> Reply:
    """Answer a form and a query by their members in any order."""
    pairs = dict(parse_qsl(question.body.decode() or question.query))
    return data(json.dumps({"name": f"{pairs['colour']}-{pairs['kind']}"}), _NO_STORE)


def _graphql(question: Question) -> Reply:
    """Answer by the name of the operation and the slug; the other variables are made up by the client."""
    asked = json.loads(question.body)
    known = {"Leaf": "302x20-leaf.png", "Root": "302x21-root.png"}
    return data(json.dumps({"data": {asked["variables"]["slug"]: known[asked["operationName"]]}}), _NO_STORE)


def _packed(question: Question) -> Reply:
    """Answer by the kind that a compressed body names."""
    asked = json.loads(gzip.decompress(question.body))
    return data(json.dumps({"answer": f"{asked['kind']} packed"}), _NO_STORE)


def _binary(question: Question) -> Reply:
    """Answer a body of tags and lengths by the text of its second field."""
    found = re.search(rb"\x12.([a-z]+)", question.body)
    return Reply(b"\x0a" + (found[1] if found else b"none"), "application/x-protobuf", headers=(_NO_STORE,))


def _batch(question: Question) -> Reply:
    """Answer calls of JSON-RPC in one body, each under its own id."""
    calls = json.loads(question.body)
    return data(json.dumps([{"jsonrpc": "2.0", "id": call["id"], "result": call["method"]} for call in calls]))


def _envelope(question: Question) -> Reply:
    """Confirm an event by its id, which stands in the first line of the body."""
    return data(json.dumps({"id": json.loads(question.body.split(b"\n")[0])["event_id"]}), _NO_STORE)


def _link(question: Question) -> Reply:
    """Sign an address that is good for some seconds from the time of the client."""
    now = int(dict(parse_qsl(question.query))["now"])
    return data(json.dumps({"url": f"file/330x20-linked.png?exp={now + 5}&sig=7c1e5a", "expires": now + 5}), _NO_STORE)


def _linked(question: Question) -> Reply:
    return _picture("linked", (330, 20)) if "sig=" in question.query else Reply("Forbidden", status=403)


def _flaky(question: Question) -> Reply:
    """Answer the third attempt."""
    if int(dict(parse_qsl(question.query))["attempt"]) < 3:
        return Reply("busy", status=503, headers=(_NO_STORE,))
    return data('{"picture": "334x20-third.png"}', _NO_STORE)


def _upload(question: Question) -> Reply:
    """Answer a multipart form by the label in it, whatever its file is called."""
    found = re.search(rb'name="label"\r\n\r\n([a-z]+)', question.body)
    return data(json.dumps({"label": found[1].decode() if found else ""}), _NO_STORE)


def _pieces(question: Question) -> Reply:
    """Answer a range of a file that has no whole answer."""
    found = re.fullmatch(r"bytes=(\d+)-(\d+)", question.headers.get("range", ""))
    if found is None:
        return Reply("ask for a range", status=416)
    first, last = int(found[1]), min(int(found[2]), len(_TRACK) - 1)
    about = ("Content-Range", f"bytes {first}-{last}/{len(_TRACK)}")
    return Reply(_TRACK[first : last + 1], "application/octet-stream", status=206, headers=(about,))


def _poll(question: Question) -> Reply:
    """Deliver two messages and the cursor behind them; the first cursor is the client's time."""
    cursor = base64.urlsafe_b64decode(dict(parse_qsl(question.query))["cursor"] + "==").decode()
    moment, _, place = cursor.partition(":")
    after = base64.urlsafe_b64encode(f"{moment}:{int(place or 0) + 1}".encode()).decode().rstrip("=")
    return data(json.dumps({"cursor": after, "news": f"336x2{int(place or 0)}-news{int(place or 0)}.png"}), _NO_STORE)


def _traced(question: Question) -> Reply:
    """Answer who sends a trace and a nonce, and vary by both."""
    if not question.headers.get("x-nonce") or not question.headers.get("authorization", "").startswith("HMAC "):
        return Reply("Forbidden", status=403, headers=(_NO_STORE,))
    headers = (("Vary", "Authorization, X-Nonce, Traceparent"), _NO_STORE)
    return data('{"picture": "338x20-traced.png"}', *headers)


def _assigned(question: Question) -> Reply:
    """Assign a variant to a visitor by the bucket; both variants have the same parts here."""
    asked = dict(parse_qsl(question.query))
    return data(json.dumps({"bucket": int(asked["bucket"]), "picture": "340x20-variant.png"}), _NO_STORE)


async def _sockjs(question: Question, write: Write, read: Read) -> None:
    await upgrade(question, write)
    await write(frame(1, b"o"))
    await write(frame(1, b'a["342x20-framed.png"]'))
    await read(1)


CHANGING: Final = (
    Feature(
        "stamped-folder",
        "A random folder of a path keeps caches from answering, in several forms.",
        """<script>
const letters = n => Array.from({length: n}, () => 'abcdefghijklmnopqrstuvwxyz0123456789'[Math.random() * 36 | 0]).join('');
proof.add(`cb-${letters(7)}${Math.random() * 10 | 0}/300x20-folder.png`); proof.add(`_${Date.now()}_/300x21-time.png`); proof.add(`assets/v${Math.floor(Date.now() / 1000)}/300x22-version.png`); proof.add(`~${Date.now().toString(36)}~/300x23-base36.png`);</script>""",
        parts=("folder", "time", "version", "base36"),
        proofs=("cb-.*folder.png", "_.*time.png", "assets/.*version.png", "~.*base36.png"),
    ),
    Feature(
        "slot-of-time",
        "Addresses name the present half minute, the minute, the hour of the epoch and the time in base 36.",
        """<script>
const now = Date.now();
proof.text(`score/${Math.floor(now / 30000)}.json`, 'slot', 'slot'); proof.text(`score?slot=${Math.floor(now / 60000)}`, 'score', 'minute');
proof.text(`feed?at=${now.toString(36)}`, 'feed', 'base36'); proof.text(`feed/${now.toString(16)}/latest`, 'feed', 'hex'); proof.text(`day?when=${encodeURIComponent(new Date(now).toISOString())}`, 'day', 'iso');
proof.text(`perf?start=${performance.now().toFixed(3)}&origin=${performance.timeOrigin}`, 'perf', 'float');</script>""",
        parts=("slot", "minute", "base36", "hex", "iso", "float"),
        proofs=(r"score/\d+\.json", r"score\?slot.*", r"feed\?at=.*", r"feed/.*/latest", r"day\?when=.*", r"perf\?.*"),
        files={
            "score/*": Reply("slot", headers=(_NO_STORE,)),
            "score": Reply("score", headers=(_NO_STORE,)),
            "feed": Reply("feed", headers=(_NO_STORE,)),
            "feed/*": Reply("feed", headers=(_NO_STORE,)),
            "day": Reply("day", headers=(_NO_STORE,)),
            "perf": Reply("perf", headers=(_NO_STORE,)),
        },
    ),
    Feature(
        "graphql-uuids",
        "Queries are posted with random identifiers among their variables and the time in their extensions.",
        """<script>
for (const [operationName, slug] of [['Leaf', 'leaf'], ['Root', 'root']])
  fetch('graphql', {method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify({operationName, variables: {visit: crypto.randomUUID(), slug, after: null, first: 20}, extensions: {clientLibrary: {version: '3.1'}, requestedAt: Date.now()}, query: `query ${operationName} { picture }`})})
    .then(r => r.json()).then(answer => proof.add(answer.data[slug]));</script>""",
        parts=("leaf", "root"),
        proofs=(Proof("graphql", 2), "302x20-leaf.png", "302x21-root.png"),
        files={"graphql": _graphql},
    ),
    Feature(
        "shuffled-parameters",
        "The parameters of an address and the fields of a form have another order at each visit.",
        """<script>
const shuffled = pairs => new URLSearchParams(Object.entries(pairs).sort(() => Math.random() - 0.5));
const all = {colour: 'green', kind: 'moss', page: '1', lang: 'en', sort: 'name', unit: 'cm'};
fetch('find?' + shuffled(all)).then(r => r.json()).then(answer => answer.name === 'green-moss' && proof.done('query'));
for (const kind of ['fern', 'herb']) fetch('find', {method: 'POST', body: shuffled({...all, kind})}).then(r => r.json()).then(answer => answer.name === `green-${kind}` && proof.done(kind));</script>""",
        parts=("query", "fern", "herb"),
        proofs=(r"find\?.*", Proof("find", 2)),
        files={"find": _sorted_query},
    ),
    Feature(
        "random-shard",
        "Pictures come from one of several hosts of a network, drawn at each visit.",
        """<script>
const shard = () => `https://img${1 + Math.floor(Math.random() * 4)}.features.test/random-shard/`;
for (let at = 0; at < 6; at++) proof.add(`${shard()}304x2${at}-shard${at}.png`);
fetch(shard() + 'list.json').then(r => r.json()).then(answer => proof.add(shard() + answer.picture));</script>""",
        parts=(*(f"shard{at}" for at in range(6)), "listed"),
        proofs=(*(f"304x2{at}-shard{at}.png" for at in range(6)), "list.json", "304x30-listed.png"),
        files={"list.json": data('{"picture": "304x30-listed.png"}')},
    ),
    Feature(
        "other-window",
        "Addresses of pictures name the width for the reader's window, in the forms of four picture services.",
        """<script>
const width = [640, 750, 828, 1080, 1200, 1920][Math.random() * 6 | 0];
proof.add(`cdn-cgi/image/width=${width},quality=75,format=auto/306x20-cloud.png`); proof.add(`upload/w_${width},c_fill,q_auto,dpr_${1 + Math.random() * 2 | 0}.0/v1/306x21-fill.png`);
const image = new Image(); image.onload = () => image.naturalWidth === 306 && image.naturalHeight === 22 && proof.done('optimised'); image.src = `_next/image?url=${encodeURIComponent('/leaf.png')}&w=${width}&q=75`; proof.add(`media/${width}x${width / 2}/smart/306x23-thumb.png`); proof.add(`photos/306x24-crop.png?fit=crop&w=${width}&h=${width / 2}&auto=format`);</script>""",
        parts=("cloud", "fill", "thumb", "crop", "optimised"),
        proofs=(
            "cdn-cgi/.*cloud.png",
            "upload/.*fill.png",
            "media/.*thumb.png",
            "photos/.*crop.png.*",
            "_next/image.*",
        ),
        files={"_next/image": _picture("next", (306, 22))},
    ),
    Feature(
        "other-density",
        "Names of pictures tell the density of the screen, which differs from the recorded one.",
        """<script>
const density = 1 + Math.floor(Math.random() * 3), suffix = density > 1 ? `@${density}x` : '';
const logo = new Image(); logo.onload = () => logo.naturalWidth === 308 && proof.done('logo'); logo.src = `img/logo${suffix}.png`; proof.add(`tiles/7/66/43@${density}x/308x21-tile.png`); proof.add(`avatar/308x22-face.png?scale=${density}`);</script>""",
        parts=("logo", "tile", "face"),
        proofs=(r"img/logo.*\.png", "tiles/.*tile.png", "avatar/.*"),
        files={"img/*": _picture("logo", (308, 20))},
    ),
    Feature(
        "packed-events",
        "Bodies that the page compresses hold the time and a random number beside the kind that chooses the answer.",
        """<script>
const packed = async body => new Response(new Blob([JSON.stringify(body)]).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer();
for (const kind of ['first', 'second']) (async () => {
  const body = await packed({at: Date.now(), noise: Math.random(), kind, list: [1, 2, 3]});
  const answer = await (await fetch('collect', {method: 'POST', headers: {'content-type': 'application/json', 'content-encoding': 'gzip'}, body})).json();
  if (answer.answer === `${kind} packed`) proof.done(kind);
})();</script>""",
        parts=("first", "second"),
        proofs=(Proof("collect", 2),),
        files={"collect": _packed},
    ),
    Feature(
        "binary-calls",
        "Bodies of tags and lengths, as protocol buffers are, hold the time in eight bytes and a word.",
        """<script>
const call = word => { const bytes = new Uint8Array(11 + word.length); bytes[0] = 9; new DataView(bytes.buffer).setFloat64(1, Date.now() + Math.random()); bytes.set([18, word.length, ...new TextEncoder().encode(word)], 9); return bytes; };
for (const word of ['maple', 'birch']) fetch('rpc/Trees', {method: 'POST', headers: {'content-type': 'application/x-protobuf'}, body: call(word)}).then(r => r.arrayBuffer()).then(b => new TextDecoder().decode(b).slice(1) === word && proof.done(word));</script>""",
        parts=("maple", "birch"),
        proofs=(Proof("rpc/Trees", 2),),
        files={"rpc/Trees": _binary},
    ),
    Feature(
        "sealed-query",
        "A script encrypts its question with a random vector, and puts it into the query, the path and a body.",
        """<script>
(async () => {
  const key = await crypto.subtle.generateKey({name: 'AES-GCM', length: 128}, false, ['encrypt']);
  const sealed = async text => { const iv = crypto.getRandomValues(new Uint8Array(12)), bytes = new Uint8Array(await crypto.subtle.encrypt({name: 'AES-GCM', iv}, key, new TextEncoder().encode(text))); return btoa(String.fromCharCode(...iv, ...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', ''); };
  proof.text('ask?e=' + await sealed('what is in the query'), 'query', 'query');
  proof.text(`s/${await sealed('what is in the path of the address')}/data`, 'path', 'path');
  proof.text('sealed', 'body', 'body', {method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify({payload: await sealed('what is in the body')})});
})();</script>""",
        parts=("query", "path", "body"),
        proofs=(r"ask\?e=.*", "s/.*/data", "sealed"),
        files={
            "ask": Reply("query", headers=(_NO_STORE,)),
            "s/*": Reply("path", headers=(_NO_STORE,)),
            "sealed": Reply("body", headers=(_NO_STORE,)),
        },
    ),
    Feature(
        "called-in-batch",
        "Calls of JSON-RPC are posted in one body, and each answer is taken by its random id.",
        """<script>
const ids = [0, 1].map(() => Math.floor(Math.random() * 1e6)), names = ['plants.list', 'plants.count'];
fetch('rpc', {method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify(ids.map((id, at) => ({jsonrpc: '2.0', id, method: names[at], params: {}})))}).then(r => r.json())
  .then(answers => ids.forEach((id, at) => answers.find(each => each.id === id)?.result === names[at] && proof.done(names[at])));</script>""",
        parts=("plants.list", "plants.count"),
        proofs=("rpc",),
        files={"rpc": _batch},
    ),
    Feature(
        "event-envelope",
        "An event is posted in lines of JSON with a random id and the time, and its answer repeats the id.",
        """<script>
const event_id = crypto.randomUUID().replaceAll('-', ''), now = new Date().toISOString();
const body = [{event_id, sent_at: now, sdk: {name: 'leaf.js'}}, {type: 'transaction'}, {event_id, timestamp: Date.now() / 1000, spans: []}].map(each => JSON.stringify(each)).join('\\n');
fetch('api/42/envelope/?key=public&version=7', {method: 'POST', body}).then(r => r.json()).then(answer => answer.id === event_id && proof.add('310x20-confirmed.png'));</script>""",
        parts=("confirmed",),
        proofs=("api/42/envelope/.*", "310x20-confirmed.png"),
        files={"api/42/envelope/": _envelope},
    ),
    Feature(
        "expiring-link",
        "A signed address comes from a JSON text, and the script trusts it only until its deadline by the clock.",
        """<script>
(async () => {
  const now = () => Math.floor(Date.now() / 1000);
  const link = await (await fetch('links/sign?now=' + now())).json();
  if (link.expires > now()) proof.add(link.url); else document.title = 'expired';
})();</script>""",
        parts=("linked",),
        proofs=(r"links/sign\?now=.*", "file/330x20-linked.png.*"),
        files={"links/sign": _link, "file/330x20-linked.png": _linked},
    ),
    Feature(
        "jittered-retry",
        "A script asks again after an error, with the number of the attempt and its random delay in the address.",
        """<script>
(async () => {
  for (let attempt = 1; attempt < 6; attempt++) {
    const delay = Math.floor(100 * 2 ** attempt * (0.5 + Math.random() / 2));
    const answer = await fetch(`flaky?attempt=${attempt}&delay=${delay}&rid=${Math.random().toString(36).slice(2)}`);
    if (answer.ok) { proof.add((await answer.json()).picture); return; }
    await new Promise(done => setTimeout(done, delay));
  }
})();</script>""",
        parts=("third",),
        proofs=(r"flaky\?attempt=3.*", "334x20-third.png"),
        files={"flaky": _flaky},
    ),
    Feature(
        "named-upload",
        "Two files with random names are sent in multipart bodies, and the label in each chooses the answer.",
        """<script>
for (const label of ['seed', 'bulb']) {
  const form = new FormData();
  form.append('file', new Blob([crypto.getRandomValues(new Uint8Array(600))], {type: 'image/webp'}), `IMG_${Date.now()}_${Math.random().toString(36).slice(2)}.webp`); form.append('label', label); form.append('taken', new Date().toISOString());
  fetch('upload', {method: 'POST', body: form}).then(r => r.json()).then(answer => answer.label === label && proof.done(label));
}</script>""",
        parts=("seed", "bulb"),
        proofs=(Proof("upload", 2),),
        files={"upload": _upload},
    ),
    Feature(
        "uneven-pieces",
        "A file is fetched in ranges whose boundaries are random, and is complete when its sum is right.",
        """<script>
(async () => {
  const size = SIZE, cuts = [0]; while (cuts.at(-1) < size) cuts.push(Math.min(size, cuts.at(-1) + 40000 + Math.floor(Math.random() * 30000)));
  let sum = 0;
  for (let at = 1; at < cuts.length; at++) {
    const answer = await fetch('track.bin', {headers: {range: `bytes=${cuts[at - 1]}-${cuts[at] - 1}`}});
    if (answer.status !== 206) return;
    for (const byte of new Uint8Array(await answer.arrayBuffer())) sum = (sum * 31 + byte) % 1000003;
  }
  if (sum === SUM) proof.done('whole');
})();</script>""".replace("SIZE", str(len(_TRACK))).replace("SUM", str(_SUM)),
        parts=("whole",),
        proofs=(Proof("track.bin", 4),),
        files={"track.bin": _pieces},
    ),
    Feature(
        "cursor-of-time",
        "A poll begins with a cursor that the script makes of the time, and goes on with the one in the answer.",
        """<script>
(async () => {
  let cursor = btoa(Date.now() + ':0').replaceAll('=', '');
  for (let at = 0; at < 3; at++) { const answer = await (await fetch('poll?cursor=' + cursor)).json(); proof.add(answer.news); cursor = answer.cursor; }
})();</script>""",
        parts=("news0", "news1", "news2"),
        proofs=(Proof(r"poll\?cursor=.*", 3), "336x20-news0.png", "336x21-news1.png", "336x22-news2.png"),
        files={"poll": _poll},
    ),
    Feature(
        "traced-headers",
        "A request to another host has a signature, a nonce and a trace in its headers, and its answer varies by them.",
        f"""<script>
const hex = n => [...crypto.getRandomValues(new Uint8Array(n))].map(b => b.toString(16).padStart(2, '0')).join('');
fetch('https://{CDN}/traced-headers/secure', {{headers: {{'x-nonce': hex(8), authorization: `HMAC ts=${{Date.now()}},sig=${{hex(32)}}`, traceparent: `00-${{hex(16)}}-${{hex(8)}}-01`}}}}).then(r => r.json()).then(answer => proof.add(answer.picture));</script>""",
        parts=("traced",),
        proofs=("secure", "338x20-traced.png"),
        files={
            "secure": lambda q: (
                Reply(
                    status=204,
                    headers=(
                        ("Access-Control-Allow-Headers", q.headers.get("access-control-request-headers", "")),
                        ("Access-Control-Max-Age", "0"),
                    ),
                )
                if q.method == "OPTIONS"
                else _traced(q)
            )
        },
    ),
    Feature(
        "drawn-bucket",
        "A visitor draws a bucket of an experiment, keeps it, and asks for its variant with identifiers of their own.",
        """<script>
const stored = localStorage.bucket ??= Math.floor(Math.random() * 100), visitor = localStorage.visitor ??= crypto.randomUUID();
fetch(`experiment?bucket=${stored}&anonymousId=${visitor}&first=${Date.now()}`).then(r => r.json()).then(answer => proof.add(answer.picture + `?variant=${stored % 2 ? 'b' : 'a'}`));</script>""",
        parts=("variant",),
        proofs=(r"experiment\?.*", r"340x20-variant.png\?.*"),
        files={"experiment": _assigned},
    ),
    Feature(
        "numbered-socket",
        "A WebSocket of an older library has a random number of a server and a random session in its path.",
        """<script>
const letters = Array.from({length: 8}, () => 'abcdefghijklmnopqrstuvwxyz012345'[Math.random() * 32 | 0]).join('');
fetch(`echo/info?t=${Date.now()}`).then(r => r.json()).then(() => {
  const socket = new WebSocket(`wss://${location.host}/numbered-socket/echo/${String(Math.floor(Math.random() * 1000)).padStart(3, '0')}/${letters}/websocket`);
  socket.onmessage = event => event.data[0] === 'a' && proof.add(JSON.parse(event.data.slice(1))[0]);
});</script>""",
        parts=("framed",),
        proofs=(r"echo/info\?t=.*", "342x20-framed.png"),
        files={"echo/info": data('{"websocket": true}', _NO_STORE), "echo/*": Raw(_sockjs)},
    ),
)
