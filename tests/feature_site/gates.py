"""Features of pages that wait for a visitor: walls of consent, gates, modals, and things that happen on being seen."""

from __future__ import annotations

from typing import Final

from feature_site.feature import Act, Feature, Question, Reply, click, css, data, hover, js, page


def _challenge(question: Question) -> Reply:
    """Answer with the page to a visitor whose script has set a cookie, and with that script to any other."""
    if "clearance=" in question.headers.get("cookie", ""):
        return Reply(CHALLENGED.text(), "text/html; charset=utf-8", headers=(("Cache-Control", "no-store"),))
    return Reply(
        "<!doctype html><title>Just a moment…</title><p>Checking your browser<script>"
        "setTimeout(() => { let sum = 0; for (let i = 0; i < 1000; i++) sum += i; document.cookie = `clearance=${sum}; path=/js-challenge/; max-age=600`; location.reload(); }, 600);</script>",
        "text/html; charset=utf-8",
        status=200,
        headers=(("Cache-Control", "no-store"),),
    )


def _bounced(question: Question) -> Reply:
    """Set a cookie by a redirection to another path and back to the same URL, and then answer with the page."""
    if "visited=yes" in question.headers.get("cookie", ""):
        return Reply(BOUNCED.text(), "text/html; charset=utf-8")
    return Reply(status=302, headers=(("Location", "/cookie-bounce/login/silent?return=%2Fcookie-bounce%2F"),))


CHALLENGED: Final = Feature(
    "js-challenge",
    "The page stands behind a script that sets a cookie and loads the page again.",
    "<img src='150x20-content.png'>",
    page=_challenge,
)
BOUNCED: Final = Feature(
    "cookie-bounce",
    "The first request is redirected to a login that sets a cookie and redirects back.",
    "<img src='152x20-inside.png'>",
    page=_bounced,
    proofs=("login/silent\\?return=.*", "152x20-inside.png"),
    files={
        "login/silent": Reply(
            status=302, headers=(("Location", "/cookie-bounce/"), ("Set-Cookie", "visited=yes; Path=/cookie-bounce"))
        )
    },
)

GATES: Final = (
    CHALLENGED,
    BOUNCED,
    Feature(
        "consent-message",
        "The wall of consent is a frame of another site, which tells the page the choice.",
        """<div class="sp_message_container" id=wall style="position:fixed;inset:0;background:#0009"><iframe id=sp_message_iframe_1 title="SP Consent Message" src="https://elsewhere.test/consent-message/wall.html" style="width:600px;height:300px;border:0;background:#fff"></iframe></div><div id=content></div><script>
addEventListener('message', event => { if (event.origin === 'https://elsewhere.test' && event.data.name === 'sp.hideMessage') { wall.remove(); content.innerHTML = '<img src="154x20-story.png">'; } });</script>""",
        parts=("story",),
        proofs=("wall.html", "154x20-story.png"),
        files={
            "wall.html": page(
                "<p>Wir und unsere 214 Partner verarbeiten Daten.</p><button title='Einstellungen' class=message-component>Einstellungen</button><button title='Alle akzeptieren' class='message-component' id=yes>Alle akzeptieren</button>"
                "<script>yes.onclick = () => parent.postMessage({name: 'sp.hideMessage', choice: 11}, '*');</script>"
            )
        },
        acts=(click("#yes", "iframe"),),
    ),
    Feature(
        "consent-two-step",
        "Consent in Polish, within a shadow tree; the second view has the button that ends it.",
        """<cmp-root id=cmp></cmp-root><div id=content></div><script>
const tree = cmp.attachShadow({mode: 'open'});
tree.innerHTML = `<div role=dialog aria-modal=true aria-label="Twoja prywatność" style="position:fixed;left:0;right:0;bottom:0;background:#fff;border-top:1px solid;padding:20px"><p>Szanujemy Twoją prywatność. Używamy plików cookie.</p><button class="secondary">Ustawienia zaawansowane</button></div>`;
tree.querySelector('button').onclick = () => {
  tree.querySelector('[role=dialog]').innerHTML = '<h2>Ustawienia cookie</h2><label><input type=checkbox checked disabled> Niezbędne</label><label><input type=checkbox> Statystyka</label><button class=primary>Zapisz i zamknij</button>';
  tree.querySelector('button').onclick = () => { cmp.remove(); document.cookie = 'consent=1'; content.innerHTML = '<img src="156x20-strona.png">'; };
};</script>""",
        acts=(click("cmp-root button"), click("cmp-root button")),
    ),
    Feature(
        "consent-scripts",
        "Scripts and frames of a category stay inert until the visitor allows the category.",
        """<div class="CybotCookiebotDialog" id=dialog role=dialog aria-label=Cookies style="position:fixed;bottom:0;left:0;background:#fff;border:1px solid;padding:16px">We use cookies. <a id=CybotCookiebotDialogBodyLevelButtonLevelOptinAllowAll href="#" tabindex=0>Allow all</a> <a href="#" id=deny>Use necessary cookies only</a></div>
<script type="text/plain" data-cookieconsent=marketing src="marketing.js"></script><div id=ad></div><iframe data-cookieconsent=marketing data-cookieblock-src="https://cdn.features.test/consent-scripts/video.html"></iframe><script>
dialog.addEventListener('click', event => {
  const link = event.target.closest('a'); if (!link) return; event.preventDefault(); dialog.remove();
  if (link.id === 'deny') return;
  document.querySelectorAll('script[type="text/plain"]').forEach(blocked => { const script = document.createElement('script'); script.src = blocked.getAttribute('src'); blocked.replaceWith(script); });
  document.querySelectorAll('[data-cookieblock-src]').forEach(frame => { frame.src = frame.dataset.cookieblockSrc; });
});</script>""",
        parts=("ad", "video"),
        proofs=("marketing.js", "158x20-ad.png", "video.html", "158x21-video.png"),
        files={
            "marketing.js": js("proof.add('158x20-ad.png', document.querySelector('#ad'))"),
            "video.html": page("<img src='158x21-video.png' onload=\"parent.postMessage({part: 'video'}, '*')\">"),
        },
        acts=(click("#CybotCookiebotDialogBodyLevelButtonLevelOptinAllowAll"),),
    ),
    Feature(
        "brewery-gate",
        "A brewery asks whether the visitor is old enough, and shows its page after that.",
        """<div class="agegate" id=gate style="position:fixed;inset:0;background:#111;color:#fff;text-align:center;padding-top:30vh"><h2>Are you of legal drinking age?</h2><a href="https://www.features.test/" class="btn">No</a> <a href="javascript:void(0)" class="btn" id=yes>Yes, I am over 18</a></div><main id=content></main><script>
document.body.style.overflow = 'hidden';
yes.onclick = () => { gate.style.display = 'none'; document.body.style.overflow = ''; sessionStorage.setItem('age', 'ok'); content.innerHTML = '<div style="height:1600px">Our beers</div><img loading=lazy src="160x20-beer.png">'; };</script>""",
        acts=(click("#yes"),),
    ),
    Feature(
        "newsletter-modal",
        "A newsletter's window stops the page from scrolling until its cross is clicked.",
        """<main id=list></main><div id=end style="height:1px"></div><script>
let at = 0, blocked = false;
const add = () => { at++; list.insertAdjacentHTML('beforeend', `<article style="height:1100px"><img src="162x2${at}-post${at}.png"></article>`); };
add();
new IntersectionObserver(([entry]) => { if (entry.isIntersecting && !blocked && at < 3) add(); }).observe(end);
addEventListener('scroll', () => { if (!blocked && at < 3 && scrollY + innerHeight > list.offsetHeight - 50) add(); });
setTimeout(() => {
  if (at > 1) return;
  blocked = true; document.body.style.overflow = 'hidden';
  document.body.insertAdjacentHTML('beforeend', '<div class="modal-backdrop" style="position:fixed;inset:0;background:#0008"></div><div class="modal newsletter" role=dialog aria-modal=true style="position:fixed;left:30%;top:30%;background:#fff;padding:30px;z-index:9"><span class="modal-close" style="position:absolute;right:10px;top:6px;cursor:pointer">×</span><h3>Join our newsletter</h3><form><input type=email placeholder="Your email"><button>Subscribe</button></form></div>');
  document.querySelector('.modal-close').onclick = () => { document.querySelectorAll('.modal-backdrop, .modal').forEach(each => each.remove()); blocked = false; document.body.style.overflow = ''; };
}, 300);</script>""",
        parts=("post1", "post2", "post3"),
        proofs=("162x21-post1.png", "162x22-post2.png", "162x23-post3.png"),
        acts=(Act("evaluate", "new Promise(done => setTimeout(done, 500))"), click(".modal-close")),
    ),
    Feature(
        "countdown-skip",
        "A button becomes usable when a countdown of four seconds is over.",
        """<div id=ad>Advertisement</div><button id=skip disabled>Continue in 4</button><script>
let left = 4;
const clock = setInterval(() => { left--; skip.textContent = left ? `Continue in ${left}` : 'Continue to article'; if (!left) { clearInterval(clock); skip.disabled = false; } }, 1000);
skip.onclick = () => { skip.remove(); ad.innerHTML = '<img src="164x20-article.png">'; };</script>""",
        acts=(click("#skip"),),
    ),
    Feature(
        "delayed-scripts",
        "All scripts wait for the first touch of the visitor, and then run one after the other.",
        """<div id=app></div><script type=rocketlazyloadscript data-rocket-src="lib.js"></script><script type=rocketlazyloadscript>lib.start(document.querySelector('#app'));</script><script>
(function () {
  const events = ['keydown', 'mousedown', 'mousemove', 'touchmove', 'touchstart', 'touchend', 'wheel'];
  async function run() {
    events.forEach(name => removeEventListener(name, run, {passive: true}));
    for (const old of document.querySelectorAll('script[type=rocketlazyloadscript]')) await new Promise(done => { const script = document.createElement('script'); if (old.dataset.rocketSrc) { script.src = old.dataset.rocketSrc; script.onload = done; } else { script.text = old.text; setTimeout(done); } old.replaceWith(script); });
    document.dispatchEvent(new Event('rocket-DOMContentLoaded'));
  }
  events.forEach(name => addEventListener(name, run, {passive: true}));
})();</script>""",
        parts=("app",),
        proofs=("lib.js", "166x20-app.png"),
        files={"lib.js": js("window.lib = {start: where => proof.add('166x20-app.png', where)};")},
        acts=(Act("mouse"),),
    ),
    Feature(
        "viewable-ad",
        "A place for an advertisement is filled after half of it was visible for one second.",
        """<div style="height:2600px">Text</div><div class="ad-slot" id=slot style="width:300px;height:250px;background:#eee"></div><div style="height:1500px">More</div><script>
let timer = 0;
new IntersectionObserver(([entry], observer) => {
  clearTimeout(timer);
  if (entry.intersectionRatio >= 0.5) timer = setTimeout(() => { observer.disconnect(); slot.innerHTML = '<img src="300x80-creative.png">'; }, 1000);
}, {threshold: [0, 0.5, 1]}).observe(slot);</script>""",
        acts=(Act("evaluate", "scrollTo(0, 2300)"), Act("evaluate", "new Promise(done => setTimeout(done, 1100))")),
    ),
    Feature(
        "turned-scroll",
        "Related stories appear when the reader turns and scrolls up.",
        """<div style="height:3000px">Long story</div><aside id=related style="position:fixed;bottom:0"></aside><script>
let last = 0;
addEventListener('scroll', () => { if (scrollY > 400 && scrollY < last - 5 && !related.innerHTML) related.innerHTML = '<img src="168x20-related.png">'; last = scrollY; }, {passive: true});</script>""",
        acts=(Act("evaluate", "scrollTo(0, 1500)"), Act("evaluate", "scrollTo(0, 1300)")),
    ),
    Feature(
        "exit-intent",
        "An offer is shown when the mouse leaves the window at its upper edge.",
        """<p>Shop</p><div id=offer></div><script>
document.addEventListener('mouseout', event => { if (!event.relatedTarget && event.clientY <= 0 && !offer.innerHTML) offer.innerHTML = '<img src="170x20-offer.png">'; });</script>""",
        acts=(
            Act(
                "evaluate",
                "document.documentElement.dispatchEvent(new MouseEvent('mouseout', {bubbles: true, clientY: -1, relatedTarget: null}))",
            ),
        ),
    ),
    Feature(
        "scroll-frames",
        "A canvas shows the frames of a film by the place of the scroll bar.",
        """<section style="height:4000px"><canvas id=canvas width=200 height=60 style="position:sticky;top:20px"></canvas></section><script>
const context = canvas.getContext('2d'), frames = [];
function paint(at) {
  if (!frames[at]) { frames[at] = new Image(); frames[at].onload = () => { context.drawImage(frames[at], 0, 0); proof.done(`f${at}`); }; frames[at].src = `frames/200x${60 + at}-f${at}.png`; }
}
addEventListener('scroll', () => requestAnimationFrame(() => paint(Math.min(9, Math.floor(scrollY / (document.documentElement.scrollHeight - innerHeight) * 10)))));
paint(0);</script>""",
        parts=("f0", "f3", "f6", "f9"),
        proofs=tuple(f"frames/200x{60 + at}-f{at}.png" for at in range(10)),
    ),
    Feature(
        "visibility-event",
        "Sections without content are filled when the browser begins to render them.",
        """<style>section {content-visibility: auto; contain-intrinsic-size: auto 900px; border-bottom: 1px solid}</style><section data-n=1>One</section><section data-n=2>Two</section><section data-n=3>Three</section><section data-n=4>Four</section><section data-n=5>Five</section><script>
document.querySelectorAll('section').forEach(section => section.addEventListener('contentvisibilityautostatechange', event => { if (!event.skipped && !section.querySelector('img')) section.insertAdjacentHTML('beforeend', `<div style="height:880px"><img src="172x2${section.dataset.n}-section${section.dataset.n}.png"></div>`); }));</script>""",
        parts=("section1", "section3", "section5"),
        proofs=tuple(f"172x2{at}-section{at}.png" for at in range(1, 6)),
    ),
    Feature(
        "scroll-end",
        "Pictures are loaded at the event scrollend alone, of the page and of a rail.",
        """<div id=rail style="width:300px;overflow-x:auto;white-space:nowrap"><div style="width:1500px;height:60px"></div></div><div style="height:2400px"></div><div id=bottom></div><script>
rail.addEventListener('scrollend', () => { if (rail.scrollLeft > 0 && !document.querySelector('.rail')) proof.add('174x20-rail.png').className = 'rail'; });
document.addEventListener('scrollend', () => { if (scrollY > 300 && !bottom.innerHTML) bottom.innerHTML = '<img src="174x21-bottom.png">'; });</script>""",
        acts=(Act("evaluate", "rail.scrollTo(500, 0)"),),
    ),
    Feature(
        "splash-animation",
        "The page begins when the animation of its splash screen has ended.",
        """<style>@keyframes out {from {opacity: 1} to {opacity: 0}} #splash {position: fixed; inset: 0; background: #146; animation: out 1.2s 1s forwards}</style><div id=splash></div><main id=content></main><script>
splash.addEventListener('animationend', () => { splash.remove(); content.innerHTML = '<img src="178x20-start.png">'; });</script>""",
    ),
    Feature(
        "old-library",
        "An old library has changed the built-in objects, and the page has tabs.",
        """<script>
Array.prototype.toJSON = function () { return '[object]'; }; Object.prototype.each = function () { return this; }; Element.prototype.remove = function () { return this; };
Array.from = function (list) { var result = []; for (var i = 0; i < list.length; i++) result.push(list[i]); return result; }; Function.prototype.bind = function (scope) { var self = this; return function () { return self.apply(scope, arguments); }; };
window.name = 'main'; window.status = {}; window.parent.length;</script>
<ul class=tabs><li class=active><a href="#t1">One</a></li><li><a href="#t2">Two</a></li></ul><div id=box></div><script>
document.querySelectorAll('.tabs a').forEach(function (link) { link.onclick = function () { box.innerHTML = link.hash === '#t2' ? '<img src="182x21-two.png">' : '<img src="182x20-one.png">'; return false; }; });</script>""",
        acts=(click(".tabs a >> nth=0"), click(".tabs a >> nth=1")),
    ),
    Feature(
        "hover-styles",
        "A style sheet names pictures for hovered, focused and open elements only.",
        """<a href="#a" class=tile>Oak</a> <button class=field>Search</button> <details><summary>More</summary><div class=inner>x</div></details><script>
for (const name of ['184x20-hovered.png', '184x21-focused.png', '184x22-opened.png']) proof.resource(name, name.slice(7, -4));</script>""",
        head="<link rel=stylesheet href=tiles.css>",
        parts=("hovered", "focused", "opened"),
        proofs=("184x20-hovered.png", "184x21-focused.png", "184x22-opened.png"),
        files={
            "tiles.css": css(
                ".tile:hover {background: url(184x20-hovered.png)} .field:focus {background-image: url('184x21-focused.png')} details[open] .inner::before {content: url(\"184x22-opened.png\")}"
            )
        },
        acts=(hover(".tile"), click(".field"), click("summary")),
    ),
    Feature(
        "comment-thread",
        "A service's comments are embedded when their place comes near, and their frame grows by messages.",
        """<article style="height:3000px">Article</article><div id=disqus_thread></div><script>
new IntersectionObserver(([entry], observer) => { if (!entry.isIntersecting) return; observer.disconnect(); const script = document.createElement('script'); script.src = 'https://cdn.features.test/comment-thread/embed.js'; script.setAttribute('data-timestamp', +new Date()); document.head.append(script); }, {rootMargin: '100px'}).observe(disqus_thread);</script>""",
        parts=("c1", "c2"),
        proofs=("embed.js", "thread.html.*", "186x20-c1.png", "186x21-c2.png"),
        files={
            "embed.js": js(
                "const frame = document.createElement('iframe'); frame.src = `https://elsewhere.test/comment-thread/thread.html?u=${encodeURIComponent(location.href)}&t=${encodeURIComponent(document.title.split(':')[0])}`; frame.style.height = '120px';"
                "addEventListener('message', event => { if (event.data.height) frame.style.height = event.data.height + 'px'; }); document.querySelector('#disqus_thread').append(frame);"
            ),
            "thread.html": page(
                "<div id=posts></div><a href='#' id=more style='display:block'>Load more comments</a><script>"
                "const add = (src, part) => { const image = new Image(); image.onload = () => parent.postMessage({part, height: 400}, '*'); image.src = src; posts.append(image); };"
                "add('186x20-c1.png', 'c1'); more.onclick = event => { event.preventDefault(); more.remove(); add('186x21-c2.png', 'c2'); };</script>"
            ),
        },
        acts=(Act("evaluate", "scrollTo(0, 2800)"), click("#more", "iframe")),
    ),
    Feature(
        "embedded-post",
        "A quotation becomes a frame of a network by a script that is loaded last.",
        """<blockquote class="twitter-tweet" data-id=77><p>Leaves are falling</p></blockquote><script async src="https://cdn.features.test/embedded-post/widgets.js" charset="utf-8"></script>""",
        parts=("post",),
        proofs=("widgets.js", "embed/Post.html.*", "embed/188x20-post.png"),
        files={
            "widgets.js": js(
                "document.querySelectorAll('.twitter-tweet').forEach(quote => { const frame = document.createElement('iframe'); frame.src = `https://elsewhere.test/embedded-post/embed/Post.html?frame=false&hideCard=false&id=${quote.dataset.id}&sessionId=${[...crypto.getRandomValues(new Uint8Array(20))].map(b => b.toString(16).padStart(2, '0')).join('')}`; quote.replaceWith(frame); });"
            ),
            "embed/Post.html": page("<img src='188x20-post.png' onload=\"parent.postMessage({part: 'post'}, '*')\">"),
        },
    ),
    Feature(
        "pointer-fine",
        "A cursor's picture and a tooltip script are for devices with a mouse only.",
        """<div class=custom style="width:200px;height:80px">Drag me</div><script>
if (matchMedia('(hover: hover) and (pointer: fine)').matches) proof.add('190x20-fine.png');
proof.resource('190x21-wide.png', 'wide');</script>""",
        head="<style>@media (any-hover: hover) and (min-resolution: .5dppx) and (width >= 600px) {.custom {background: url(190x21-wide.png)}}</style>",
        parts=("fine", "wide"),
        proofs=("190x20-fine.png", "190x21-wide.png"),
    ),
    Feature(
        "window-focus",
        "A game starts only in a window that has the focus and is visible.",
        """<div id=game></div><script>
const start = () => { if (document.hasFocus() && document.visibilityState === 'visible') game.innerHTML = '<img src="192x20-level.png">'; else setTimeout(start, 250); };
start();</script>""",
    ),
    Feature(
        "leader-tab",
        "Two frames compete for a lock; the winner fetches, and tells the others by a channel.",
        """<iframe src="peer.html"></iframe><iframe src="peer.html"></iframe><script>
const channel = new BroadcastChannel('news'); const heard = new Set();
channel.onmessage = event => { heard.add(event.data.from); proof.add(event.data.picture); };</script>""",
        parts=("news",),
        proofs=("peer.html", "news.json", "194x20-news.png"),
        files={
            "peer.html": page(
                "<script>const me = crypto.randomUUID(), channel = new BroadcastChannel('news'); navigator.locks.request('leader', async () => { const news = await fetch('news.json').then(r => r.json()); channel.postMessage({from: me, picture: news.picture}); await new Promise(() => {}); });</script>"
            ),
            "news.json": data('{"picture": "194x20-news.png"}'),
        },
    ),
    Feature(
        "continue-reading",
        "A story is cut by a fade, and its rest is fetched as HTML with lazy pictures in it.",
        """<article id=story><p>First paragraph</p><div class=fade style="height:120px;background:linear-gradient(#fff0, #fff)"></div><div class="read-on" style="text-align:center"><span class="btn-read" style="cursor:pointer;border:1px solid;padding:8px">Continue reading this story</span></div></article><script>
document.querySelector('.btn-read').addEventListener('click', async () => { const html = await fetch('rest.html').then(r => r.text()); story.innerHTML = html; });</script>""",
        parts=("top", "end"),
        proofs=("rest.html", "196x20-top.png", "196x21-end.png"),
        files={
            "rest.html": Reply(
                "<p>Second</p><img src='196x20-top.png'><div style='height:3500px'></div><img loading=lazy src='196x21-end.png'>",
                "text/html",
            )
        },
        acts=(click(".btn-read"),),
    ),
    Feature(
        "rtl-rail",
        "An Arabic rail is scrolled to the left, and loads more at its end.",
        """<div dir=rtl id=rail style="width:320px;overflow-x:auto;white-space:nowrap;height:80px"></div><script>
let at = 0;
const add = () => { at++; rail.insertAdjacentHTML('beforeend', `<div style="display:inline-block;width:300px"><img src="198x2${at}-rtl${at}.png"></div>`); };
add(); add();
rail.addEventListener('scroll', () => { if (at < 5 && -rail.scrollLeft + rail.clientWidth > rail.scrollWidth - 40) add(); });</script>""",
        parts=tuple(f"rtl{at}" for at in range(1, 6)),
        proofs=tuple(f"198x2{at}-rtl{at}.png" for at in range(1, 6)),
        acts=tuple(Act("evaluate", "rail.scrollTo(-9999, 0)") for _ in range(3)),
    ),
)
