"""Features of viewers and players: pictures, books, maps, models, films and sounds that a reader handles."""

from __future__ import annotations

import json
import struct
from typing import Final

from feature_site.feature import Act, Feature, Proof, Question, Reply, click, data, hover
from feature_site.media import MP4, TONE, WEBM, ranged
from feature_site.whole_pages import whole

_VTT: Final = "text/vtt; charset=utf-8"
_BOOK: Final = b"%PDF-1.7\n" + b"".join(b"%" + bytes([65 + at]) * 4095 + b"\n" for at in range(8)) + b"%%EOF 8 pages\n"
_PIECE: Final = 4097
_CUT: Final = MP4.index(b"moof") - 4
"""The first part of the film is its initialisation."""


def _playlist() -> str:
    rest = len(MP4) - _CUT
    half = rest // 2
    return (
        "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:1\n#EXT-X-PLAYLIST-TYPE:VOD\n"
        f'#EXT-X-MAP:URI="film.mp4",BYTERANGE="{_CUT}@0"\n#EXTINF:1.0,\n#EXT-X-BYTERANGE:{half}@{_CUT}\nfilm.mp4\n'
        f"#EXTINF:1.0,\n#EXT-X-BYTERANGE:{rest - half}\nfilm.mp4\n#EXT-X-ENDLIST\n"
    )


def _window(question: Question) -> Reply:
    """Answer a live playlist, whose window moves by one segment each time it is asked for, until it ends."""
    at = question.count("window")
    lines = [f"#EXTINF:0.5,\nlive/352x2{number}-segment{number}.png" for number in range(at, at + 2)]
    end = "\n#EXT-X-ENDLIST" if at >= 4 else ""
    text = f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:{at}\n" + "\n".join(lines) + end + "\n"
    return Reply(text, "application/vnd.apple.mpegurl", headers=(("Cache-Control", "no-cache"),))


def _tile_archive() -> bytes:
    """Return an archive of six tiles: a head of twelve entries of four bytes, then the names of pictures."""
    names = [f"tiles/128x12{at}-tile{at}.png".encode() for at in range(6)]
    offset, entries, body = 48, b"", b""
    for name in names:
        entries += struct.pack("<II", offset + len(body), len(name))
        body += name + b"\0" * 4000
    return entries + body


_ARCHIVE: Final = _tile_archive()
_ZOOMED: Final = '{"pins": [{"id": 7, "at": [40, 60]}, {"id": 8, "at": [180, 90]}]}'

PLAYERS: Final = (
    Feature(
        "keyboard-lightbox",
        "Figures can be reached by the Tab key, and open by the Enter key alone.",
        whole(
            "".join(
                f'<figure class="g" tabindex="0" role="button" aria-label="View larger" data-full="full/360x30{at}-full{at}.png"><img src="360x2{at}-small{at}.png"></figure>'
                for at in (1, 2)
            )
            + """<script>
let box; document.querySelectorAll('.g').forEach(g => g.addEventListener('keydown', e => { if (e.key !== 'Enter' && e.key !== ' ') return; e.preventDefault(); box?.remove(); box = document.createElement('div'); box.className = 'box'; box.innerHTML = `<img src="${g.dataset.full}">`; document.body.append(box); }));
document.addEventListener('keydown', e => { if (e.key === 'Escape') box?.remove(); });</script>"""
        ),
        head="<style>.box {position: fixed; right: 0; bottom: 0} .g:focus {outline: 2px solid}</style>",
        parts=("small1", "full1", "full2"),
        proofs=("full/360x301-full1.png", "full/360x302-full2.png"),
        acts=(
            Act("press", ".g >> nth=0", "Enter"),
            Act("press", "body", "Escape"),
            Act("press", ".g >> nth=1", "Enter"),
        ),
    ),
    Feature(
        "comparison-slider",
        "The second picture of a comparison is loaded when its handle, in a closed shadow tree, is pressed.",
        whole(
            """<before-after style="display:block;width:361px;height:40px" before="361x20-before.png" after="361x21-after.png"></before-after><script>
customElements.define('before-after', class extends HTMLElement { connectedCallback() { const root = this.attachShadow({mode: 'closed'}); proof.watch(root);
  root.innerHTML = `<style>:host {position: relative} .handle {position: absolute; left: 168px; top: 0; width: 24px; height: 40px; background: #0af; cursor: ew-resize; touch-action: none}</style><img part="before" src="${this.getAttribute('before')}"><div class="handle" role="slider" tabindex="0" aria-valuemin="0" aria-valuemax="100" aria-valuenow="50" aria-label="Compare"></div>`;
  const handle = root.querySelector('.handle'); let down = false;
  const load = () => { if (!root.querySelector('[part=after]')) handle.insertAdjacentHTML('afterend', `<img part="after" src="${this.getAttribute('after')}">`); };
  handle.addEventListener('pointerdown', e => { down = true; handle.setPointerCapture(e.pointerId); load(); });
  handle.addEventListener('pointermove', e => { if (down) handle.style.left = `${Math.max(0, Math.min(340, e.offsetX))}px`; }); handle.addEventListener('pointerup', () => { down = false; }); } });</script>"""
        ),
        parts=("before", "after"),
        proofs=("361x21-after.png",),
        acts=(click("before-after"),),
    ),
    Feature(
        "model-viewer",
        "A model in three dimensions is loaded after a click on its poster, and its points then show notes.",
        whole(
            """<model-viewer src="models/chair/scene.gltf" reveal="interaction"></model-viewer><script type="module">
customElements.define('model-viewer', class extends HTMLElement { connectedCallback() { const root = this.attachShadow({mode: 'open'});
  root.innerHTML = `<style>:host {display: block; width: 400px; height: 200px; position: relative} #poster {position: absolute; inset: 0; border: 0; background: url(362x20-poster.png)} canvas {width: 100%; height: 100%}</style><canvas></canvas><slot name="hotspot"></slot><button type="button" id="poster" aria-label="3D model of a chair. Activate to load."></button>`;
  root.getElementById('poster').addEventListener('click', async e => { e.currentTarget.remove(); const base = new URL(this.getAttribute('src'), document.baseURI); const scene = await (await fetch(base)).json();
    const bin = await (await fetch(new URL(scene.buffers[0].uri, base))).arrayBuffer(); if (bin.byteLength === scene.buffers[0].byteLength) proof.done('bin');
    for (const {uri} of scene.images) { const map = await createImageBitmap(await (await fetch(new URL(uri, base))).blob()); proof.sized(uri, map.width, map.height); }
    this.innerHTML = '<button class="Hotspot" slot="hotspot" data-position="0 1 0" data-note="363x20-seat.png"></button><button class="Hotspot" slot="hotspot" data-position="0 2 0" data-note="363x21-back.png"></button>';
    this.querySelectorAll('.Hotspot').forEach(h => h.addEventListener('click', () => { h.innerHTML = `<img class="note" src="${h.dataset.note}">`; })); }); } });</script>"""
        ),
        head="<style>.Hotspot {width: 20px; height: 20px; border-radius: 50%; margin: 40px}</style>",
        parts=("bin", "wood", "cloth", "seat", "back"),
        proofs=(
            "models/chair/scene.gltf",
            "models/chair/scene.bin",
            "models/chair/textures/64x64-wood.png",
            "models/chair/textures/64x65-cloth.png",
            "363x20-seat.png",
            "363x21-back.png",
        ),
        files={
            "models/chair/scene.gltf": Reply(
                '{"asset": {"version": "2.0"}, "buffers": [{"uri": "scene.bin", "byteLength": 5000}], "images": [{"uri": "textures/64x64-wood.png"}, {"uri": "textures/64x65-cloth.png"}]}',
                "model/gltf+json",
            ),
            "models/chair/scene.bin": Reply(b"\x3f\x80\0\0\1" * 1000, "application/octet-stream"),
        },
        acts=(
            click("model-viewer #poster"),
            click(".Hotspot >> nth=0"),
            click(".Hotspot >> nth=1"),
        ),
    ),
    Feature(
        "timeline-thumbnails",
        "The bar of a film shows small pictures under the mouse, whose list is fetched when the mouse enters it.",
        whole(
            """<div class="plyr"><video id="film" src="film.webm" muted preload="metadata" width="400" height="200"></video><div class="plyr__progress" id="bar" style="width:400px;height:14px;background:#ccc"></div><div id="preview"></div></div><script>
let cues; const list = async () => (await (await fetch('thumbnails.vtt')).text()).split('\\n\\n').slice(1).map(c => c.trim().split('\\n')[1]); const wait = bar.addEventListener('mouseenter', () => { cues ??= list(); });
bar.addEventListener('mousemove', async e => { const all = await (cues ??= list()); const cue = all[Math.min(all.length - 1, Math.max(0, Math.floor(e.offsetX / 400 * all.length)))].split('#')[0]; if (preview.dataset.at !== cue) { preview.dataset.at = cue; preview.innerHTML = `<img src="${cue}">`; } });</script>"""
        ),
        parts=("sheet1", "sheet2"),
        proofs=("thumbnails.vtt", "sprites/364x21-sheet1.png", "sprites/364x22-sheet2.png"),
        files={
            "film.webm": ranged(WEBM, "video/webm"),
            "thumbnails.vtt": Reply(
                "WEBVTT\n\n00:00.000 --> 00:01.000\nsprites/364x21-sheet1.png#xywh=0,0,160,90\n\n00:01.000 --> 00:02.000\nsprites/364x22-sheet2.png#xywh=0,0,160,90\n",
                _VTT,
            ),
        },
        acts=(
            hover("#bar"),
            Act(
                "evaluate",
                "for (const x of [30, 350]) setTimeout(() => { const b = bar.getBoundingClientRect(); bar.dispatchEvent(new MouseEvent('mousemove', {bubbles: true, clientX: b.left + x, clientY: b.top + 5})); }, x)",
            ),
        ),
    ),
    Feature(
        "captions-menu",
        "A player's controls appear when it plays, and its menu of captions fetches what is chosen.",
        whole(
            """<div class="video-js vjs-paused vjs-default-skin" id="player"><video class="vjs-tech" preload="none" muted playsinline poster="365x20-poster.png"></video><button class="vjs-big-play-button" type="button" title="Play Video" aria-disabled="false"><span aria-hidden="true" class="vjs-icon-placeholder"></span><span class="vjs-control-text" aria-live="polite">Play Video</span></button><div class="vjs-control-bar" dir="ltr"><div class="vjs-subs-caps-button vjs-menu-button vjs-menu-button-popup vjs-control vjs-button"><button class="vjs-subs-caps-button vjs-menu-button" type="button" aria-haspopup="true" aria-expanded="false" title="Captions"><span class="vjs-icon-placeholder" aria-hidden="true"></span></button><div class="vjs-menu"><ul class="vjs-menu-content" role="menu"><li class="vjs-menu-item vjs-selected" tabindex="-1" role="menuitemradio" aria-checked="true" data-l="">captions off</li><li class="vjs-menu-item" tabindex="-1" role="menuitemradio" aria-checked="false" data-l="en"><span class="vjs-menu-item-text">English</span></li><li class="vjs-menu-item" tabindex="-1" role="menuitemradio" aria-checked="false" data-l="de"><span class="vjs-menu-item-text">Deutsch</span></li></ul></div></div></div></div><script>
const film = player.querySelector('video'); film.onplaying = () => proof.done('playing'); proof.resource('365x20-poster.png', 'poster');
player.querySelector('.vjs-big-play-button').addEventListener('click', () => { player.classList.replace('vjs-paused', 'vjs-has-started'); film.src = 'https://cdn.features.test/captions-menu/film.webm'; film.play(); });
const menu = player.querySelector('div.vjs-subs-caps-button'); menu.querySelector('button').addEventListener('click', () => { const open = menu.classList.toggle('vjs-lock-showing'); menu.querySelector('button').setAttribute('aria-expanded', open); });
menu.querySelectorAll('li').forEach(li => li.addEventListener('click', async () => { menu.querySelectorAll('li').forEach(o => { o.classList.toggle('vjs-selected', o === li); o.setAttribute('aria-checked', o === li); }); menu.classList.remove('vjs-lock-showing'); if (li.dataset.l) { const text = await (await fetch(`captions/${li.dataset.l}.vtt`)).text(); if (text.startsWith('WEBVTT')) proof.done(li.dataset.l); } }));</script>"""
        ),
        head="<style>.video-js {position: relative; width: 400px; height: 200px; background: #000} video {width: 100%; height: 170px} .vjs-big-play-button {position: absolute; left: 170px; top: 80px; width: 60px; height: 40px} .vjs-control-text {position: absolute; width: 1px; height: 1px; overflow: hidden; clip: rect(0 0 0 0)} .vjs-has-started .vjs-big-play-button {display: none} .vjs-control-bar {display: none; position: absolute; bottom: 0; left: 0; right: 0; height: 30px; background: #2b333f} .vjs-has-started .vjs-control-bar {display: flex} .vjs-menu {display: none; position: absolute; bottom: 30px; background: #fff} .vjs-lock-showing .vjs-menu {display: block} button.vjs-subs-caps-button {width: 40px; height: 30px} .vjs-menu-item {cursor: pointer}</style>",
        parts=("playing", "poster", "en", "de"),
        proofs=("film.webm", r"captions/en\.vtt", r"captions/de\.vtt"),
        files={
            "film.webm": ranged(WEBM, "video/webm"),
            "captions/en.vtt": Reply("WEBVTT\n\n00:00.000 --> 00:02.000\nLeaf\n", _VTT),
            "captions/de.vtt": Reply("WEBVTT\n\n00:00.000 --> 00:02.000\nBlatt\n", _VTT),
        },
        acts=(
            click(".vjs-big-play-button"),
            click("button.vjs-subs-caps-button"),
            click("[data-l=en]"),
            click("button.vjs-subs-caps-button"),
            click("[data-l=de]"),
        ),
    ),
    Feature(
        "podcast",
        "A player reads the feed of a podcast, and each episode has a button that plays its sound and shows its cover.",
        whole(
            """<section class="pod" data-feed="https://elsewhere.test/podcast/feed.xml"><ol class="pod__list"></ol><audio class="pod__audio" preload="none"></audio><div class="pod__now"></div></section><script>
(async () => { const pod = document.querySelector('.pod'), audio = pod.querySelector('audio'); const xml = new DOMParser().parseFromString(await (await fetch(pod.dataset.feed)).text(), 'application/xml'); audio.muted = true;
  [...xml.querySelectorAll('item')].forEach((item, n) => { const li = document.createElement('li'); li.innerHTML = `<button class="pod__play" aria-label="Play ${item.querySelector('title').textContent}"><svg width="20" height="20" viewBox="0 0 20 20"><path d="M5 3v14l12-7z"/></svg></button> <span>${item.querySelector('title').textContent}</span>`;
    li.querySelector('button').addEventListener('click', () => { audio.src = item.querySelector('enclosure').getAttribute('url'); audio.play(); audio.onplaying = () => proof.done('episode' + (n + 1)); pod.querySelector('.pod__now').innerHTML = `<img src="${item.getElementsByTagName('itunes:image')[0].getAttribute('href')}">`; }); pod.querySelector('ol').append(li); }); })();</script>"""
        ),
        parts=("episode1", "episode2", "cover1", "cover2"),
        proofs=("feed.xml", r"audio/1\.webm", r"audio/2\.webm", "366x21-cover1.png", "366x22-cover2.png"),
        files={
            "feed.xml": Reply(
                '<?xml version="1.0"?><rss version="2.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"><channel><title>Leaf</title>'
                + "".join(
                    f'<item><title>Episode {at}</title><enclosure url="https://elsewhere.test/podcast/audio/{at}.webm" type="audio/webm" length="{len(TONE)}"/><itunes:image href="https://cdn.features.test/podcast/366x2{at}-cover{at}.png"/></item>'
                    for at in (1, 2)
                )
                + "</channel></rss>",
                "application/rss+xml",
            ),
            "audio/1.webm": ranged(TONE, "audio/webm"),
            "audio/2.webm": ranged(TONE, "audio/webm"),
        },
        acts=(
            click(".pod__play >> nth=0"),
            Act("evaluate", "new Promise(done => setTimeout(done, 900))"),
            click(".pod__play >> nth=1"),
        ),
    ),
    Feature(
        "pdf-reader",
        "A reader of a book asks for its end first, and for the range of each page when it is scrolled into view.",
        """<div id="viewerContainer" tabindex="0" style="height:500px;overflow:auto"><div id="viewer" class="pdfViewer"></div></div><script>
(async () => { const url = 'book.pdf', piece = 4097; const head = await fetch(url, {method: 'HEAD'}); const length = +head.headers.get('content-length'); if (head.headers.get('accept-ranges') !== 'bytes') return;
  const range = async (a, b) => { const r = await fetch(url, {headers: {Range: `bytes=${a}-${b - 1}`}}); return r.status === 206 ? new TextDecoder().decode(await r.arrayBuffer()) : ''; };
  const end = await range(length - 14, length); if (!end.includes('8 pages')) return; proof.done('end');
  const io = new IntersectionObserver(es => es.forEach(async e => { if (!e.isIntersecting) return; io.unobserve(e.target); const n = +e.target.dataset.pageNumber; const text = await range(9 + (n - 1) * piece, 9 + n * piece); const canvas = document.createElement('canvas'); e.target.append(canvas); if (text === '%' + String.fromCharCode(64 + n).repeat(4095) + '\\n') proof.done('page' + n); }), {root: viewerContainer});
  for (let n = 1; n <= 8; n++) { viewer.insertAdjacentHTML('beforeend', `<div class="page" data-page-number="${n}" style="height:420px;margin:5px;background:#fff;border:1px solid"></div>`); io.observe(viewer.lastChild); } })();</script>""",
        parts=("end", *(f"page{at}" for at in range(1, 9))),
        proofs=(Proof("book.pdf", 6),),
        files={"book.pdf": ranged(_BOOK, "application/pdf")},
        acts=(
            Act(
                "evaluate",
                "(async () => { for (let y = 0; y < 3600; y += 200) { viewerContainer.scrollTo(0, y); await new Promise(done => setTimeout(done, 60)); } })()",
            ),
        ),
    ),
    Feature(
        "hls-byterange",
        "A playlist names ranges of one film, and a player appends them.",
        """<video id="film" width="64" height="48" muted></video><script>
(async () => { const text = await (await fetch('index.m3u8')).text(); const map = /URI="([^"]+)",BYTERANGE="(\\d+)@(\\d+)"/.exec(text); const parts = [[map[1], +map[3], +map[2]]]; let at = 0;
  for (const [, size, start, name] of text.matchAll(/#EXT-X-BYTERANGE:(\\d+)(?:@(\\d+))?\\n(.+)/g)) { at = start ? +start : at; parts.push([name, at, +size]); at += +size; }
  const source = new MediaSource(); film.src = URL.createObjectURL(source); await new Promise(go => { source.onsourceopen = go; }); const buffer = source.addSourceBuffer('video/mp4; codecs="avc1.42E01E"');
  for (const [name, start, size] of parts) { const r = await fetch(name, {headers: {Range: `bytes=${start}-${start + size - 1}`}}); if (r.status !== 206) return; buffer.appendBuffer(await r.arrayBuffer()); await new Promise(go => { buffer.onupdateend = go; }); }
  source.endOfStream(); film.requestVideoFrameCallback(() => proof.done('playing')); await film.play(); })();</script>""",
        parts=("playing",),
        proofs=("index.m3u8", Proof("film.mp4", 3)),
        files={
            "index.m3u8": Reply(_playlist(), "application/vnd.apple.mpegurl"),
            "film.mp4": ranged(MP4, "video/mp4"),
        },
    ),
    Feature(
        "hls-live",
        "A live playlist is asked for each second, and its window moves until it ends.",
        """<script>
(async () => { const seen = new Set(); for (;;) { const text = await (await fetch('live.m3u8')).text(); for (const line of text.split('\\n')) if (line && !line.startsWith('#') && !seen.has(line)) { seen.add(line); proof.add(line); } if (text.includes('ENDLIST')) return proof.done('end'); await new Promise(go => setTimeout(go, 1000)); } })();</script>""",
        parts=("end", *(f"segment{at}" for at in range(1, 6))),
        proofs=(Proof("live.m3u8", 4), *(f"live/352x2{at}-segment{at}.png" for at in range(1, 6))),
        files={"live.m3u8": _window},
    ),
    Feature(
        "cluster-map",
        "A map groups its pins; a click on a group fetches them, and a click on a pin fetches its card.",
        whole(
            """<div id="map" class="leaflet-container" tabindex="0" style="position:relative;width:500px;height:256px;overflow:hidden"><div class="leaflet-pane leaflet-tile-pane"><img alt="" class="leaflet-tile" src="tiles/4/256x256-z4.png"></div><div class="leaflet-pane leaflet-marker-pane"><div class="leaflet-marker-icon marker-cluster marker-cluster-small leaflet-zoom-animated leaflet-interactive" tabindex="0" style="margin-left:-20px;margin-top:-20px;width:40px;height:40px;transform:translate3d(150px,-140px,0);position:absolute"><div><span>2</span></div></div></div><div class="leaflet-pane leaflet-popup-pane"></div></div><script>
const q = s => document.querySelector(s); let zoom = 4;
const redraw = () => { q('.leaflet-tile-pane').innerHTML = `<img alt="" class="leaflet-tile" src="tiles/${zoom}/256x256-z${zoom}.png">`; };
q('.marker-cluster').addEventListener('click', async () => { zoom = 6; redraw(); const {pins} = await (await fetch('api/pins?bbox=9.1,47.2,9.9,47.8&zoom=6')).json(); q('.leaflet-marker-pane').innerHTML = '';
  for (const pin of pins) { const icon = document.createElement('img'); icon.src = 'pin/25x41-pin.png'; icon.className = 'leaflet-marker-icon leaflet-interactive'; icon.alt = 'Marker'; icon.tabIndex = 0; icon.setAttribute('role', 'button'); icon.style.cssText = `position:absolute;transform:translate3d(${pin.at[0]}px,${pin.at[1] - 256}px,0)`; icon.addEventListener('click', async () => { q('.leaflet-popup-pane').innerHTML = await (await fetch(`api/card/${pin.id}`)).text(); }); q('.leaflet-marker-pane').append(icon); } });</script>"""
        ),
        head="<style>.leaflet-interactive {cursor: pointer} .leaflet-popup-pane {position: absolute; right: 0; top: 0}</style>",
        parts=("z4", "z6", "pin", "card7", "card8"),
        proofs=(
            r"api/pins\?.*",
            "tiles/6/256x256-z6.png",
            "api/card/7",
            "api/card/8",
            "367x27-card7.png",
            "367x28-card8.png",
        ),
        files={
            "api/pins": data(_ZOOMED),
            "api/card/*": lambda question: Reply(
                f'<img src="367x2{question.path[-1]}-card{question.path[-1]}.png">', "text/html"
            ),
        },
        acts=(
            click(".marker-cluster"),
            click("img.leaflet-marker-icon >> nth=0"),
            click("img.leaflet-marker-icon >> nth=1"),
        ),
    ),
    Feature(
        "iiif-canvas",
        "A viewer draws the tiles of a manuscript to a canvas, and its buttons are pictures in divs.",
        """<div id="osd" style="position:relative;width:600px;height:300px;background:#222"></div><script type="module">
const info = n => fetch(`iiif/2/ms-${n}/info.json`).then(r => r.json()); const osd = document.getElementById('osd');
osd.innerHTML = `<div class="openseadragon-canvas" tabindex="0" dir="ltr" style="position:absolute;inset:0;overflow:hidden;touch-action:none"><canvas width="600" height="300"></canvas></div><div style="position:absolute;left:0;top:0">${['zoomin', 'zoomout', 'previous', 'next'].map(n => `<div id="b-${n}" tabindex="0" style="display:inline-block;position:relative;cursor:default;touch-action:none"><img src="images/32x3${n.length}-${n}.png" alt="" style="background:transparent;border:none;margin:0"><img src="images/32x3${n.length}-${n}.png" alt="" style="position:absolute;inset:0;visibility:hidden"></div>`).join('')}</div>`;
const canvas = osd.querySelector('canvas').getContext('2d'); let pageNumber = 0, level = 0;
const draw = async () => { const {id, maxLevel} = await info(pageNumber); const l = Math.min(level, maxLevel); canvas.clearRect(0, 0, 600, 300); for (let x = 0; x <= l; x++) { const tile = new Image(); tile.crossOrigin = 'anonymous'; tile.src = `${id}/${x * 256},0,256,256/full/0/256x256-p${pageNumber}l${l}x${x}.png`; tile.onload = () => { canvas.drawImage(tile, x * 256, 0); proof.seen(tile); }; } };
const on = (name, go) => { const b = document.getElementById('b-' + name); let down = false; b.addEventListener('pointerdown', () => { down = true; }); b.addEventListener('pointerup', () => { if (down) go(); down = false; }); };
on('zoomin', () => { if (level < 2) { level++; draw(); } }); on('zoomout', () => { if (level) { level--; draw(); } }); on('next', () => { if (pageNumber < 2) { pageNumber++; level = 0; draw(); } }); on('previous', () => { if (pageNumber) { pageNumber--; level = 0; draw(); } });
osd.querySelector('.openseadragon-canvas').addEventListener('dblclick', () => { if (level < 2) { level++; draw(); } }); draw();</script>""",
        parts=("p0l0x0", "p0l1x1", "p1l0x0", "p2l0x0"),
        proofs=(
            *(rf"iiif/2/ms-{at}/info\.json" for at in range(3)),
            ".*256x256-p0l1x1.png",
            ".*256x256-p1l0x0.png",
            ".*256x256-p2l0x0.png",
        ),
        files={
            f"iiif/2/ms-{at}/info.json": data(
                f'{{"id": "https://cdn.features.test/iiif-canvas/iiif/2/ms-{at}", "maxLevel": 2}}'
            )
            for at in range(3)
        },
        acts=(click("#b-zoomin"), click("#b-next"), click("#b-next")),
    ),
    Feature(
        "flipbook",
        "A magazine turns its leaves when its right half is clicked, without a button.",
        whole(
            """<div class="flipbook" id="book" style="width:600px;height:300px;position:relative;background:#eee"></div><script>
const leaves = 6; let at = 0, turning = false; const draw = () => { book.innerHTML = [0, 1].map(side => { const n = at * 2 + side; return n < leaves ? `<div class="page p${n}" style="position:absolute;left:${side * 300}px;width:300px;height:300px"><img draggable="false" src="pages/large/300x28${n}-leaf${n}.png"></div>` : ''; }).join(''); }; draw();
book.addEventListener('click', e => { if (turning) return; const right = e.clientX - book.getBoundingClientRect().left > 300; const to = Math.max(0, Math.min(2, at + (right ? 1 : -1))); if (to === at) return; turning = true; book.style.transition = 'opacity .4s'; book.style.opacity = .3; setTimeout(() => { at = to; draw(); book.style.opacity = 1; turning = false; }, 400); });</script>"""
        ),
        parts=tuple(f"leaf{at}" for at in range(6)),
        proofs=tuple(f"pages/large/300x28{at}-leaf{at}.png" for at in range(6)),
        acts=(click(".p1"), click(".p3")),
    ),
    Feature(
        "web-story",
        "A story fills the window, and a tap on its right side leads to its next page.",
        """<div class="story" id="story"><div class="bars"></div><div class="stage"></div><div class="tap tap--prev"></div><div class="tap tap--next"></div></div><script>
const names = [1, 2, 3, 4, 5]; let at = 0; const q = s => story.querySelector(s); const show = () => { q('.bars').innerHTML = names.map((_, n) => `<i class="${n <= at ? 'on' : ''}"></i>`).join(''); q('.stage').innerHTML = `<img src="story/368x2${names[at]}-scene${names[at]}.png">`; }; show();
q('.tap--next').addEventListener('pointerup', () => { if (at < 4) { at++; show(); } }); q('.tap--prev').addEventListener('pointerup', () => { if (at) { at--; show(); } });</script>""",
        head="<style>h1 {display: none} body {margin: 0; overflow: hidden} .story {position: fixed; inset: 0; background: #222} .tap {position: absolute; top: 0; bottom: 0; width: 30%} .tap--prev {left: 0} .tap--next {right: 0; width: 70%} .bars {display: flex; gap: 4px} .bars i {flex: 1; height: 3px; background: #777} .bars .on {background: #fff}</style>",
        parts=tuple(f"scene{at}" for at in range(1, 6)),
        proofs=tuple(f"story/368x2{at}-scene{at}.png" for at in range(1, 6)),
        acts=(click(".tap--next"),) * 4,
    ),
    Feature(
        "canvas-start",
        "A game draws its start button to a canvas, and loads its pictures after a click on it.",
        whole(
            """<canvas id="game" width="640" height="360"></canvas><script>
const c = game.getContext('2d'); c.fillRect(0, 0, 640, 360); c.fillStyle = '#fff'; c.fillRect(240, 150, 160, 60); c.fillStyle = '#000'; c.font = '24px sans-serif'; c.fillText('START', 280, 188); let started = false;
game.addEventListener('mousedown', async e => { const box = game.getBoundingClientRect(), x = e.clientX - box.left, y = e.clientY - box.top; if (started || x < 240 || x > 400 || y < 150 || y > 210) return; started = true;
  const atlas = await (await fetch('assets/atlas.json')).json(); for (const src of atlas.textures) { const i = new Image(); i.onload = () => { c.drawImage(i, 0, 0); proof.seen(i); }; i.src = `assets/${src}`; } });</script>"""
        ),
        parts=("hero", "enemies"),
        proofs=(r"assets/atlas\.json", "assets/369x20-hero.png", "assets/369x21-enemies.png"),
        files={"assets/atlas.json": data('{"textures": ["369x20-hero.png", "369x21-enemies.png"]}')},
        acts=(click("#game"),),
    ),
    Feature(
        "tile-archive",
        "A map reads its tiles as ranges of one archive, and finer ones when the wheel is turned over it.",
        """<div id="map" style="width:400px;height:256px;overflow:hidden;background:#def;position:relative"><div id="tiles"></div><div class="maplibregl-ctrl-group" style="position:absolute;right:5px;top:5px"><button class="maplibregl-ctrl-zoom-in" type="button" title="Zoom in" aria-label="Zoom in"><span class="maplibregl-ctrl-icon" aria-hidden="true"></span></button><button class="maplibregl-ctrl-zoom-out" type="button" title="Zoom out" aria-label="Zoom out"><span class="maplibregl-ctrl-icon" aria-hidden="true"></span></button></div></div><script type="module">
const url = 'https://cdn.features.test/tile-archive/region.pmtiles'; const range = async (start, size) => { const r = await fetch(url, {headers: {range: `bytes=${start}-${start + size - 1}`}}); if (r.status !== 206) throw new Error(r.status); return r.arrayBuffer(); };
const entries = new Uint32Array(await range(0, 48)); let zoom = 0; const cache = new Map();
const draw = async () => { for (const n of zoom === 0 ? [0] : [zoom * 2 - 1, zoom * 2]) { if (!cache.has(n)) cache.set(n, range(entries[n * 2], entries[n * 2 + 1])); const src = new TextDecoder().decode(await cache.get(n)); const i = new Image(); i.src = src; i.onload = () => proof.seen(i); document.getElementById('tiles').replaceChildren(i); } }; await draw();
const by = n => { const to = Math.max(0, Math.min(2, zoom + n)); if (to !== zoom) { zoom = to; draw(); } };
document.getElementById('map').addEventListener('wheel', e => { e.preventDefault(); by(e.deltaY < 0 ? 1 : -1); }, {passive: false});
document.querySelector('.maplibregl-ctrl-zoom-in').addEventListener('click', () => by(1)); document.querySelector('.maplibregl-ctrl-zoom-out').addEventListener('click', () => by(-1));</script>""",
        head="<style>.maplibregl-ctrl-group button {width: 29px; height: 29px; display: block}</style>",
        parts=("tile0", "tile1", "tile2", "tile3", "tile4"),
        proofs=(Proof("region.pmtiles", 6), *(f"tiles/128x12{at}-tile{at}.png" for at in range(5))),
        files={
            "region.pmtiles": lambda question: (
                Reply(
                    status=204,
                    headers=(("Access-Control-Allow-Origin", "*"), ("Access-Control-Allow-Headers", "range")),
                )
                if question.method == "OPTIONS"
                else ranged(_ARCHIVE, "application/octet-stream")(question)  # type: ignore[operator]
            )
        },
        acts=(click(".maplibregl-ctrl-zoom-in"), click(".maplibregl-ctrl-zoom-in")),
    ),
    Feature(
        "closed-carousel",
        "A carousel lies in two closed shadow trees, one in the other, and its arrows are drawings.",
        whole(
            """<x-gallery items='"""
            + json.dumps([f"370x2{at}-view{at}.png" for at in range(1, 5)])
            + """'></x-gallery><script>
customElements.define('x-arrow', class extends HTMLElement { #root = this.attachShadow({mode: 'closed'}); connectedCallback() { this.#root.innerHTML = `<style>:host {position: absolute; top: 0; right: 0} :host([left]) {right: auto; left: 0} .x {} button {all: unset; cursor: pointer; padding: 8px; background: #ddd}</style><button><svg width="16" height="16" viewBox="0 0 16 16"><path d="${this.hasAttribute('left') ? 'M10 2 4 8l6 6' : 'M6 2l6 6-6 6'}" stroke="currentColor" fill="none"/></svg></button>`; this.#root.firstElementChild.nextElementSibling.addEventListener('click', () => this.dispatchEvent(new CustomEvent('go', {bubbles: true, composed: true, detail: this.hasAttribute('left') ? -1 : 1}))); } });
customElements.define('x-gallery', class extends HTMLElement { #root = this.attachShadow({mode: 'closed'}); connectedCallback() { const items = JSON.parse(this.getAttribute('items')); let at = 0; proof.watch(this.#root); this.#root.innerHTML = '<x-arrow left></x-arrow><div class="stage"></div><x-arrow></x-arrow>'; const show = () => { this.#root.querySelector('.stage').innerHTML = `<img src="${items[at]}">`; }; this.#root.addEventListener('go', e => { at = Math.max(0, Math.min(items.length - 1, at + e.detail)); show(); }); show(); } });</script>"""
        ),
        head="<style>x-gallery {position: absolute; left: 100px; top: 600px; width: 400px; height: 40px} </style>",
        parts=("view1", "view2", "view3", "view4"),
        proofs=tuple(f"370x2{at}-view{at}.png" for at in range(1, 5)),
        acts=(Act("point", "", "485,616"),) * 3,
    ),
)
