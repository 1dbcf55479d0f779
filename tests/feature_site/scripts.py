"""Features of scripts, modules, workers and components."""

from __future__ import annotations

import gzip
from typing import Final

from feature_site.feature import Act, Feature, Reply, css, data, js, page

WASM: Final = (
    b"\0asm\x01\0\0\0"
    + b"\x01\x05\x01\x60\0\x01\x7f"
    + b"\x03\x02\x01\0"
    + b"\x07\x0a\x01\x06answer\0\0"
    + b"\x0a\x06\x01\x04\0\x41\x2a\x0b"
)
"""A module with one function, `answer`, that returns 42."""


def _component(name: str, about: str, tree: str) -> Feature:
    return Feature(
        name,
        about,
        f'<div id="host"></div><script>const tree = host.attachShadow({{mode: "{tree}"}}); proof.watch(tree);'
        f"tree.innerHTML = '<style>div {{height: 20px; background: url(21x10-{tree}style.png)}}</style>"
        f'<div></div><img src="21x11-{tree}image.png">\';'
        f'proof.resource("21x10-{tree}style.png", "{tree}style");</script>',
    )


SCRIPTS: Final = (
    _component("shadow-open", "An open shadow tree holds pictures.", "open"),
    _component("shadow-closed", "A closed shadow tree holds pictures.", "closed"),
    Feature(
        "shadow-declared",
        "A shadow tree is declared in HTML.",
        '<div><template shadowrootmode="open"><img src="22x11-declared.png" onload="proof.seen(this)"></template></div>',
    ),
    Feature(
        "shadow-lazy",
        "A shadow tree far below holds a lazy picture.",
        '<div style="height:5000px"></div><div id="host"></div><script>'
        'const tree = host.attachShadow({mode: "open"}); proof.watch(tree);'
        "tree.innerHTML = '<img loading=lazy src=\"22x12-shadowlazy.png\">';</script>",
    ),
    Feature(
        "custom-element",
        "A custom element loads its content when it is connected.",
        "<x-card picture='23x11-card.png'></x-card><script>customElements.define('x-card', class extends HTMLElement {"
        "connectedCallback() { proof.add(this.getAttribute('picture'), this); } });</script>",
    ),
    Feature(
        "template",
        "A script clones a template.",
        '<template id="t"><img src="24x11-cloned.png"></template><script>'
        "document.body.append(t.content.cloneNode(true));</script>",
    ),
    Feature(
        "modules",
        "Modules import each other.",
        '<script type="module" src="main.js"></script>',
        parts=("deep",),
        proofs=("main.js", "lib/middle.js", "lib/deep.js"),
        files={
            "main.js": js("import {go} from './lib/middle.js'; go();"),
            "lib/middle.js": js("export {go} from './deep.js';"),
            "lib/deep.js": js("export const go = () => proof.done('deep');"),
        },
    ),
    Feature(
        "dynamic-import",
        "A script imports a module by a computed name.",
        "<script>const name = ['de', 'ferred'].join(''); import(`./${name}.js`).then(module => module.go());</script>",
        parts=("deferred",),
        proofs=("deferred.js",),
        files={"deferred.js": js("export const go = () => proof.done('deferred');")},
    ),
    Feature(
        "import-map",
        "An import map names modules of another host.",
        '<script type="importmap">{"imports": {"kit/": "https://cdn.features.test/import-map/kit/"}}</script>'
        "<script type=module>import {go} from 'kit/tool.js'; go();</script>",
        parts=("tool",),
        proofs=("kit/tool.js",),
        files={"kit/tool.js": js("export const go = () => proof.done('tool');")},
    ),
    Feature(
        "typed-modules",
        "A module imports JSON and CSS.",
        "<div id=box style='height:20px'></div><script type=module>import words from './words.json' with {type: 'json'};"
        "import sheet from './sheet.css' with {type: 'css'}; if (words.word === 'leaf') proof.done('json');"
        "document.adoptedStyleSheets = [sheet]; if (getComputedStyle(box).width === '77px') proof.done('css');</script>",
        parts=("json", "css"),
        proofs=("words.json", "sheet.css"),
        files={"words.json": data('{"word": "leaf"}'), "sheet.css": css("#box {width: 77px}")},
    ),
    Feature(
        "await-module",
        "A module awaits a fetch at its top level.",
        "<script type=module>const {go} = await import('./a.js'); go(await (await fetch('word.txt')).text());</script>",
        parts=("leaf",),
        proofs=("a.js", "word.txt"),
        files={"a.js": js("export const go = word => proof.done(word);"), "word.txt": Reply("leaf")},
    ),
    Feature(
        "script-order",
        "Scripts are deferred, asynchronous, written by a script, and evaluated.",
        "<script defer src=deferred.js></script><script async src=async.js></script>"
        "<script>document.write('<script src=written.js><\\/script>'); eval(\"proof.done('eval')\");</script>",
        parts=("deferred", "async", "written", "eval"),
        proofs=("deferred.js", "async.js", "written.js"),
        files={f"{name}.js": js(f"proof.done('{name}');") for name in ("deferred", "async", "written")},
    ),
    Feature(
        "worker",
        "A worker imports a script and fetches.",
        "<script>new Worker('worker.js').onmessage = event => proof.done(event.data);</script>",
        parts=("leaf",),
        proofs=("worker.js", "helper.js", "word.txt"),
        files={
            "worker.js": js("importScripts('helper.js'); tell();"),
            "helper.js": js("const tell = async () => postMessage(await (await fetch('word.txt')).text());"),
            "word.txt": Reply("leaf"),
        },
    ),
    Feature(
        "module-worker",
        "A worker is a module.",
        "<script>new Worker('worker.js', {type: 'module'}).onmessage = event => proof.done(event.data);</script>",
        parts=("module",),
        proofs=("worker.js", "word.js"),
        files={
            "worker.js": js("import {word} from './word.js'; postMessage(word);"),
            "word.js": js("export const word = 'module';"),
        },
    ),
    Feature(
        "blob-worker",
        "A worker is made of a blob, and fetches.",
        "<script>const code = `fetch('${new URL('word.txt', location)}').then(a => a.text()).then(text => postMessage(text));`;"
        "new Worker(URL.createObjectURL(new Blob([code], {type: 'text/javascript'}))).onmessage = event => proof.done(event.data);</script>",
        parts=("leaf",),
        proofs=("word.txt",),
        files={"word.txt": Reply("leaf")},
    ),
    Feature(
        "shared-worker",
        "A shared worker fetches.",
        "<script>const shared = new SharedWorker('shared.js'); shared.port.onmessage = event => proof.done(event.data);</script>",
        parts=("leaf",),
        proofs=("shared.js", "word.txt"),
        files={
            "shared.js": js(
                "onconnect = async event => event.ports[0].postMessage(await (await fetch('word.txt')).text());"
            ),
            "word.txt": Reply("leaf"),
        },
    ),
    Feature(
        "worklet",
        "An audio worklet and a paint worklet load modules.",
        "<script>const audio = new OfflineAudioContext(1, 128, 44100);"
        "audio.audioWorklet.addModule('sound.js').then(() => proof.done('sound'));"
        "CSS.paintWorklet.addModule('paint.js').then(() => proof.done('paint'));</script>",
        parts=("sound", "paint"),
        proofs=("sound.js", "paint.js"),
        files={
            "sound.js": js("registerProcessor('p', class extends AudioWorkletProcessor {process() {return false;}});"),
            "paint.js": js("registerPaint('p', class {paint() {}});"),
        },
    ),
    Feature(
        "blob",
        "A picture and a script are loaded by blob URLs.",
        "<script>fetch('25x11-blob.png').then(a => a.blob()).then(blob => { const image = new Image();"
        "image.onload = () => image.naturalWidth === 25 && proof.done('blob'); image.src = URL.createObjectURL(blob); });"
        "fetch('code.js').then(a => a.text()).then(text => { const script = document.createElement('script');"
        "script.src = URL.createObjectURL(new Blob([text])); document.head.append(script); });</script>",
        parts=("blob", "code"),
        proofs=("25x11-blob.png", "code.js"),
        files={"code.js": js("proof.done('code');")},
    ),
    Feature(
        "wasm",
        "WebAssembly is compiled while it is loaded.",
        "<script>WebAssembly.instantiateStreaming(fetch('answer.wasm')).then(({instance}) =>"
        " instance.exports.answer() === 42 && proof.done('answer'));</script>",
        parts=("answer",),
        proofs=("answer.wasm",),
        files={"answer.wasm": Reply(WASM, "application/wasm")},
    ),
    Feature(
        "idle",
        "Work is done in an idle moment, in frames of animation, and in a microtask.",
        "<script>requestIdleCallback(() => proof.add('26x11-idle.png'));"
        "let frames = 0; const next = () => { if (++frames === 30) proof.add('26x12-frames.png'); else requestAnimationFrame(next); };"
        "requestAnimationFrame(next); queueMicrotask(() => addEventListener('load', () => proof.add('26x13-task.png')));</script>",
    ),
    Feature(
        "timer-3s",
        "A picture is loaded after three seconds.",
        "<script>setTimeout(() => proof.add('27x11-late.png'), 3000);</script>",
    ),
    Feature(
        "timer-chain",
        "Each of five timers of 900 ms starts the next.",
        "<script>let at = 0; const next = () => { at++; if (at === 5) proof.add('27x12-fifth.png'); else setTimeout(next, 900); };"
        "setTimeout(next, 900);</script>",
    ),
    Feature(
        "interval",
        "An interval loads three pictures, one in each 1.2 seconds.",
        "<script>const names = ['27x13-a.png', '27x14-b.png', '27x15-c.png'];"
        "const timer = setInterval(() => { proof.add(names.shift()); if (!names.length) clearInterval(timer); }, 1200);</script>",
    ),
    Feature(
        "animation",
        "A picture is loaded when an animation and a transition have ended.",
        "<div id=box>Moving</div><script>box.animate([{opacity: 0}, {opacity: 1}], 800).finished.then(() => proof.add('28x11-animated.png'));"
        "box.addEventListener('transitionend', () => proof.add('28x12-moved.png'), {once: true});"
        "box.style.transition = 'transform 700ms'; requestAnimationFrame(() => requestAnimationFrame(() => box.style.transform = 'translateX(50px)'));</script>",
    ),
    Feature(
        "random-url",
        "A URL has a random number in its path, and another in its query.",
        "<script>proof.text(`n/${Math.random()}.txt`, 'random', 'path'); proof.text(`q.txt?r=${Math.random()}`, 'random', 'query');</script>",
        parts=("path", "query"),
        proofs=(r"n/0\.\d+.*\.txt", r"q\.txt\?r=.*"),
        files={"n/*": Reply("random"), "q.txt": Reply("random")},
    ),
    Feature(
        "uuid-url",
        "A URL has a random UUID, made by crypto.",
        "<script>proof.text(`word.txt?id=${crypto.randomUUID()}`, 'uuid', 'uuid');"
        "proof.text(`bytes.txt?nonce=${crypto.getRandomValues(new Uint8Array(8)).join('')}`, 'bytes', 'bytes');</script>",
        parts=("uuid", "bytes"),
        proofs=(r"word\.txt\?id=.*", r"bytes\.txt\?nonce=.*"),
        files={"word.txt": Reply("uuid"), "bytes.txt": Reply("bytes")},
    ),
    Feature(
        "date-url",
        "URLs have the date and the time, to the second, in their path.",
        "<script>const now = new Date(); const two = n => String(n).padStart(2, '0');"
        "proof.text(`day/${now.toISOString().slice(0, 10)}.txt`, 'date', 'day');"
        "proof.text(`time/${two(now.getHours())}-${two(now.getMinutes())}-${two(now.getSeconds())}.txt`, 'date', 'time');</script>",
        parts=("day", "time"),
        proofs=(r"day/.*\.txt", r"time/.*\.txt"),
        files={"day/*": Reply("date"), "time/*": Reply("date")},
    ),
    Feature(
        "cache-busting",
        "Scripts ask with parameters that change at each visit.",
        "<script>proof.text(`a.txt?_=${Date.now()}`, 'fresh', 'underscore');"
        "proof.text(`b.txt?x=1&cb=${Date.now()}&y=2`, 'fresh', 'middle');"
        "proof.text(`c.txt?ts=${performance.timeOrigin + performance.now()}`, 'fresh', 'precise');"
        "proof.add(`29x11-busted.png?v=${Math.floor(Date.now() / 7)}`);</script>",
        parts=("underscore", "middle", "precise", "busted"),
        proofs=(r"a\.txt\?_=\d+", r"b\.txt\?x=1&cb=\d+&y=2", r"c\.txt\?ts=.*", r"29x11-busted\.png\?v=\d+"),
        files={f"{name}.txt": Reply("fresh") for name in "abc"},
    ),
    Feature(
        "jsonp",
        "A script calls back under a name that is made at random.",
        "<script>const name = 'cb' + Math.floor(Math.random() * 1e9); window[name] = value => value.word === 'leaf' && proof.done('called');"
        "const script = document.createElement('script');"
        "script.src = `https://elsewhere.test/jsonp/words.js?callback=${name}&page=1`; document.head.append(script);</script>",
        parts=("called",),
        proofs=(r"words\.js\?callback=cb\d+&page=1",),
        files={"words.js": lambda q: js(q.query.split("callback=")[1].split("&")[0] + '({"word": "leaf"});')},
    ),
    Feature(
        "navigator",
        "The page loads pictures by what the browser says of itself.",
        "<script>if (!navigator.webdriver) proof.add('30x11-human.png');"
        "if (document.visibilityState === 'visible' && document.hasFocus()) proof.add('30x12-visible.png');"
        "if (navigator.plugins.length && navigator.languages.length) proof.add('30x13-plugins.png');"
        "if (!/Headless/.test(navigator.userAgent) && window.chrome) proof.add('30x14-headed.png');"
        "proof.text('lang.txt?lang=' + navigator.language, 'lang', 'lang');</script>",
        parts=("human", "visible", "plugins", "headed", "lang"),
        proofs=("30x11-human.png", "30x12-visible.png", "30x13-plugins.png", "30x14-headed.png", r"lang\.txt\?lang=.*"),
        files={"lang.txt": Reply("lang")},
    ),
    Feature(
        "observers",
        "A ResizeObserver and a MutationObserver load pictures.",
        "<div id=box style='width:10px'></div><script>new ResizeObserver(() => proof.add('31x11-resized.png')).observe(box);"
        "new MutationObserver(() => proof.add('31x12-mutated.png')).observe(box, {attributes: true});"
        "setTimeout(() => { box.style.width = '50px'; }, 300);</script>",
    ),
    Feature(
        "channels",
        "Messages pass through a BroadcastChannel and a MessageChannel.",
        "<script>const a = new BroadcastChannel('c'), b = new BroadcastChannel('c'); b.onmessage = event => proof.add(event.data);"
        "a.postMessage('32x11-broadcast.png'); const pair = new MessageChannel(); pair.port1.onmessage = event => proof.add(event.data);"
        "pair.port2.postMessage('32x12-port.png');</script>",
    ),
    Feature(
        "compression-stream",
        "A script unpacks a file by DecompressionStream.",
        "<script>fetch('words.gz').then(a => new Response(a.body.pipeThrough(new DecompressionStream('gzip'))).text())"
        ".then(text => proof.done(text));</script>",
        parts=("leaf",),
        proofs=("words.gz",),
        files={"words.gz": Reply(gzip.compress(b"leaf", mtime=0), "application/octet-stream")},
    ),
    Feature(
        "canvas",
        "Pictures are drawn to a canvas, to WebGL and to a canvas in a worker.",
        "<canvas id=flat></canvas><script>const draw = async () => { const bitmap = await createImageBitmap(await (await fetch('33x11-drawn.png')).blob());"
        "const context = flat.getContext('2d'); context.drawImage(bitmap, 0, 0);"
        "if (context.getImageData(5, 5, 1, 1).data[3] === 255) proof.done('flat');"
        "const gl = new OffscreenCanvas(8, 8).getContext('webgl'); if (!gl) proof.done('gl'); else {"
        "gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, bitmap); gl.getError(); proof.done('gl'); } }; draw();"
        "const code = `onmessage = async ({data}) => { const b = await createImageBitmap(await (await fetch(data)).blob());"
        "new OffscreenCanvas(9, 9).getContext('2d').drawImage(b, 0, 0); postMessage(b.width); }`;"
        "const worker = new Worker(URL.createObjectURL(new Blob([code]))); worker.onmessage = e => e.data === 34 && proof.done('worker');"
        "worker.postMessage(new URL('34x11-worker.png', location).href);</script>",
        parts=("flat", "gl", "worker"),
        proofs=("33x11-drawn.png", "34x11-worker.png"),
    ),
    Feature(
        "view-transition",
        "A view transition shows a picture.",
        "<script>addEventListener('load', () => document.startViewTransition(() => proof.add('35x11-transition.png')));</script>",
    ),
    Feature(
        "dialog-element",
        "A dialog element opens with a lazy picture.",
        "<dialog id=d><img loading=lazy src='36x11-dialog.png'></dialog><script>d.addEventListener('toggle', () => {});"
        "addEventListener('load', () => d.showModal());</script>",
    ),
    Feature(
        "popover",
        "A button opens a popover with a lazy picture.",
        "<button popovertarget=p>More information</button><div id=p popover><img loading=lazy src='37x11-popover.png'></div>"
        "<script>p.addEventListener('toggle', () => proof.add('37x12-toggled.png'), {once: true});</script>",
        acts=(Act("click", "button"),),
    ),
    Feature(
        "local-storage",
        "Pictures are loaded by what localStorage and sessionStorage return.",
        "<script>localStorage.setItem('a', '38x11-local.png'); sessionStorage.setItem('b', '38x12-session.png');"
        "proof.add(localStorage.getItem('a')); proof.add(sessionStorage.getItem('b'));</script>",
    ),
    Feature(
        "indexed-db",
        "A picture is loaded by what IndexedDB returns.",
        "<script>const open = indexedDB.open('garden', 1); open.onupgradeneeded = () => open.result.createObjectStore('s');"
        "open.onsuccess = () => { const t = open.result.transaction('s', 'readwrite'); t.objectStore('s').put('39x11-stored.png', 1);"
        "t.oncomplete = () => { const get = open.result.transaction('s').objectStore('s').get(1); get.onsuccess = () => proof.add(get.result); }; };"
        "</script>",
    ),
    Feature(
        "cache-api",
        "A script puts a file into a cache and reads it from there.",
        "<script>caches.open('c').then(async cache => { await cache.add('word.txt');"
        "proof.done(await (await cache.match('word.txt')).text()); });</script>",
        parts=("leaf",),
        proofs=("word.txt",),
        files={"word.txt": Reply("leaf")},
    ),
    Feature(
        "frames",
        "Frames of three hosts lie in each other.",
        "<iframe src='https://cdn.features.test/frames/one.html'></iframe>",
        parts=("deepest",),
        proofs=("one.html", "two.html", "three.html", "40x11-deepest.png"),
        files={
            "one.html": page("<iframe src='https://elsewhere.test/frames/two.html'></iframe>"),
            "two.html": page("<iframe src='https://www.features.test/frames/three.html'></iframe>"),
            "three.html": page("<img src='40x11-deepest.png' onload=\"top.postMessage({part: 'deepest'}, '*')\">"),
        },
    ),
    Feature(
        "frames-inline",
        "Frames have srcdoc, are written by a script, are blobs, and are sandboxed.",
        "<iframe srcdoc=\"<img src='41x11-doc.png' onload='parent.postMessage({part: `doc`}, `*`)'>\"></iframe><iframe id=empty></iframe><iframe id=blob></iframe>"
        "<iframe sandbox='allow-scripts' src='boxed.html'></iframe><script>"
        'empty.contentDocument.write(\'<img src="41x12-written.png" onload="parent.postMessage({part: `written`}, `*`)">\'); empty.contentDocument.close();'
        "blob.src = URL.createObjectURL(new Blob([`<img src='${new URL('41x13-blob.png', location)}' onload='parent.postMessage({part: \"blob\"}, \"*\")'>`], {type: 'text/html'}));</script>",
        parts=("doc", "written", "blob", "boxed"),
        proofs=("41x11-doc.png", "41x12-written.png", "41x13-blob.png", "boxed.html", "41x14-boxed.png"),
        files={"boxed.html": page("<img src='41x14-boxed.png' onload=\"parent.postMessage({part: 'boxed'}, '*')\">")},
    ),
    Feature(
        "broken-parts",
        "A script throws, a picture is missing, a host does not resolve; the rest works.",
        "<script>setTimeout(() => { throw new Error('meant'); });</script><img src='42x10-none.gif'><script src='missing.js'></script>"
        "<img src='42x11-works.png'><script>fetch('missing.txt').then(a => a.status === 404 && proof.done('missing'));</script>",
        parts=("works", "missing"),
        proofs=("42x11-works.png",),
    ),
)
