"""Features that need a person: clicks, hovers, scrolls, forms, dialogs, logins."""

from __future__ import annotations

import base64
from typing import Final

from feature_site.feature import HOST, Act, Feature, File, Question, Reply, click, data, hover, page


def _batches(question: Question) -> Reply:
    """Answer with a batch of a list: its pictures, and whether there are more."""
    number = int(question.query.removeprefix("batch=") or 1)
    pictures = f'["{60 + number}x10-batch{number}.png"]'
    return data(f'{{"pictures": {pictures}, "more": {"true" if number < 4 else "false"}}}')


_BATCHES: Final = tuple(rf"list\?batch={number}" for number in range(1, 5))
_BATCH_PARTS: Final = tuple(f"batch{number}" for number in range(1, 5))
_BATCH_PROOFS: Final = (*_BATCHES, *(rf"{60 + number}x10-batch{number}\.png" for number in range(1, 5)))
_BATCH_SCRIPT: Final = (
    "let at = 0, busy = false, more = true; const load = async () => { if (busy || !more) return; busy = true;"
    "const answer = await (await fetch(`list?batch=${++at}`)).json(); await new Promise(go => setTimeout(go, WAIT));"
    "answer.pictures.forEach(name => { const box = document.createElement('div'); box.style.height = '1400px'; proof.add(name, box); list.append(box); });"
    "more = answer.more; busy = false; AFTER };"
)


def _list(
    name: str, about: str, body: str, *, wait: int = 0, after: str = "", acts: tuple[Act, ...] = (), seconds: float = 30
) -> Feature:
    script = _BATCH_SCRIPT.replace("WAIT", str(wait)).replace("AFTER", after)
    return Feature(
        name,
        about,
        f"<div id=list></div>{body.replace('LOADER', script)}",
        parts=_BATCH_PARTS,
        proofs=_BATCH_PROOFS,
        files={"list": _batches},
        acts=acts,
        seconds=seconds,
    )


def _panels(number: int) -> dict[str, File]:
    return {
        f"panel{at}.html": Reply(f'<img src="{70 + at}x10-panel{at}.png">', "text/html") for at in range(1, number + 1)
    }


_FETCH_PANEL: Final = (
    "const show = async number => { panel.innerHTML = await (await fetch(`panel${number}.html`)).text(); };"
)
_SOON: Final = (
    "new IntersectionObserver(entries => entries.some(entry => entry.isIntersecting) && load()).observe(end);"
)


def _consent(
    name: str,
    about: str,
    banner: str,
    script: str,
    selector: str,
    frame: str = "",
    files: dict[str, File] | None = None,
) -> Feature:
    """Return a page whose pictures are loaded once consent is given."""
    return Feature(
        name,
        about,
        f"{banner}<main id=content></main><script>const accepted = () => {{ proof.add('80x10-accepted.png', content); }};{script}</script>",
        parts=("accepted",),
        proofs=("80x10-accepted.png",),
        acts=(click(selector, frame),),
        files=files or {},
    )


def _wall(text: str, buttons: str) -> str:
    return (
        "<div id=wall style='position:fixed;inset:0;background:#eeed;z-index:9999;padding:200px'>"
        f"<div role=dialog aria-modal=true><p>{text}</p>{buttons}</div></div>"
    )


_WALL_SCRIPT: Final = "document.querySelector('#yes').onclick = () => { wall.remove(); accepted(); };"
_WALLS: Final = {
    "english": ("We use cookies to improve your visit.", "Reject", "Accept all"),
    "german": ("Wir verwenden Cookies und ähnliche Techniken.", "Ablehnen", "Alle akzeptieren"),
    "french": ("Nous utilisons des cookies.", "Tout refuser", "Tout accepter"),
    "danish": ("Vi bruger cookies på dette websted.", "Afvis alle", "Tillad alle cookies"),
    "spanish": ("Utilizamos cookies propias y de terceros.", "Rechazar todo", "Aceptar todas"),
    "czech": ("Tento web používá soubory cookie.", "Odmítnout vše", "Přijmout vše"),
    "japanese": ("当サイトではクッキーを使用します。", "拒否する", "すべて同意する"),
}


def _basic(question: Question) -> Reply:
    wanted = "Basic " + base64.b64encode(b"reader:leaf").decode()
    if question.headers.get("authorization") != wanted:
        return Reply("Password, please", status=401, headers=(("WWW-Authenticate", 'Basic realm="Reading room"'),))
    feature = Feature("basic-login", "The page asks for a name and a password by HTTP.", '<img src="81x10-inside.png">')
    return Reply(feature.text(), "text/html; charset=utf-8")


def _form_login(question: Question) -> Reply:
    body = (
        '<img src="82x10-member.png">'
        if "member=yes" in question.headers.get("cookie", "")
        else "<form method=post action=enter><input name=user><input name=password type=password><button id=go>Log in</button></form>"
    )
    feature = Feature("form-login", "The page has a form for a login.", body, parts=("member",))
    return Reply(feature.text(), "text/html; charset=utf-8", headers=(("Cache-Control", "no-store"),))


def _enter(question: Question) -> Reply:
    if b"user=reader" in question.body and b"password=leaf" in question.body:
        return Reply(
            status=303, headers=(("Location", "./"), ("Set-Cookie", "member=yes; Path=/form-login/; HttpOnly; Secure"))
        )
    return Reply("wrong", status=403)


def _search(question: Question) -> Reply:
    word = question.query.partition("q=")[2].partition("&")[0]
    feature = Feature(
        "search-form", "The page has a form for a search.", f"<p>Results for {word}</p><img src='83x10-found.png'>"
    )
    return Reply(feature.text(), "text/html; charset=utf-8")


INTERACTION: Final = (
    _list(
        "scroll-fast",
        "A list grows when its end is near.",
        f"<div id=end>End</div><script>LOADER load(); {_SOON}"
        "addEventListener('scroll', () => innerHeight + scrollY > document.body.scrollHeight - 300 && load());</script>",
    ),
    _list(
        "scroll-slow",
        "A list grows when its end is near, and each batch takes two seconds.",
        f"<div id=end>End</div><script>LOADER load(); {_SOON}"
        "addEventListener('scroll', () => innerHeight + scrollY > document.body.scrollHeight - 300 && load());</script>",
        wait=2000,
        seconds=60,
    ),
    _list(
        "load-more",
        "A button loads more.",
        "<button id=more>Load more</button><script>LOADER load(); more_.onclick = load;</script>".replace(
            "id=more", "id=more_"
        ),
        after="if (!answer.more) more_.remove();",
        acts=(click("#more_"),) * 6,
    ),
    _list(
        "load-more-link",
        "A link without an address shows more.",
        "<a href='#' role=button class='btn-more' id=m>Mehr anzeigen</a><script>LOADER load();"
        "m.onclick = event => { event.preventDefault(); load(); };</script>",
        acts=(click("#m"),) * 6,
    ),
    Feature(
        "pagination",
        "Pages of a list are turned by a script.",
        "<div id=panel></div><nav><button id=p1>1</button><button id=p2>2</button><button id=p3>3</button><button id=next>Next ›</button></nav>"
        f"<script>{_FETCH_PANEL} let now = 1; const go = n => {{ now = Math.min(n, 3); show(now); }}; go(1);"
        "p1.onclick = () => go(1); p2.onclick = () => go(2); p3.onclick = () => go(3); next.onclick = () => go(now + 1);</script>",
        files=_panels(3),
        acts=(click("#next"), click("#next")),
        proofs=tuple(f"panel{n}.html" for n in (1, 2, 3)) + tuple(f"{70 + n}x10-panel{n}.png" for n in (1, 2, 3)),
    ),
    Feature(
        "tabs",
        "Tabs load their panels.",
        "<div role=tablist><button role=tab aria-selected=true aria-controls=panel onclick='show(1)'>One</button>"
        "<button role=tab aria-controls=panel id=t2 onclick='show(2)'>Two</button><button role=tab aria-controls=panel id=t3 onclick='show(3)'>Three</button></div>"
        f"<div id=panel role=tabpanel></div><script>{_FETCH_PANEL} show(1);</script>",
        files=_panels(3),
        acts=(click("#t2"), click("#t3")),
        proofs=tuple(f"panel{n}.html" for n in (1, 2, 3)) + tuple(f"{70 + n}x10-panel{n}.png" for n in (1, 2, 3)),
    ),
    Feature(
        "tabs-plain",
        "Tabs are list items with click listeners, without roles.",
        "<ul class='tabs'><li class='tab active'>One</li><li class='tab' id=t2>Two</li></ul><div id=panel></div>"
        f"<script>{_FETCH_PANEL} show(1); document.querySelectorAll('.tab').forEach((tab, at) => tab.addEventListener('click', () => show(at + 1)));</script>",
        files=_panels(2),
        acts=(click("#t2"),),
        proofs=("panel1.html", "panel2.html", "72x10-panel2.png"),
    ),
    Feature(
        "accordion",
        "An accordion's headings load their sections.",
        "<h3><button aria-expanded=false aria-controls=s1 id=b1>Section 1</button></h3><div id=s1 hidden></div>"
        "<h3><button aria-expanded=false aria-controls=s2 id=b2>Section 2</button></h3><div id=s2 hidden></div>"
        "<script>for (const [button, box, at] of [[b1, s1, 1], [b2, s2, 2]]) button.onclick = async () => { const open = button.ariaExpanded !== 'true';"
        "button.ariaExpanded = open; box.hidden = !open; if (open && !box.innerHTML) box.innerHTML = await (await fetch(`panel${at}.html`)).text(); };</script>",
        files=_panels(2),
        acts=(click("#b1"), click("#b2")),
    ),
    Feature(
        "details",
        "Details elements load their content when they are opened.",
        "<details id=d1><summary>First question</summary><img loading=lazy src='84x10-first.png'></details><details id=d2><summary>Second question</summary></details>"
        "<script>d2.addEventListener('toggle', () => proof.add('84x11-second.png', d2), {once: true});</script>",
        acts=(click("#d1 summary"), click("#d2 summary")),
    ),
    Feature(
        "details-exclusive",
        "Of three details elements with one name only one is open.",
        "".join(f"<details name=faq id=d{n}><summary>Question {n}</summary></details>" for n in (1, 2, 3))
        + "<script>[d1, d2, d3].forEach((d, at) => d.addEventListener('toggle', () => d.open && proof.add(['85x10-one.png', '85x11-two.png', '85x12-three.png'][at], d)));</script>",
        acts=(click("#d1 summary"), click("#d2 summary"), click("#d3 summary")),
    ),
    Feature(
        "carousel",
        "Arrows of a carousel load the next slides.",
        "<div class=carousel><div id=slide></div><button class='prev' aria-label='Previous slide'>‹</button><button class='next' id=n aria-label='Next slide'>›</button></div>"
        "<script>const names = ['86x10-s1.png', '86x11-s2.png', '86x12-s3.png', '86x13-s4.png']; let at = 0;"
        "const turn = by => { at = (at + by + names.length) % names.length; slide.innerHTML = ''; proof.add(names[at], slide); }; turn(0);"
        "n.onclick = () => turn(1); document.querySelector('.prev').onclick = () => turn(-1);</script>",
        acts=(click("#n"),) * 3,
    ),
    Feature(
        "carousel-dots",
        "Dots of a carousel, which have no text, load its slides.",
        "<div class='slider'><div id=slide></div><span class=dot data-slide=0></span><span class=dot data-slide=1></span><span class=dot data-slide=2></span></div>"
        "<style>.dot {display: inline-block; width: 14px; height: 14px; border-radius: 7px; background: gray; cursor: pointer; margin: 4px}</style>"
        "<script>const names = ['87x10-s1.png', '87x11-s2.png', '87x12-s3.png']; const turn = at => { slide.innerHTML = ''; proof.add(names[at], slide); }; turn(0);"
        "document.querySelectorAll('.dot').forEach(dot => dot.onclick = () => turn(+dot.dataset.slide));</script>",
        acts=(click(".dot:nth-of-type(2)"), click(".dot:nth-of-type(3)")),
    ),
    Feature(
        "hover-menu",
        "A menu opens under the mouse and loads pictures.",
        "<nav><ul><li class=menu id=m>Products<ul hidden></ul></li></ul></nav>"
        "<script>m.addEventListener('mouseenter', () => { m.lastElementChild.hidden = false; proof.add('88x10-menu.png', m.lastElementChild); }, {once: true});</script>",
        acts=(hover("#m"),),
    ),
    Feature(
        "hover-style",
        "A style shows a background under the mouse.",
        "<div class='card has-dropdown' id=c>Card</div><script>c.addEventListener('mouseover', () => proof.add('88x11-hovered.png'), {once: true});</script>",
        head="<style>.card {width: 200px; height: 60px; border: 1px solid} .card:hover {background: url(88x11-hovered.png)}</style>",
        acts=(hover("#c"),),
    ),
    Feature(
        "hover-image",
        "A picture is exchanged when the mouse is over it.",
        "<img id=i src='88x12-normal.png' width=88 height=40><script>i.onmouseover = () => { i.onmouseover = null; i.src = '88x13-over.png'; };</script>",
        acts=(hover("#i"),),
    ),
    Feature(
        "first-mouse",
        "Everything waits for the first move of the mouse.",
        "<script>for (const kind of ['mousemove', 'touchstart', 'keydown']) addEventListener(kind, () => proof.add('89x10-moved.png'), {once: true});</script>",
        parts=("moved",),
        acts=(Act("mouse"),),
    ),
    Feature(
        "first-key",
        "A picture waits for a key, another for a pointer that goes down.",
        "<script>addEventListener('keydown', () => proof.add('89x11-key.png'), {once: true}); addEventListener('pointerdown', () => proof.add('89x12-pointer.png'), {once: true});</script>",
        acts=(Act("press", "body", "ArrowDown"), click("h1")),
    ),
    Feature(
        "spa-routes",
        "A single-page application has routes of the History API.",
        "<nav><a href='/spa-routes/about' data-route>About</a> <a href='/spa-routes/news' data-route>News</a></nav><div id=view></div>"
        "<script>const render = async () => { const name = location.pathname.split('/')[2] || 'home'; const answer = await (await fetch(`/spa-routes/api/${name}.json`)).json(); proof.add('/spa-routes/' + answer.picture, view); };"
        "document.querySelectorAll('[data-route]').forEach(link => link.onclick = event => { event.preventDefault(); history.pushState({}, '', link.getAttribute('href')); render(); }); onpopstate = render; render();</script>",
        files={
            f"api/{name}.json": data(f'{{"picture": "90x1{at}-{name}.png"}}')
            for at, name in enumerate(("home", "about", "news"))
        },
        acts=(click("a >> nth=0"), click("a >> nth=1")),
        proofs=tuple(f"api/{name}.json" for name in ("home", "about", "news"))
        + tuple(f"90x1{at}-{name}.png" for at, name in enumerate(("home", "about", "news"))),
        parts=("home", "about", "news"),
    ),
    Feature(
        "spa-buttons",
        "A single-page application navigates by buttons with data-href.",
        "<button data-href=/spa-buttons/b id=b>Our team</button><div id=view></div><script>"
        "b.onclick = () => { history.pushState({}, '', b.dataset.href); proof.add('/spa-buttons/90x20-team.png', view); };</script>",
        parts=("team",),
        proofs=("90x20-team.png",),
        acts=(click("#b"),),
    ),
    Feature(
        "hash-routes",
        "Routes stand behind the hash.",
        "<a href='#/'>Home</a> <a href='#/one'>One</a> <a href='#/two'>Two</a><div id=view></div>"
        "<script>const go = () => proof.add({'#/one': '91x11-one.png', '#/two': '91x12-two.png'}[location.hash] || '91x10-home.png', view); onhashchange = go; go();</script>",
        acts=(click("a >> nth=1"), click("a >> nth=2")),
    ),
    Feature(
        "navigation-api",
        "The Navigation API intercepts links.",
        "<a href='./inner'>Inner</a><div id=view></div><script>navigation.addEventListener('navigate', event => { if (event.canIntercept && event.destination.url.endsWith('inner'))"
        " event.intercept({handler: async () => { proof.add('/navigation-api/91x20-inner.png', view); }}); });</script>",
        parts=("inner",),
        proofs=("91x20-inner.png",),
        acts=(click("a"),),
    ),
    *(
        _consent(
            f"consent-{language}",
            f"A consent wall covers the page ({language}).",
            _wall(text, f"<button>{no}</button> <button id=yes>{yes}</button>"),
            _WALL_SCRIPT,
            "#yes",
        )
        for language, (text, no, yes) in _WALLS.items()
    ),
    _consent(
        "consent-tcf",
        "A consent platform has the TCF interface and a host element of its own.",
        "<div id='onetrust-consent-sdk'><div id='onetrust-banner-sdk' style='position:fixed;bottom:0;left:0;right:0;background:#ddd;padding:30px'>"
        "We value your privacy <button id='onetrust-reject-all-handler'>Reject</button><button id='onetrust-accept-btn-handler'>I agree</button></div></div>",
        "let status = 'cmpuishown', listeners = []; window.__tcfapi = (command, version, callback) => { if (command === 'addEventListener') { listeners.push(callback); callback({eventStatus: status, listenerId: 1}, true); }"
        "else if (command === 'ping') callback({cmpStatus: 'loaded', displayStatus: status === 'cmpuishown' ? 'visible' : 'hidden'}, true); };"
        "const banner = document.querySelector('#onetrust-banner-sdk'); document.querySelector('#onetrust-accept-btn-handler').onclick = () => { banner.remove(); status = 'useractioncomplete';"
        "listeners.forEach(call => call({eventStatus: status, listenerId: 1}, true)); };"
        "__tcfapi('addEventListener', 2, event => event.eventStatus === 'useractioncomplete' && accepted());",
        "#onetrust-accept-btn-handler",
    ),
    _consent(
        "consent-shadow",
        "A consent wall lies in a shadow tree.",
        "<div id='usercentrics-root'></div>",
        "const tree = document.querySelector('#usercentrics-root').attachShadow({mode: 'open'});"
        "tree.innerHTML = `<div role=dialog style='position:fixed;inset:0;background:#eee;padding:99px;z-index:9'>Cookies and privacy <button data-testid='uc-deny-all-button'>Deny</button><button data-testid='uc-accept-all-button'>Accept All</button></div>`;"
        "tree.querySelector('[data-testid=uc-accept-all-button]').onclick = () => { tree.innerHTML = ''; accepted(); };",
        "[data-testid=uc-accept-all-button]",
    ),
    _consent(
        "consent-frame",
        "A consent wall lies in a frame of another host.",
        "<iframe id='sp_message_iframe_1' title='Consent message' style='position:fixed;inset:0;width:100%;height:100%;z-index:9' src='https://cdn.features.test/consent-frame/wall.html'></iframe>",
        "addEventListener('message', event => { if (event.data === 'accepted') { document.querySelector('iframe').remove(); accepted(); } });",
        "#yes",
        "iframe",
        {
            "wall.html": page(
                "<p>We and our partners store cookies.</p><button>Options</button><button id=yes title='Accept' onclick=\"parent.postMessage('accepted', '*')\">Accept and continue</button>"
            )
        },
    ),
    _consent(
        "age-gate",
        "The visitor must say that they are of age.",
        _wall("Are you 18 or older?", "<button>No, leave</button> <button id=yes>Yes, I am over 18</button>"),
        _WALL_SCRIPT,
        "#yes",
    ),
    _consent(
        "splash",
        "A newsletter's dialog must be closed before the page goes on.",
        _wall(
            "Sign up for our newsletter!",
            "<input type=email placeholder='Your address'><button>Subscribe</button><button id=yes aria-label=Close class=close>×</button>",
        ),
        _WALL_SCRIPT,
        "#yes",
    ),
    Feature(
        "dialogs",
        "The page calls alert, confirm and prompt.",
        "<script>setTimeout(() => { alert('Welcome'); proof.add('92x10-alerted.png'); if (confirm('Load the picture?')) proof.add('92x11-confirmed.png');"
        "if (prompt('Your name?', 'reader') !== null) proof.add('92x12-prompted.png'); }, 200);</script>",
    ),
    Feature(
        "before-unload",
        "The page asks before it is left.",
        "<img src='92x20-shown.png'><script>addEventListener('beforeunload', event => event.preventDefault());</script>",
        acts=(click("h1"),),
    ),
    Feature(
        "popup",
        "A button opens a window, whose content tells the first.",
        "<button id=b>Show the map</button><script>b.onclick = () => open('window.html', 'map', 'width=300,height=200');</script>",
        parts=("window",),
        proofs=("window.html", "93x10-window.png"),
        files={
            "window.html": page("<img src='93x10-window.png' onload=\"opener.postMessage({part: 'window'}, '*')\">")
        },
        acts=(click("#b"),),
    ),
    Feature(
        "new-tab",
        "A link opens a document in a new tab.",
        "<a id=a href='tab.html' target=_blank rel=opener>Open the leaflet</a>",
        parts=("tab",),
        proofs=("tab.html", "93x11-tab.png"),
        files={"tab.html": page("<img src='93x11-tab.png' onload=\"opener.postMessage({part: 'tab'}, '*')\">")},
        acts=(click("#a"),),
    ),
    Feature(
        "select",
        "A select element loads what was chosen.",
        "<select id=s><option value=1>One</option><option value=2>Two</option><option value=3>Three</option></select><div id=panel></div>"
        f"<script>{_FETCH_PANEL} show(1); s.onchange = () => show(s.value);</script>",
        files=_panels(3),
        acts=(Act("select", "#s", "2"), Act("select", "#s", "3")),
        proofs=tuple(f"panel{n}.html" for n in (1, 2, 3)),
    ),
    Feature(
        "checks",
        "Radio buttons and a check box load pictures.",
        "<label><input type=radio name=r value=1 checked>List</label><label><input type=radio name=r value=2 id=r2>Map</label><label><input type=checkbox id=c>Show pictures</label>"
        "<script>r2.onchange = () => proof.add('94x10-map.png'); c.onchange = () => c.checked && proof.add('94x11-shown.png');</script>",
        acts=(click("#r2"), click("#c")),
    ),
    Feature(
        "range-input",
        "A slider loads a picture when it is moved.",
        "<input type=range id=r min=0 max=4 value=0><script>r.addEventListener('input', () => proof.add('94x20-moved.png'), {once: true});</script>",
        acts=(Act("press", "#r", "ArrowRight"),),
    ),
    Feature(
        "search-form",
        "The page has a form for a search.",
        "<form action='results'><input name=q value=''><button id=go>Search</button></form>",
        parts=("found",),
        proofs=(r"results\?q=.*", "83x10-found.png"),
        files={"results": _search},
        acts=(Act("fill", "[name=q]", "leaf"), click("#go")),
    ),
    Feature(
        "search-typed",
        "A field suggests words while they are typed.",
        "<input id=q type=search placeholder='Search the garden'><div id=out></div><script>q.oninput = async () => { const a = await fetch('suggest?q=' + encodeURIComponent(q.value));"
        "if (a.ok) proof.add('94x30-suggested.png', out); };</script>",
        parts=("suggested",),
        proofs=("94x30-suggested.png",),
        files={"suggest": data('["leaf"]')},
        acts=(Act("fill", "#q", "leaf"),),
    ),
    Feature(
        "inner-scroll",
        "A box of 150 pixels scrolls and loads pictures.",
        "<div id=box style='height:150px;width:300px;overflow-y:auto;border:1px solid'><div style='height:1200px'></div><div id=end style='height:20px'>End</div></div><script>"
        "new IntersectionObserver(e => e.some(x => x.isIntersecting) && proof.add('95x10-inner.png', box), {root: box}).observe(end);"
        "box.addEventListener('scroll', () => proof.add('95x11-listened.png', box), {once: true});</script>",
        acts=(Act("wheel", "#box", "2000"),),
    ),
    Feature(
        "inner-scroll-large",
        "The page's only scroller is a box as high as the window.",
        "<style>html, body {height: 100%; margin: 0; overflow: hidden}</style><div id=box style='height:100vh;overflow:auto'><div style='height:5000px'></div><img loading=lazy src='95x20-bottom.png'></div>",
        acts=(Act("wheel", "#box", "6000"),),
    ),
    Feature(
        "inner-scroll-side",
        "A row scrolls sideways and loads pictures.",
        "<div id=row style='width:300px;overflow-x:scroll;white-space:nowrap'><span style='display:inline-block;width:3000px;height:40px'>Row</span><span id=end style='display:inline-block;width:20px'>End</span></div><script>"
        "new IntersectionObserver(e => e.some(x => x.isIntersecting) && proof.add('95x30-side.png'), {root: row}).observe(end);</script>",
        acts=(Act("evaluate", "row.scrollLeft = 4000"),),
    ),
    Feature(
        "inner-scroll-growing",
        "A box of 200 pixels is a list that grows.",
        "<div id=box style='height:200px;width:300px;overflow-y:scroll'><div id=list></div></div><script>let at = 0; const names = ['96x10-g1.png', '96x11-g2.png', '96x12-g3.png'];"
        "const grow = () => { if (at < 3) { const d = document.createElement('div'); d.style.height = '400px'; proof.add(names[at++], d); list.append(d); } }; grow();"
        "box.addEventListener('scroll', () => box.scrollTop + box.clientHeight > box.scrollHeight - 50 && grow());</script>",
        acts=(Act("wheel", "#box", "600"), Act("wheel", "#box", "600"), Act("wheel", "#box", "600")),
    ),
    Feature(
        "frame-scroll",
        "The document of a frame scrolls and loads a picture.",
        "<iframe src='long.html' width=400 height=300></iframe>",
        parts=("inframe",),
        proofs=("long.html", "96x20-inframe.png"),
        files={
            "long.html": page(
                "<div style='height:3000px'></div><div id=end>End</div><script>new IntersectionObserver(e => { if (!e.some(x => x.isIntersecting)) return;"
                "const i = new Image(); i.onload = () => parent.postMessage({part: 'inframe'}, '*'); i.src = '96x20-inframe.png'; document.body.append(i); }).observe(end);</script>"
            )
        },
        acts=(Act("wheel", "iframe", "4000"),),
    ),
    Feature(
        "frame-scroll-far",
        "The document of a frame of another site scrolls and loads a picture.",
        "<iframe src='https://elsewhere.test/frame-scroll-far/long.html' width=400 height=300></iframe>",
        parts=("inframe",),
        proofs=("long.html", "96x30-inframe.png"),
        files={
            "long.html": page(
                "<div style='height:3000px'></div><div id=end>End</div><script>addEventListener('scroll', () => {"
                "const i = new Image(); i.onload = () => parent.postMessage({part: 'inframe'}, '*'); i.src = '96x30-inframe.png'; document.body.append(i); }, {once: true});</script>"
            )
        },
        acts=(Act("wheel", "iframe", "4000"),),
    ),
    Feature(
        "frame-click",
        "A button in a frame loads more.",
        "<iframe src='inner.html' width=400 height=300></iframe>",
        parts=("clicked",),
        proofs=("inner.html", "96x40-clicked.png"),
        files={
            "inner.html": page(
                "<button id=b>Show more</button><script>b.onclick = () => { const i = new Image(); i.onload = () => parent.postMessage({part: 'clicked'}, '*');"
                "i.src = '96x40-clicked.png'; document.body.append(i); };</script>"
            )
        },
        acts=(click("#b", "iframe"),),
    ),
    Feature(
        "shadow-click",
        "A button in a shadow tree loads more.",
        "<div id=host></div><script>const tree = host.attachShadow({mode: 'open'}); proof.watch(tree); tree.innerHTML = '<button>Load more</button>';"
        "tree.querySelector('button').onclick = () => proof.add('96x50-more.png', tree);</script>",
        acts=(click("button"),),
    ),
    Feature(
        "virtual-list",
        "A list keeps only the rows that are visible.",
        "<div id=space style='height:6000px;position:relative'></div><script>const names = ['97x10-r0.png', '97x11-r1.png', '97x12-r2.png', '97x13-r3.png', '97x14-r4.png', '97x15-r5.png'];"
        "const draw = () => { space.innerHTML = ''; names.forEach((name, at) => { if (Math.abs(at * 1000 - scrollY) < 900) { const d = document.createElement('div');"
        "d.style.cssText = `position:absolute;top:${at * 1000}px`; proof.add(name, d); space.append(d); } }); }; addEventListener('scroll', draw); draw();</script>",
    ),
    Feature(
        "scroll-up",
        "A picture is loaded when the page is scrolled back to its top.",
        "<div style='height:4000px'></div><script>let was = 0; addEventListener('scroll', () => { if (scrollY < was - 20) proof.add('97x20-up.png'); was = scrollY; });</script>",
        parts=("up",),
        acts=(Act("evaluate", "scrollTo(0, 3000)"), Act("wheel", "body", "-800")),
    ),
    Feature(
        "basic-login",
        "The page asks for a name and a password by HTTP.",
        '<img src="81x10-inside.png">',
        page=_basic,
        login=("--http", "--url", f"https://{HOST}/basic-login/", "--user", "reader"),
        acts=(Act("login", "reader", "leaf"),),
    ),
    Feature(
        "form-login",
        "The page has a form for a login.",
        "",
        page=_form_login,
        login=("--url", f"https://{HOST}/form-login/", "--user", "reader", "--selector", "img"),
        files={"enter": _enter},
        parts=("member",),
        proofs=("82x10-member.png",),
        acts=(Act("fill", "[name=user]", "reader"), Act("fill", "[name=password]", "leaf"), click("#go")),
    ),
    Feature(
        "chained-clicks",
        "A click shows a button, whose click shows another.",
        "<button id=one>Show comments</button><div id=box></div><script>one.onclick = () => { one.remove(); box.innerHTML = '<button id=two>View replies</button>';"
        "two.onclick = () => { box.innerHTML = ''; proof.add('98x10-replies.png'); }; };</script>",
        acts=(click("#one"), click("#two")),
    ),
    Feature(
        "read-more",
        "A span with a listener shows the rest of a text.",
        "<p>Some text… <span class=readmore id=r style='cursor:pointer'>Read more</span></p><script>r.addEventListener('click', () => proof.add('98x20-rest.png'));</script>",
        acts=(click("#r"),),
    ),
    Feature(
        "gallery-lightbox",
        "Thumbnails open larger pictures.",
        "<a href='98x30-large1.png' class=lightbox><img src='20x10-thumb1.png'></a><a href='98x31-large2.png' class=lightbox><img src='20x11-thumb2.png'></a><div id=big></div>"
        "<script>document.querySelectorAll('a').forEach(a => a.onclick = event => { event.preventDefault(); proof.add(a.getAttribute('href'), big); });</script>",
        acts=(click("a >> nth=0"), click("a >> nth=1")),
    ),
    Feature(
        "burger-menu",
        "A button with three lines and no text opens a menu.",
        "<button class=hamburger aria-label=Menu aria-expanded=false id=b><i></i></button><nav id=n hidden></nav><style>i {display: block; width: 30px; height: 20px; border-block: 3px solid}</style>"
        "<script>b.onclick = () => { n.hidden = false; b.ariaExpanded = true; proof.add('98x40-nav.png', n); };</script>",
        acts=(click("#b"),),
    ),
    Feature(
        "never-leave",
        "Buttons that buy, log out and delete are not pressed.",
        "<img src='99x10-shown.png'><form method=post action=buy><button>Buy now</button></form><button onclick=\"fetch('logout', {method: 'POST'})\">Log out</button>"
        "<button onclick=\"fetch('delete', {method: 'POST'})\">Delete account</button><a href='logout'>Sign out</a>",
        proofs=("99x10-shown.png",),
        files={"buy": Reply("bought"), "logout": Reply("bye"), "delete": Reply("gone")},
    ),
)
