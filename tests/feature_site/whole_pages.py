"""Features in whole pages of sites, with their navigation, their footers and the markup that their tools write."""

from __future__ import annotations

import json
from typing import Final
from urllib.parse import parse_qs

from feature_site.feature import Act, Feature, Proof, Question, Reply, click, data, hover, page

_HTML: Final = "text/html; charset=utf-8"
_HEADER: Final = """<header class="site-header"><a class="site-logo" href="/"><span>The Leaf</span></a>
<nav class="primary" aria-label="Primary"><ul><li><a href="/section/world">World</a></li><li><a href="/section/nature">Nature</a></li><li><a href="/section/science">Science</a></li><li><a href="/about">About us</a></li></ul></nav>
<form class="site-search" action="/search" method="get" role="search"><input type="search" name="q" placeholder="Search"><button type="submit">Search</button></form>
<div class="account"><a href="/account/login">Log in</a> <a href="/subscribe" class="btn btn--cta">Subscribe</a></div></header>"""
_FOOTER: Final = """<footer class="site-footer"><ul class="social"><li><a href="https://elsewhere.test/share?u=leaf" target="_blank" rel="noopener">Share</a></li><li><a href="mailto:?subject=Leaf">E-mail</a></li></ul>
<form class="newsletter" method="post" action="/newsletter"><label>Our letter <input type="email" name="email" required></label><button type="submit">Sign up</button></form>
<p><a href="/imprint">Imprint</a> <a href="/privacy">Privacy</a> <a href="/sitemap">Sitemap</a></p><small>© 2025 The Leaf</small></footer>"""


def whole(body: str) -> str:
    """Return the body between the header and the footer of a site."""
    return f'{_HEADER}<main id="main">{body}</main>{_FOOTER}'


def html(text: str, wait_seconds: float = 0.0) -> Reply:
    """Return a fragment of HTML."""
    return Reply(text, _HTML, wait_seconds=wait_seconds)


def _story(number: int) -> Reply:
    following = f'<link rel="next" href="/news-next-story/stories/{number + 1}.html">' if number < 4 else ""
    return page(
        f'{following}<article class="story" data-url="/news-next-story/2025/11/story-{number}"><h2>Story {number}</h2>'
        f'<figure><img loading="lazy" src="/news-next-story/300x4{number}-story{number}.png" width="300" height="40"></figure>'
        '<div style="height:1500px">Text</div></article>'
    )


def _view(question: Question) -> Reply:
    """Answer a view's request with commands, as Drupal does."""
    asked = {name: values[0] for name, values in parse_qs(question.body.decode()).items()}
    if question.method != "POST" or asked.get("view_name") != "frontpage":
        return Reply("{}", "application/json", status=403)
    at = int(asked["page"])
    rows = f'<div class="views-row"><img src="/drupal-views/sites/default/files/320x2{at}-row{at}.png"></div>'
    pager = f'<li class="pager__item"><a class="button" href="?page={at + 1}" title="Load more items" rel="next">Load More</a></li>'
    commands = [
        {"command": "settings", "settings": {"views": {}}, "merge": True},
        {"command": "insert", "method": "infiniteScrollInsertView", "data": rows, "pager": pager if at < 3 else ""},
    ]
    return data(json.dumps(commands))


def _variant(question: Question) -> Reply:
    """Answer the section of a product with the pictures of one variant."""
    chosen = parse_qs(question.query)["variant"][0]
    return html(f'<img class="featured" src="/shop-product/cdn/shop/330x2{chosen[-1]}-variant{chosen}.png?v=17">')


def _live(question: Question) -> Reply:
    """Say that there are new posts from the second question on."""
    return data(json.dumps({"new": 2 if question.count("asked") > 1 else 0}))


def _nodes(question: Question) -> Reply:
    """Answer the children of a node of a finding aid."""
    node = parse_qs(question.query)["id"][0]
    if node == "#":
        children = [("fonds", True), ("maps", True)]
    elif node.count("-") < 2:
        children = [(f"{node}-1", True), (f"{node}-2", True)] if node.count("-") == 0 else [(f"{node}-1", False)]
    else:
        children = []
    return data(json.dumps([{"id": name, "text": name, "children": more} for name, more in children]))


def _replies(question: Question) -> Reply:
    """Answer the replies to a comment, and the last one a click later."""
    asked = {name: values[0] for name, values in parse_qs(question.query).items()}
    of, after = asked["of"], asked.get("after", "0")
    return data(json.dumps({"src": f"72x2{after}-{of}after{after}.png", "more": of == "c2" and after == "0"}))


def _posts(question: Question) -> Reply:
    """Answer five posts of a thread from a number on."""
    first = int(parse_qs(question.query)["from"][0])
    return data(json.dumps([{"id": at, "src": f"avatars/48x{at + 20}-post{at}.png"} for at in range(first, first + 5)]))


WHOLE_PAGES: Final = (
    Feature(
        "news-next-story",
        "The next story of a newspaper follows below the first, and takes the address bar over.",
        whole(
            """<div id="river"><article class="story" data-url="/news-next-story/"><h2>Story 1</h2><figure><img loading="lazy" src="/news-next-story/300x41-story1.png" width="300" height="40"></figure><div style="height:1500px">Text</div></article></div><div class="sentinel" style="height:1px"></div><script>
(() => {
  const river = document.getElementById('river'), sentinel = document.querySelector('.sentinel');
  let next = '/news-next-story/stories/2.html', busy = false;
  const io = new IntersectionObserver(async ([entry]) => {
    if (!entry.isIntersecting || busy || !next) return;
    busy = true;
    const parsed = new DOMParser().parseFromString(await (await fetch(next, {headers: {'X-Requested-With': 'fetch'}})).text(), 'text/html');
    next = parsed.querySelector('link[rel=next]')?.getAttribute('href');
    river.append(document.adoptNode(parsed.querySelector('article')));
    busy = false;
    io.unobserve(sentinel); io.observe(sentinel);
  }, {rootMargin: '0px 0px 300px 0px'});
  io.observe(sentinel);
  addEventListener('scroll', () => {
    const current = [...document.querySelectorAll('.story')].findLast(story => story.getBoundingClientRect().top < innerHeight / 2);
    if (current && location.pathname !== current.dataset.url) { history.pushState({story: 1}, '', current.dataset.url); document.title = current.querySelector('h2').textContent; }
  }, {passive: true});
})();</script>"""
        ),
        parts=tuple(f"story{at}" for at in range(1, 5)),
        proofs=(
            *(rf"stories/{at}\.html" for at in range(2, 5)),
            *(f"300x4{at}-story{at}.png" for at in range(1, 5)),
        ),
        files={f"stories/{at}.html": _story(at) for at in range(2, 5)},
    ),
    Feature(
        "wp-lightbox",
        "The button that enlarges a picture of a blog is transparent until the mouse is over the picture.",
        whole(
            "".join(
                f"""<figure data-wp-context='{{"uploadedSrc":"wp-content/uploads/900x60{at}-large{at}.png"}}' data-wp-interactive="core/image" class="wp-block-image size-large wp-lightbox-container"><img decoding="async" width="200" height="12{at}" data-wp-init="callbacks.setButtonStyles" src="wp-content/uploads/200x12{at}-small{at}.png" class="wp-image-{at}"><button class="lightbox-trigger" type="button" aria-haspopup="dialog" aria-label="Enlarge" data-wp-on-async--click="actions.showLightbox" style="right:10px;top:10px"><svg xmlns="http://www.w3.org/2000/svg" width="12" height="12" fill="none" viewBox="0 0 12 12"><path fill="#fff" d="M2 0a2 2 0 0 0-2 2v2h1.5V2a.5.5 0 0 1 .5-.5h2V0H2Z"/></svg></button></figure><p>Text of the blog.</p>"""
                for at in (1, 2, 3)
            )
            + """<script type="module">
const overlay = Object.assign(document.createElement('div'), {className: 'wp-lightbox-overlay zoom'});
overlay.setAttribute('role', 'dialog'); overlay.setAttribute('aria-modal', 'false'); overlay.tabIndex = -1;
document.body.append(overlay);
const hide = () => { overlay.classList.remove('active'); overlay.innerHTML = ''; document.documentElement.classList.remove('has-lightbox-open'); };
const actions = {showLightbox(event) {
  const {uploadedSrc} = JSON.parse(event.currentTarget.closest('figure').dataset.wpContext);
  overlay.innerHTML = `<button type="button" aria-label="Close" class="close-button"><svg viewBox="0 0 24 24" width="20" height="20"><path d="m13 11.8 6.1-6.3-1-1-6.1 6.2z"/></svg></button><div class="lightbox-image-container"><figure><img src="${uploadedSrc}"></figure></div><div class="scrim"></div>`;
  overlay.classList.add('active'); document.documentElement.classList.add('has-lightbox-open'); overlay.focus();
}};
for (const node of document.querySelectorAll('[data-wp-on-async--click]'))
  node.addEventListener('click', actions[node.getAttribute('data-wp-on-async--click').split('.')[1]]);
overlay.addEventListener('click', hide);
addEventListener('keydown', event => event.key === 'Escape' && hide());
</script>"""
        ),
        head="<style>figure {position: relative; width: 200px} .lightbox-trigger {position: absolute; opacity: 0; border: 0; width: 20px; height: 20px; background: #0006; transition: opacity .2s; cursor: zoom-in} figure:hover .lightbox-trigger, .lightbox-trigger:focus {opacity: 1} .wp-lightbox-overlay {display: none} .wp-lightbox-overlay.active {display: block; position: fixed; inset: 0; background: #fff; z-index: 100000; cursor: zoom-out} .has-lightbox-open {overflow: hidden}</style>",
        parts=("small1", "large1", "large2", "large3"),
        proofs=tuple(f"wp-content/uploads/900x60{at}-large{at}.png" for at in (1, 2, 3)),
        acts=tuple(
            act
            for at in range(3)
            for act in (
                hover(f"figure.wp-block-image >> nth={at}"),
                click(f".lightbox-trigger >> nth={at}"),
                Act("press", ".wp-lightbox-overlay", "Escape"),
            )
        ),
    ),
    Feature(
        "shop-product",
        "A product has thumbnails, variants, a window for zooming, and recommendations, beside its buttons for buying.",
        whole(
            """<product-info data-url="/shop-product/products/pot" data-section="main"><media-gallery><div class="product__media" id="Stage"><img src="/shop-product/cdn/shop/331x20-media1.png?v=17"></div>
<ul class="thumbnail-list list-unstyled"><li class="thumbnail-list__item" data-target="2"><button class="thumbnail" type="button" aria-label="Load image 2 in gallery view" aria-current="false"><img src="/shop-product/cdn/shop/40x42-thumb2.png" width="40" height="42" alt=""></button></li><li class="thumbnail-list__item" data-target="3"><button class="thumbnail" type="button" aria-label="Load image 3 in gallery view"><img src="/shop-product/cdn/shop/40x43-thumb3.png" width="40" height="43" alt=""></button></li></ul>
<modal-opener data-modal="#Zoom"><button class="product__media-toggle" type="button" aria-haspopup="dialog" data-media-id="31"><span class="visually-hidden">Open media 1 in modal</span></button></modal-opener></media-gallery>
<variant-selects><fieldset class="product-form__input--pill"><legend>Colour</legend><input type="radio" id="v-0" name="Colour" value="401" checked class="visually-hidden"><label for="v-0">Terracotta</label><input type="radio" id="v-1" name="Colour" value="402" class="visually-hidden"><label for="v-1">Moss</label></fieldset></variant-selects>
<form method="post" action="/cart/add" class="form"><input type="hidden" name="id" value="401"><button type="submit" name="add" class="product-form__submit">Add to cart</button><button type="button" class="shopify-payment-button__button" onclick="location = '/checkout'">Buy it now</button></form></product-info>
<div style="height:1400px">Description</div><product-recommendations class="related-products" data-url="/shop-product/recommendations?limit=4&intent=related" data-product-id="8021" style="display:block"></product-recommendations><script>
customElements.define('media-gallery', class extends HTMLElement { connectedCallback() { setTimeout(() => this.querySelectorAll('[data-target]').forEach(item => item.querySelector('button').addEventListener('click', () => this.show(item.dataset.target)))); }
  show(id) { this.querySelectorAll('button.thumbnail').forEach(b => b.removeAttribute('aria-current')); this.querySelector('#Stage').innerHTML = `<img src="/shop-product/cdn/shop/331x2${id}-media${id}.png?v=17">`; } });
customElements.define('modal-opener', class extends HTMLElement { connectedCallback() { setTimeout(() => this.querySelector('button').addEventListener('click', () => { const modal = document.createElement('div'); modal.className = 'product-media-modal'; modal.setAttribute('role', 'dialog'); modal.innerHTML = '<button type=button class=product-media-modal__toggle aria-label=Close>×</button><img src="/shop-product/cdn/shop/1200x801-zoom.png">'; modal.querySelector('button').onclick = () => modal.remove(); document.body.append(modal); })); } });
customElements.define('variant-selects', class extends HTMLElement { constructor() { super(); this.addEventListener('change', async e => { const p = this.closest('product-info'); Stage.innerHTML = await fetch(`${p.dataset.url}?variant=${e.target.value}&section_id=${p.dataset.section}`).then(r => r.text()); }); } });
customElements.define('product-recommendations', class extends HTMLElement { connectedCallback() { new IntersectionObserver((e, o) => { if (!e[0].isIntersecting) return; o.unobserve(this); fetch(`${this.dataset.url}&product_id=${this.dataset.productId}`).then(r => r.text()).then(t => { this.innerHTML = t; }); }, {rootMargin: '0px 0px 400px 0px'}).observe(this); } });</script>"""
        ),
        head="<style>.visually-hidden {position: absolute !important; overflow: hidden; width: 1px; height: 1px; margin: -1px; padding: 0; border: 0; clip: rect(0 0 0 0); word-wrap: normal !important} .product__media-toggle {position: relative; width: 331px; height: 30px; background: transparent; border: 0; cursor: zoom-in} .product-media-modal {position: fixed; inset: 0; background: #fff; overflow: auto}</style>",
        parts=("media1", "media2", "media3", "zoom", "variant402", "related"),
        proofs=(
            r"cdn/shop/331x22-media2\.png\?v=17",
            r"cdn/shop/331x23-media3\.png\?v=17",
            r"cdn/shop/1200x801-zoom\.png",
            r"products/pot\?variant=402&section_id=main",
            "cdn/shop/330x22-variant402.*",
            "recommendations.*",
            "cdn/shop/332x20-related.png",
        ),
        files={
            "products/pot": _variant,
            "recommendations": html(
                '<a href="/products/dish"><img src="/shop-product/cdn/shop/332x20-related.png"></a>'
            ),
        },
        acts=(
            click(".thumbnail >> nth=0"),
            click(".thumbnail >> nth=1"),
            click("label[for=v-1]"),
            click(".product__media-toggle"),
            click(".product-media-modal__toggle"),
        ),
    ),
    Feature(
        "empty-href-slider",
        "A slider of an old plugin has links whose address is empty, and which would load the page again without it.",
        whole(
            """<div class="bx-wrapper" style="max-width:340px"><div class="bx-viewport"><ul class="bxslider"><li id="stage"><img src="333x21-slide1.png"></li></ul></div><div class="bx-controls"><div class="bx-controls-direction"><a class="bx-prev" href="">Prev</a><a class="bx-next" href="">Next</a></div></div></div><script>
(function () { var at = 0, names = ['333x21-slide1.png', '333x22-slide2.png', '333x23-slide3.png', '333x24-slide4.png'];
  function go(by) { at = (at + by + names.length) % names.length; document.getElementById('stage').innerHTML = '<img src="' + names[at] + '">'; }
  window.onload = function () { document.querySelector('.bx-next').onclick = function () { go(1); return false; }; document.querySelector('.bx-prev').onclick = function () { go(-1); return false; }; }; })();</script>"""
        ),
        head="<style>.bx-controls-direction a {display: inline-block; width: 32px; height: 32px; text-indent: -9999px; overflow: hidden; background: #666}</style>",
        acts=(click(".bx-next"),) * 3,
    ),
    Feature(
        "drupal-views",
        "The pager of a view has a real address, and a script posts for the next rows and a new pager.",
        whole(
            """<div class="views-element-container"><div class="view view-frontpage js-view-dom-id-9f3c"><div class="view-content" data-drupal-views-infinite-scroll-content-wrapper><div class="views-row"><img src="/drupal-views/sites/default/files/320x20-row0.png"></div></div><ul class="js-pager__items pager" data-drupal-views-infinite-scroll-pager><li class="pager__item"><a class="button" href="?page=1" title="Load more items" rel="next">Load More</a></li></ul></div></div><script>
document.querySelector('.view').addEventListener('click', async event => {
  const link = event.target.closest('.js-pager__items a'); if (!link) return;
  event.preventDefault(); const body = new URLSearchParams({view_name: 'frontpage', view_display_id: 'page_1', view_args: '', view_path: '/node', view_dom_id: '9f3c', pager_element: 0, page: new URL(link.href).searchParams.get('page'), _drupal_ajax: 1, 'ajax_page_state[theme]': 'olivero', 'ajax_page_state[libraries]': 'eJxLzi9K1S_IKU3PzNMvS8wpTdVPzkhNztYvSExP1S8tSE9MSQUA'});
  for (const command of await (await fetch('views/ajax?_wrapper_format=drupal_ajax', {method: 'POST', body, headers: {Accept: 'application/json, text/javascript, */*; q=0.01', 'X-Requested-With': 'XMLHttpRequest'}})).json())
    if (command.command === 'insert') { document.querySelector('.view-content').insertAdjacentHTML('beforeend', command.data); document.querySelector('.js-pager__items').innerHTML = command.pager; }
});</script>"""
        ),
        parts=("row0", "row1", "row2", "row3"),
        proofs=(
            Proof(r"views/ajax\?.*", 3),
            *(f"sites/default/files/320x2{at}-row{at}.png" for at in range(4)),
        ),
        files={"views/ajax": _view},
        acts=(click(".pager a"),) * 3,
    ),
    Feature(
        "mega-menu",
        "The entries of a shop's navigation are links, but the first click opens a large menu that is fetched.",
        """<header><nav class="mm" aria-label="Main"><ul class="mm__list"><li><a class="mm__link" href="/shop/trees" aria-haspopup="true" aria-expanded="false" data-menu="trees">Trees</a></li><li><a class="mm__link" href="/shop/tools" aria-haspopup="true" aria-expanded="false" data-menu="tools">Tools</a></li><li><a href="/shop/sale">Sale</a></li></ul><div class="mm__panel" hidden></div></nav></header><main><p>Welcome to our shop.</p></main><script>
const panel = document.querySelector('.mm__panel');
document.querySelectorAll('.mm__link').forEach(link => link.addEventListener('click', event => {
  if (link.getAttribute('aria-expanded') === 'true') return; // the second click follows the link
  event.preventDefault(); document.querySelectorAll('.mm__link').forEach(other => other.setAttribute('aria-expanded', other === link));
  fetch(`menus/${link.dataset.menu}.html`).then(answer => answer.text()).then(text => { panel.innerHTML = text; panel.hidden = false; });
}));</script>""",
        parts=("trees", "tools"),
        proofs=("menus/trees.html", "menus/tools.html", "334x20-trees.png", "334x21-tools.png"),
        files={
            "menus/trees.html": html('<a href="/shop/trees/oak"><img src="334x20-trees.png"></a>'),
            "menus/tools.html": html('<a href="/shop/tools/saw"><img src="334x21-tools.png"></a>'),
        },
        acts=(click(".mm__link >> nth=0"), click(".mm__link >> nth=1")),
    ),
    Feature(
        "language-buttons",
        "Three buttons with two letters fetch the texts of the page in other languages.",
        """<header class="flex justify-between"><strong>Museum</strong><div class="lang" role="group" aria-label="Language"><button lang="en" class="is-active" aria-pressed="true">EN</button><span>/</span><button lang="de" aria-pressed="false">DE</button><span>/</span><button lang="fr" aria-pressed="false">FR</button></div></header><h2 data-t="title">Opening hours</h2><img id="poster" src="335x20-en.png"><script type="module">
const group = document.querySelector('.lang');
group.addEventListener('click', async ({target}) => { const button = target.closest('button[lang]'); if (!button || button.ariaPressed === 'true') return;
  const texts = await (await fetch(`locales/${button.lang}/common.json`)).json();
  for (const other of group.querySelectorAll('button')) other.ariaPressed = String(other === button);
  document.documentElement.lang = button.lang; document.querySelector('[data-t=title]').textContent = texts.title; poster.src = texts.poster; });</script>""",
        parts=("en", "de", "fr"),
        proofs=("locales/de/common.json", "locales/fr/common.json", "335x21-de.png", "335x22-fr.png"),
        files={
            "locales/de/common.json": data('{"title": "Öffnungszeiten", "poster": "335x21-de.png"}'),
            "locales/fr/common.json": data('{"title": "Horaires", "poster": "335x22-fr.png"}'),
            "locales/en/common.json": data('{"title": "Opening hours", "poster": "335x20-en.png"}'),
        },
        acts=(click("button[lang=de]"), click("button[lang=fr]")),
    ),
    Feature(
        "theme-toggle",
        "A button with a drawing changes the page to dark colours, which have other pictures.",
        whole(
            """<button class="theme-toggle" id="theme" type="button" title="Toggles light &amp; dark" aria-label="auto" aria-live="polite"><svg class="sun-and-moon" aria-hidden="true" width="24" height="24" viewBox="0 0 24 24"><circle cx="12" cy="12" r="6" fill="currentColor"/></svg></button><div class="hero"></div><img class="logo" data-light="336x20-logo-light.png" data-dark="336x21-logo-dark.png" src="336x20-logo-light.png"><script>
proof.resource('336x22-night.png', 'night'); proof.resource('336x23-day.png', 'day');
document.querySelector('#theme').addEventListener('click', () => { const root = document.firstElementChild, dark = root.getAttribute('data-theme') !== 'dark'; root.setAttribute('data-theme', dark ? 'dark' : 'light'); try { localStorage.setItem('theme-preference', root.getAttribute('data-theme')); } catch {} document.querySelectorAll('[data-dark]').forEach(i => { i.src = dark ? i.dataset.dark : i.dataset.light; }); });</script>"""
        ),
        head="<style>.hero {height: 60px; background: url(336x23-day.png)} [data-theme=dark] .hero {background: url(336x22-night.png)}</style>",
        parts=("logo-light", "logo-dark", "night", "day"),
        proofs=("336x21-logo-dark.png", "336x22-night.png"),
        acts=(click("#theme"),),
    ),
    Feature(
        "consent-finnish-dialog",
        "A Finnish wall of consent is a modal dialog, so that the rest of the page is inert, and its buttons are links.",
        whole(
            """<dialog id="evasteet" class="ck"><h2>Käytämme evästeitä</h2><p>Sivustomme käyttää evästeitä palvelun parantamiseen.</p><a class="ck-btn" role="button" tabindex="0" data-do="none">Vain välttämättömät</a> <a class="ck-btn ck-btn--primary" role="button" tabindex="0" data-do="all">Hyväksy kaikki</a> <a href="/tietosuoja">Lue lisää</a></dialog><div id="sisalto"></div><script>
const wall = document.getElementById('evasteet'); wall.showModal(); wall.addEventListener('cancel', event => event.preventDefault());
wall.addEventListener('click', event => { const chosen = event.target.dataset.do; if (!chosen) return; wall.close(); document.cookie = `evasteet=${chosen};path=/consent-finnish-dialog/`; if (chosen === 'all') sisalto.innerHTML = '<div style="height:1800px">Uutiset</div><img loading="lazy" src="337x20-uutinen.png" width="337" height="20">'; });</script>"""
        ),
        parts=("uutinen",),
        proofs=("337x20-uutinen.png",),
        acts=(click("[data-do=all]"),),
    ),
    Feature(
        "meter-sheet",
        "A sheet at the lower edge counts free articles, and its second button lets the visitor read on.",
        whole(
            """<article class="body clipped"><p style="height:700px">First paragraphs.</p><div id="rest"></div></article><aside class="meter" role="region" aria-label="Subscription"><p>You have <b id="left"></b> free articles left this month.</p><a class="btn" href="/subscribe?from=meter">Subscribe for € 1</a> <button type="button" class="btn btn-link">Maybe later</button></aside><script>
const read = JSON.parse(localStorage.getItem('meter') || '[]'); if (!read.includes(location.pathname)) read.push(location.pathname); localStorage.setItem('meter', JSON.stringify(read)); document.getElementById('left').textContent = 3 - read.length;
document.querySelector('.meter button').addEventListener('click', async () => { document.querySelector('.meter').classList.add('is-hidden'); document.querySelector('.body').classList.remove('clipped'); document.getElementById('rest').innerHTML = (await (await fetch('api/body?part=2')).json()).html; });</script>"""
        ),
        head="<style>.clipped {max-height: 600px; overflow: hidden} .meter {position: fixed; left: 0; right: 0; bottom: 0; padding: 30px; background: #ffd} .is-hidden {transform: translateY(110%)}</style>",
        parts=("second-half",),
        proofs=("api/body.*", "338x20-second-half.png"),
        files={
            "api/body": data(
                '{"html": "<p style=\\"height:1500px\\">More</p><img loading=lazy src=338x20-second-half.png>"}'
            )
        },
        acts=(click(".meter button"),),
    ),
    Feature(
        "docs-scrollspy",
        "A manual makes the example of the section that is at the top of the window, one at a time.",
        """<div style="display:flex"><aside style="position:sticky;top:0;height:100vh;width:180px;overflow:auto"><ul class="toc">"""
        + "".join(f'<li><a href="#part-{at}">Part {at}</a></li>' for at in range(1, 7))
        + """</ul></aside><div class="content">"""
        + "".join(
            f'<section id="part-{at}" style="min-height:{760 if at < 6 else 1100}px"><h2>Part {at}</h2><div class="example" data-src="examples/{at}.html"></div></section>'
            for at in range(1, 7)
        )
        + """</div></div><script>
const parts = [...document.querySelectorAll('section')]; let current, waits = false;
const spy = () => { waits = false; const now = parts.findLast(part => part.getBoundingClientRect().top <= 120) || parts[0]; if (now === current) return; current = now;
  document.querySelectorAll('.toc a').forEach(a => a.toggleAttribute('aria-current', a.hash === '#' + now.id)); history.replaceState(null, '', '#' + now.id);
  const box = now.querySelector('.example'); if (!box.firstChild) box.innerHTML = `<iframe src="${box.dataset.src}" width=300 height=60></iframe>`; };
addEventListener('scroll', () => { if (!waits) { waits = true; requestAnimationFrame(spy); } }); spy();</script>""",
        parts=tuple(f"example{at}" for at in range(1, 7)),
        proofs=tuple(f"339x2{at}-example{at}.png" for at in range(1, 7)),
        files={
            f"examples/{at}.html": page(
                f"<img src='../339x2{at}-example{at}.png' onload=\"parent.postMessage({{part: 'example{at}'}}, '*')\">"
            )
            for at in range(1, 7)
        },
    ),
    Feature(
        "live-blog",
        "A pill appears over a live blog when there are new posts, and the oldest posts are behind a button.",
        whole(
            """<div class="lb"><button class="lb-pill" type="button" hidden>↑ <span></span></button><ol class="lb-posts" reversed><li><time>14:05</time><img src="/live-blog/media/340x20-first.png"></li></ol><button class="lb-earlier" type="button">Show earlier posts</button></div><script>
(function () { let newest = 3, oldest = 3; const pill = document.querySelector('.lb-pill'), list = document.querySelector('.lb-posts');
  const poll = setInterval(async () => { const found = await (await fetch(`/live-blog/api/updates.json?since=${newest}`, {cache: 'no-store'})).json(); if (found.new) { clearInterval(poll); pill.querySelector('span').textContent = `${found.new} new posts`; pill.hidden = false; } }, 1500);
  pill.addEventListener('click', async () => { pill.hidden = true; list.insertAdjacentHTML('afterbegin', await (await fetch(`/live-blog/api/posts?since=${newest}`)).text()); });
  document.querySelector('.lb-earlier').addEventListener('click', async e => { const html = await (await fetch(`/live-blog/api/posts?before=${oldest--}`)).text(); list.insertAdjacentHTML('beforeend', html); if (oldest === 1) e.target.remove(); }); })();</script>"""
        ),
        head="<style>.lb-pill {position: sticky; top: 10px; border-radius: 20px}</style>",
        parts=("first", "news", "before3", "before2"),
        proofs=(
            Proof(r"api/updates\.json.*", 2),
            r"api/posts\?since=3",
            "media/340x21-news.png",
            "media/340x22-before3.png",
            "media/340x22-before2.png",
        ),
        files={
            "api/updates.json": _live,
            "api/posts": lambda question: html(
                '<li><img src="/live-blog/media/340x21-news.png"></li>'
                if "since" in question.query
                else f'<li><img src="/live-blog/media/340x22-before{question.query[-1]}.png"></li>'
            ),
        },
        acts=(
            click(".lb-earlier"),
            click(".lb-earlier"),
            Act("evaluate", "new Promise(done => setTimeout(done, 3200))"),
            click(".lb-pill"),
        ),
        seconds=25,
    ),
    Feature(
        "quiz",
        "A quiz goes on when an answer was chosen, and says the result at its end.",
        whole(
            """<div class="quiz" id="quiz"></div><script>
const questions = [['Which leaf is it?', ['Oak', 'Lime']], ['And this?', ['Ash', 'Elm', 'Yew']], ['The last one?', ['Box', 'Fir']]]; let at = 0, points = 0;
function ask() { const [text, answers] = questions[at];
  quiz.innerHTML = `<div class="q-progress">Question ${at + 1} of ${questions.length}</div><img src="pictures/341x2${at}-question${at}.png"><p>${text}</p><ul class="q-options">${answers.map((a, n) => `<li class="q-option" data-n="${n}"><span class="q-letter">${'ABC'[n]}</span> ${a}</li>`).join('')}</ul><button class="q-next" disabled>${at === 2 ? 'See your result' : 'Next question'}</button>`; let chosen = null;
  quiz.querySelectorAll('.q-option').forEach(o => o.addEventListener('click', () => { quiz.querySelectorAll('.q-option').forEach(x => x.classList.toggle('is-chosen', x === o)); chosen = +o.dataset.n; quiz.querySelector('.q-next').disabled = false; }));
  quiz.querySelector('.q-next').addEventListener('click', () => { if (chosen === 0) points++; at++; if (at < questions.length) ask(); else fetch('results.json').then(r => r.json()).then(r => { quiz.innerHTML = `<h2>${points} points</h2><img src="${r.badge}">`; }); }); }
ask();</script>"""
        ),
        head="<style>.q-option {cursor: pointer; padding: 8px; border: 1px solid #999; list-style: none} .is-chosen {background: #cfc}</style>",
        parts=("question0", "question1", "question2", "badge"),
        proofs=("pictures/341x21-question1.png", "pictures/341x22-question2.png", "results.json", "342x20-badge.png"),
        files={"results.json": data('{"badge": "342x20-badge.png"}')},
        acts=(click(".q-option >> nth=0"), click(".q-next")) * 3,
    ),
    Feature(
        "booking-datepicker",
        "A field that can't be typed in opens a calendar, whose arrow fetches the prices of the next months.",
        whole(
            """<form class="booking" onsubmit="return false"><label>Arrival <input class="flatpickr-input" type="text" readonly="readonly" placeholder="Choose a date"></label></form><div class="flatpickr-calendar" tabindex="-1"><div class="flatpickr-months"><span class="flatpickr-prev-month"><svg viewBox="0 0 17 17" width="14" height="14"><path d="M5 8l8 8V0z"/></svg></span><span class="cur-month"></span><span class="flatpickr-next-month"><svg viewBox="0 0 17 17" width="14" height="14"><path d="M13 8l-8 8V0z"/></svg></span></div><div class="flatpickr-days"></div></div><script>
(() => { const calendar = document.querySelector('.flatpickr-calendar'), field = document.querySelector('.flatpickr-input'); let month = 6;
  const draw = async () => { const name = `2025-${String(month).padStart(2, '0')}`; calendar.querySelector('.cur-month').textContent = name; const {chart} = await (await fetch(`availability/${name}.json`)).json(); calendar.querySelector('.flatpickr-days').innerHTML = `<img src="${chart}">`; };
  const open = () => { if (calendar.classList.contains('open')) return; calendar.classList.add('open'); draw(); };
  field.addEventListener('focus', open); field.addEventListener('click', open);
  document.addEventListener('mousedown', e => { if (!calendar.contains(e.target) && e.target !== field) calendar.classList.remove('open'); });
  calendar.querySelector('.flatpickr-next-month').addEventListener('click', () => { if (month < 9) { month++; draw(); } });
  calendar.querySelector('.flatpickr-prev-month').addEventListener('click', () => { if (month > 6) { month--; draw(); } }); })();</script>"""
        ),
        head="<style>.flatpickr-calendar {display: none; position: absolute; width: 307px; background: #fff; box-shadow: 0 0 5px #0005} .flatpickr-calendar.open {display: block; z-index: 9} .flatpickr-next-month, .flatpickr-prev-month {display: inline-block; padding: 10px; cursor: pointer}</style>",
        parts=("month6", "month7", "month8"),
        proofs=(
            *(f"availability/2025-0{at}.json" for at in (6, 7, 8)),
            *(f"343x2{at}-month{at}.png" for at in (6, 7, 8)),
        ),
        files={f"availability/2025-0{at}.json": data(f'{{"chart": "343x2{at}-month{at}.png"}}') for at in range(6, 10)},
        acts=(click(".flatpickr-input"), click(".flatpickr-next-month"), click(".flatpickr-next-month")),
    ),
    Feature(
        "finding-aid",
        "A finding aid of an archive opens three levels by small pictures, and the names beside them only choose.",
        whole(
            """<div id="tree" class="jstree jstree-default" role="tree"><ul class="jstree-container-ul" role="group"></ul></div><div id="record"></div><script>
(async function () { const load = async (id, ul) => { for (const node of await (await fetch('nodes?id=' + encodeURIComponent(id))).json()) ul.insertAdjacentHTML('beforeend', `<li role="treeitem" id="${node.id}" class="jstree-node ${node.children ? 'jstree-closed' : 'jstree-leaf'}" aria-expanded="false"><i class="jstree-icon jstree-ocl" role="presentation"></i><a class="jstree-anchor" href="#" tabindex="-1"><i class="jstree-icon jstree-themeicon" role="presentation"></i>${node.text}<img src="thumbs/24x2${id === '#' ? 0 : node.id.split('-').length}-${node.id}.png"></a></li>`); };
  await load('#', document.querySelector('.jstree-container-ul'));
  tree.addEventListener('click', async e => { const icon = e.target.closest('.jstree-ocl'), anchor = e.target.closest('.jstree-anchor'); if (anchor) { e.preventDefault(); anchor.classList.add('jstree-clicked'); return; } if (!icon) return;
    const li = icon.parentElement; if (li.classList.contains('jstree-open')) { li.className = 'jstree-node jstree-closed'; li.querySelector('ul').style.display = 'none'; return; } if (!li.classList.contains('jstree-closed')) return;
    li.className = 'jstree-node jstree-open'; li.setAttribute('aria-expanded', true); let ul = li.querySelector('ul'); if (ul) { ul.style.display = ''; return; } ul = document.createElement('ul'); li.append(ul); await load(li.id, ul); }); })();</script>"""
        ),
        head="<style>.jstree-ocl {display: inline-block; width: 24px; height: 24px; background: #ddd; cursor: pointer} .jstree-leaf > .jstree-ocl {background: transparent}</style>",
        parts=("fonds", "maps", "fonds-1", "fonds-2", "maps-1", "fonds-1-1", "maps-2-1"),
        proofs=(
            r"nodes\?id=fonds",
            r"nodes\?id=maps",
            r"nodes\?id=fonds-1",
            r"nodes\?id=fonds-2",
            r"nodes\?id=maps-1",
            r"nodes\?id=maps-2",
            "thumbs/24x23-fonds-1-1.png",
            "thumbs/24x23-maps-2-1.png",
        ),
        files={"nodes": _nodes},
        acts=tuple(
            click(f"#{node} > .jstree-ocl") for node in ("fonds", "fonds-1", "fonds-2", "maps", "maps-1", "maps-2")
        ),
    ),
    Feature(
        "expandable-rows",
        "A table's rows unfold by buttons that are drawings alone, and so are the buttons that turn its pages.",
        """<div id="root"></div><script>
const icon = d => `<svg class="MuiSvgIcon-root" focusable="false" aria-hidden="true" width="24" height="24" viewBox="0 0 24 24"><path d="${d}"></path></svg>`;
const down = 'M7.41 8.59 12 13.17l4.59-4.58L18 10l-6 6-6-6z', next = 'M10 6 8.59 7.41 13.17 12l-4.58 4.59L10 18l6-6z', back = 'M15.41 7.41 14 6l-6 6 6 6 1.41-1.41L10.83 12z';
const state = {page: 0, rows: [], open: {}};
const render = () => { root.innerHTML = `<div class="MuiPaper-root"><table class="MuiTable-root"><tbody>${state.rows.map(r => `<tr class="MuiTableRow-root"><td><button class="MuiButtonBase-root MuiIconButton-root MuiIconButton-sizeSmall" tabindex="0" type="button" data-a="open:${r.id}">${icon(down)}</button></td><td>${r.name}</td><td><img src="${r.thumb}"></td></tr>${state.open[r.id] ? `<tr><td colspan="3"><img src="${state.open[r.id]}"></td></tr>` : ''}`).join('')}</tbody></table><div class="MuiTablePagination-root"><p>${state.page * 2 + 1}–${state.page * 2 + 2} of 6</p><button class="MuiButtonBase-root MuiIconButton-root" type="button" ${state.page ? '' : 'disabled'} data-a="page:-1">${icon(back)}</button><button class="MuiButtonBase-root MuiIconButton-root" type="button" ${state.page < 2 ? '' : 'disabled'} data-a="page:1">${icon(next)}</button></div></div>`; };
const load = async () => { state.rows = await (await fetch(`api/rows?offset=${state.page * 2}&limit=2`)).json(); render(); };
root.addEventListener('click', async e => { const b = e.target.closest('[data-a]'); if (!b || b.disabled) return; const [what, value] = b.dataset.a.split(':');
  if (what === 'page') { state.page += +value; await load(); } else if (state.open[value]) { delete state.open[value]; render(); } else { state.open[value] = (await (await fetch(`api/rows/${value}`)).json()).detail; render(); } }); load();</script>""",
        parts=("thumb1", "thumb3", "thumb5", "detail1", "detail2"),
        proofs=(
            *(rf"api/rows\?offset={at}&limit=2" for at in (0, 2, 4)),
            "api/rows/1",
            "api/rows/2",
            "345x21-detail1.png",
            "344x25-thumb5.png",
        ),
        files={
            "api/rows": lambda question: data(
                json.dumps(
                    [
                        {"id": at, "name": f"Row {at}", "thumb": f"344x2{at}-thumb{at}.png"}
                        for at in range(
                            int(parse_qs(question.query)["offset"][0]) + 1,
                            int(parse_qs(question.query)["offset"][0]) + 3,
                        )
                    ]
                )
            ),
            "api/rows/*": lambda question: data(
                f'{{"detail": "345x2{question.path[-1]}-detail{question.path[-1]}.png"}}'
            ),
        },
        acts=(
            click("[data-a='open:1']"),
            click("[data-a='open:2']"),
            click("[data-a='page:1']"),
            click("[data-a='page:1']"),
        ),
    ),
    Feature(
        "product-tour",
        "A tour points at parts of an application, and covers the rest until it has been gone through or left.",
        """<div class="app"><nav class="side"><div class="side__item" data-view="reports">Reports</div><div class="side__item" data-view="people">People</div></nav><section id="view"><img src="346x20-start.png"></section></div><div class="driver-overlay"></div><div class="driver-popover" role="dialog" aria-labelledby="dt"><button type="button" class="driver-popover-close-btn" aria-label="Close">&times;</button><header id="dt"></header><div class="driver-popover-description"></div><footer><span class="driver-popover-progress-text"></span><button type="button" class="driver-popover-prev-btn">&larr; Previous</button><button type="button" class="driver-popover-next-btn">Next &rarr;</button></footer></div><script>
const steps = ['Welcome', 'Your reports', 'Your people']; let step = 0; const q = s => document.querySelector(s);
const show = () => { q('#dt').textContent = steps[step]; q('.driver-popover-progress-text').textContent = `${step + 1} of 3`; q('.driver-popover-next-btn').innerHTML = step === 2 ? 'Done' : 'Next &rarr;'; };
const end = () => { q('.driver-overlay').remove(); q('.driver-popover').remove(); };
q('.driver-popover-next-btn').onclick = () => { if (++step === 3) end(); else show(); }; q('.driver-popover-prev-btn').onclick = () => { step = Math.max(0, step - 1); show(); }; q('.driver-popover-close-btn').onclick = end; show();
document.querySelectorAll('.side__item').forEach(item => item.addEventListener('click', async () => { view.innerHTML = (await (await fetch(`views/${item.dataset.view}.json`)).json()).html; }));</script>""",
        head="<style>.driver-overlay {position: fixed; inset: 0; background: #0009; z-index: 10000} .driver-popover {position: fixed; top: 200px; left: 300px; width: 260px; padding: 15px; background: #fff; z-index: 10001} .side__item {cursor: pointer; padding: 10px}</style>",
        parts=("start", "reports", "people"),
        proofs=("views/reports.json", "views/people.json", "346x21-reports.png", "346x22-people.png"),
        files={
            "views/reports.json": data('{"html": "<img src=346x21-reports.png>"}'),
            "views/people.json": data('{"html": "<img src=346x22-people.png>"}'),
        },
        acts=(
            *(click(".driver-popover-next-btn"),) * 3,
            click("[data-view=reports]"),
            click("[data-view=people]"),
        ),
    ),
    Feature(
        "replies-tree",
        "Comments are loaded within a box of their own, and their answers by lines that look like text.",
        whole(
            """<div class="x78zum5" id="box" style="height:260px;overflow-y:auto;border:1px solid #ccc"><div style="height:500px">Post</div><div id="comments"></div></div><script>
new IntersectionObserver(async (entries, io) => { if (!entries.some(e => e.isIntersecting)) return; io.disconnect();
  for (const id of ['c1', 'c2']) comments.insertAdjacentHTML('beforeend', `<div class="comment"><span>Comment ${id}</span><div class="x1i10hfl" role="button" tabindex="0" data-of="${id}"><span><span dir="auto">View all replies</span></span></div></div>`); proof.done('comments'); }, {root: box, rootMargin: '50px'}).observe(comments);
comments.addEventListener('click', async e => { const row = e.target.closest('[data-of]'); if (!row) return; const {src, more} = await (await fetch(`replies?of=${row.dataset.of}${row.dataset.after ? '&after=' + row.dataset.after : ''}`)).json();
  row.insertAdjacentHTML('beforebegin', `<div class="reply"><img src="${src}"></div>`); if (more) { row.dataset.after = 1; row.querySelector('span span').textContent = 'View 1 more reply'; } else row.remove(); });</script>"""
        ),
        head="<style>#comments {min-height: 20px} .x1i10hfl {cursor: pointer; color: #65676b; font-weight: 600}</style>",
        parts=("comments", "c1after0", "c2after0", "c2after1"),
        proofs=(r"replies\?of=c1", r"replies\?of=c2", r"replies\?of=c2&after=1", "72x21-c2after1.png"),
        files={"replies": _replies},
        acts=(
            Act("evaluate", "box.scrollTo(0, 9999)"),
            click("[data-of=c1]"),
            click("[data-of=c2]"),
            click("[data-of=c2]"),
        ),
    ),
    Feature(
        "pin-overlay",
        "A card opens as an overlay with an address of its own, which is left by the Back button or a click beside it.",
        """<div class="grid" id="grid">"""
        + "".join(
            f'<div class="pin" role="link" tabindex="0" data-id="{at}"><img src="/pin-overlay/thumbs/120x8{at}-thumb{at}.png" width="120" height="8{at}" alt=""></div>'
            for at in (1, 2, 3)
        )
        + """</div><script>
const open = id => { const shade = document.createElement('div'); shade.className = 'shade'; shade.innerHTML = `<div class="closeup"><img src="/pin-overlay/originals/564x30${id}-pin${id}.png"></div>`; shade.addEventListener('click', e => e.target === shade && history.back()); document.body.append(shade); };
const route = () => { document.querySelector('.shade')?.remove(); const found = /pin\\/(\\d)/.exec(location.pathname); document.body.style.overflow = found ? 'hidden' : ''; if (found) open(found[1]); };
grid.addEventListener('click', e => { const pin = e.target.closest('.pin'); if (pin) { history.pushState({}, '', `/pin-overlay/pin/${pin.dataset.id}/`); route(); } });
addEventListener('popstate', route);</script>""",
        head="<style>.grid {display: flex; gap: 10px} .pin {cursor: zoom-in} .shade {position: fixed; inset: 0; background: #000b; z-index: 50} .closeup {margin: 100px auto; width: 564px}</style>",
        parts=("thumb1", "pin1", "pin2", "pin3"),
        proofs=tuple(f"originals/564x30{at}-pin{at}.png" for at in (1, 2, 3)),
        acts=(
            click(".pin >> nth=0"),
            Act("point", "", "20,900"),
            click(".pin >> nth=1"),
            Act("point", "", "20,900"),
            click(".pin >> nth=2"),
        ),
    ),
    Feature(
        "thread-middle",
        "A thread of a forum opens in its middle, and loads older posts above and newer ones below.",
        """<div id="posts"></div><script>
let first = 11, last = 10, busy = false;
const draw = post => `<article style="height:330px" id="p${post.id}">Post ${post.id} <img src="/thread-middle/${post.src}"></article>`;
const get = from => fetch(`/thread-middle/t/77/posts.json?from=${from}`).then(r => r.json());
const below = async () => { if (busy || last >= 20) return; busy = true; const found = await get(last + 1); last += 5; posts.insertAdjacentHTML('beforeend', found.map(draw).join('')); busy = false; };
const above = async () => { if (busy || first <= 1) return; busy = true; const found = await get(first - 5); first -= 5; const before = document.documentElement.scrollHeight; posts.insertAdjacentHTML('afterbegin', found.map(draw).join('')); scrollBy(0, document.documentElement.scrollHeight - before); busy = false; };
(async () => { await below(); scrollTo(0, 400); addEventListener('scroll', () => { if (scrollY < 150) above(); else if (innerHeight + scrollY > document.documentElement.scrollHeight - 300) below(); }); })();</script>""",
        head="<style>#posts {overflow-anchor: none}</style>",
        parts=("post1", "post6", "post11", "post16", "post20"),
        proofs=(
            *(rf"t/77/posts\.json\?from={at}" for at in (1, 6, 11, 16)),
            "avatars/48x21-post1.png",
            "avatars/48x40-post20.png",
        ),
        files={"t/77/posts.json": _posts},
        acts=(
            Act("evaluate", "new Promise(done => { scrollTo(0, 0); setTimeout(done, 700); })"),
            Act("evaluate", "new Promise(done => { scrollTo(0, 0); setTimeout(done, 700); })"),
        ),
    ),
    Feature(
        "shorts-feed",
        "A feed fills the window, snaps to one clip after the other, and asks for the next ones when few are left.",
        """<div class="feed" id="feed"></div><script>
let asked = 0, seen = 0; const io = new IntersectionObserver(entries => entries.forEach(e => { if (!e.isIntersecting) return; io.unobserve(e.target); e.target.innerHTML = `<img src="clips/${e.target.dataset.src}">`; if (feed.children.length - ++seen < 2) more(); }), {root: feed, threshold: 0.8});
const more = async () => { if (asked > 2) return; const found = await (await fetch('api/recommend/item_list', {method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify({count: 3, cursor: asked++ * 3})})).json(); for (const src of found.items) { const clip = document.createElement('section'); clip.className = 'clip'; clip.dataset.src = src; feed.append(clip); io.observe(clip); } }; more();</script>""",
        head="<style>html, body {height: 100%; margin: 0; overflow: hidden} h1 {display: none} .feed {height: 100%; overflow-y: scroll; scroll-snap-type: y mandatory} .clip {height: 100vh; scroll-snap-align: start; scroll-snap-stop: always}</style>",
        parts=tuple(f"clip{at}" for at in range(9)),
        proofs=tuple(f"clips/347x2{at}-clip{at}.png" for at in range(9)),
        files={
            "api/recommend/item_list": lambda question: data(
                json.dumps(
                    {
                        "items": [
                            f"347x2{at}-clip{at}.png"
                            for at in range(
                                json.loads(question.body)["cursor"], json.loads(question.body)["cursor"] + 3
                            )
                        ]
                    }
                )
            )
        },
        acts=(Act("hover", "#feed"),)
        + (Act("evaluate", "new Promise(done => { feed.scrollBy(0, innerHeight); setTimeout(done, 300); })"),) * 9,
        seconds=30,
    ),
    Feature(
        "scrolly-steps",
        "A story has a graphic that stays, and twelve steps of text, each of which draws another state.",
        """<div style="height:600px">Introduction</div><div class="scrolly"><figure class="sticky"><img id="graphic" alt=""></figure><article>"""
        + "".join(f'<div class="step" data-step="{at}"><p>Step {at}</p></div>' for at in range(12))
        + """</article></div><div style="height:900px">End</div><script>
const io = new IntersectionObserver(entries => { for (const e of entries) if (e.isIntersecting) { document.querySelectorAll('.step').forEach(s => s.classList.toggle('is-active', s === e.target)); graphic.src = `states/348x${20 + +e.target.dataset.step}-state${e.target.dataset.step}.png`; } }, {rootMargin: '-50% 0px -50% 0px'});
document.querySelectorAll('.step').forEach(step => io.observe(step));</script>""",
        head="<style>.sticky {position: sticky; top: 20vh; height: 60px} .step {height: 70vh}</style>",
        parts=tuple(f"state{at}" for at in range(12)),
        proofs=tuple(f"states/348x{20 + at}-state{at}.png" for at in range(12)),
        acts=(
            Act(
                "evaluate",
                "(async () => { for (let y = 0; y < 11000; y += 300) { scrollTo(0, y); await new Promise(done => setTimeout(done, 70)); } })()",
            ),
        ),
    ),
    Feature(
        "amp-page",
        "A page of accelerated elements has pictures, a list with a template, and an accordion, made by one runtime.",
        """<article><amp-img src="349x20-hero.png" width="349" height="20" layout="responsive"></amp-img><p style="height:1600px">Text</p><amp-list width="auto" height="100" layout="fixed-height" src="https://cdn.features.test/amp-page/list.json" items="items"><template type="amp-mustache"><div class="item"><amp-img src="{{url}}" width="349" height="22"></amp-img></div></template></amp-list><amp-accordion disable-session-states><section><h4>Sources</h4><div class="c"></div></section></amp-accordion><amp-carousel type="slides" width="349" height="30"><amp-img src="349x31-one.png"></amp-img><amp-img src="349x32-two.png"></amp-img><amp-img src="349x33-three.png"></amp-img></amp-carousel></article>""",
        head="""<style>amp-img, amp-list, amp-carousel {display: block} amp-list {height: 100px} amp-carousel {position: relative; width: 349px; height: 60px} .amp-carousel-button {position: absolute; top: 10px; width: 34px; height: 34px; background: #0005; cursor: pointer} .amp-carousel-button-prev {left: 0} .amp-carousel-button-next {right: 0} amp-accordion section:not([expanded]) > div {display: none}</style><script async src="https://cdn.features.test/amp-page/v0.js"></script>""",
        parts=("hero", "row1", "row2", "sources", "one", "two", "three"),
        proofs=(
            "v0.js",
            "list.json.*",
            "349x22-row1.png",
            "350x20-sources.png",
            "349x31-one.png",
            "349x32-two.png",
            "349x33-three.png",
        ),
        files={
            "v0.js": Reply(
                """(function () {
  const near = (element, go) => new IntersectionObserver((es, io) => { if (es.some(e => e.isIntersecting)) { io.disconnect(); go(); } }, {rootMargin: '250px'}).observe(element);
  const define = (name, made) => customElements.define(name, class extends HTMLElement { connectedCallback() { if (!this.ready) { this.ready = true; made(this); } } });
  define('amp-img', e => near(e, () => { if (e.closest('amp-carousel') && !e.hasAttribute('current')) return; e.innerHTML = `<img decoding="async" class="i-amphtml-fill-content" src="${e.getAttribute('src')}">`; }));
  define('amp-list', e => near(e, async () => { const {items} = await (await fetch(e.getAttribute('src') + '?__amp_source_origin=' + encodeURIComponent(location.origin))).json(); const t = e.querySelector('template').innerHTML; const box = document.createElement('div'); box.setAttribute('role', 'list'); box.innerHTML = items.map(i => t.replace('{{url}}', i.url)).join(''); e.append(box); }));
  define('amp-accordion', e => setTimeout(() => e.querySelectorAll('section > h4').forEach(h => { h.className = 'i-amphtml-accordion-header'; h.setAttribute('role', 'button'); h.setAttribute('aria-expanded', 'false'); h.tabIndex = 0; h.addEventListener('click', () => { const s = h.parentElement; s.toggleAttribute('expanded'); h.setAttribute('aria-expanded', s.hasAttribute('expanded')); const c = s.querySelector('.c'); if (!c.firstChild) c.innerHTML = '<img src="350x20-sources.png">'; }); })));
  define('amp-carousel', e => setTimeout(() => { const slides = [...e.querySelectorAll('amp-img')]; let at = 0; const show = () => { slides.forEach((s, n) => { s.style.display = n === at ? 'block' : 'none'; s.toggleAttribute('current', n === at); }); if (!slides[at].firstChild) slides[at].innerHTML = `<img src="${slides[at].getAttribute('src')}">`; e.querySelector('.amp-carousel-button-prev').classList.toggle('amp-disabled', at === 0); }; for (const [k, by] of [['prev', -1], ['next', 1]]) { const b = document.createElement('div'); b.tabIndex = 0; b.className = `amp-carousel-button amp-carousel-button-${k}`; b.setAttribute('role', 'button'); b.title = k === 'next' ? 'Next item in carousel (1 of 3)' : 'Previous item in carousel'; b.addEventListener('click', ev => { ev.preventDefault(); at = Math.max(0, Math.min(slides.length - 1, at + by)); show(); }); e.append(b); } near(e, show); }));
})();""",
                "text/javascript; charset=utf-8",
            ),
            "list.json": data('{"items": [{"url": "349x22-row1.png"}, {"url": "349x23-row2.png"}]}'),
        },
        acts=(
            Act("evaluate", "new Promise(done => { scrollTo(0, 2500); setTimeout(done, 800); })"),
            click("amp-accordion h4"),
            click(".amp-carousel-button-next"),
            click(".amp-carousel-button-next"),
        ),
    ),
    Feature(
        "focus-within-menu",
        "A menu without any script stays open while it has the focus, and its pictures are lazy.",
        """<nav><div class="dd" tabindex="0">Collections <div class="dd__box"><a href="/c/1"><img loading="lazy" src="351x20-prints.png" width="351" height="20"></a><a href="/c/2"><img loading="lazy" src="351x21-coins.png" width="351" height="21"></a></div></div><div class="dd" tabindex="0">Visit <div class="dd__box"><img loading="lazy" src="351x22-map.png" width="351" height="22"></div></div></nav><p>Welcome</p>""",
        head="<style>nav {display: flex; gap: 30px} .dd {position: relative; padding: 10px} .dd__box {display: none; position: absolute; top: 100%; background: #fff} .dd:focus-within .dd__box {display: block}</style>",
        acts=(click(".dd >> nth=0"), click(".dd >> nth=1")),
    ),
)
