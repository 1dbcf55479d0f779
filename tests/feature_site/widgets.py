"""Features of widgets that are made of plain elements, and that a person recognises by look or text."""

from __future__ import annotations

from typing import Final

from feature_site.feature import Act, Feature, click, hover, page

WIDGETS: Final = (
    Feature(
        "video-facade",
        "A thumbnail is replaced by a frame with a player when it is clicked.",
        "<div class='lite-video' id=v style='width:320px;height:180px;background:#333;cursor:pointer;position:relative'><span style='font-size:60px;color:#fff'>▶</span></div>"
        "<script>v.addEventListener('click', () => { v.innerHTML = \"<iframe src='https://cdn.features.test/video-facade/player.html'></iframe>\"; });</script>",
        parts=("player",),
        proofs=("player.html", "130x10-player.png"),
        files={
            "player.html": page("<img src='130x10-player.png' onload=\"parent.postMessage({part: 'player'}, '*')\">")
        },
        acts=(click("#v"),),
    ),
    Feature(
        "target-tabs",
        "Tabs are made by the :target pseudo-class.",
        "<a href='#one'>One</a> <a href='#two'>Two</a><div class=p id=one>First</div><div class=p id=two>Second</div>"
        "<script>onhashchange = () => proof.add(location.hash === '#two' ? '131x11-two.png' : '131x10-one.png');</script>",
        head="<style>.p {display: none} .p:target {display: block}</style>",
        parts=("one", "two"),
        proofs=("131x10-one.png", "131x11-two.png"),
        acts=(click("a >> nth=0"), click("a >> nth=1")),
    ),
    Feature(
        "checkbox-accordion",
        "An accordion is made of labels and hidden check boxes.",
        "<input type=checkbox id=c hidden><label for=c id=l>Opening hours</label><div id=panel>Monday <img loading=lazy src='132x10-hours.png'></div>",
        head="<style>#panel {display: none} #c:checked ~ #panel {display: block}</style>",
        acts=(click("#l"),),
    ),
    Feature(
        "tree",
        "A tree is unfolded branch by branch.",
        "<ul role=tree><li role=treeitem aria-expanded=false tabindex=0 id=t1>Trees<ul role=group></ul></li></ul><script>"
        "t1.addEventListener('click', event => { if (event.target.id === 't2') { t2.ariaExpanded = true; proof.add('133x11-leaf.png', t2); return; }"
        "t1.ariaExpanded = true; if (!document.querySelector('#t2')) { t1.lastElementChild.innerHTML = '<li role=treeitem aria-expanded=false tabindex=0 id=t2>Ginkgo</li>'; proof.add('133x10-branch.png', t1); } });</script>",
        acts=(click("#t1"), click("#t2")),
    ),
    Feature(
        "role-button",
        "A div with role=button, which also obeys the Enter key, shows more.",
        "<div role=button tabindex=0 id=b style='padding:8px;border:1px solid;width:120px'>Show all reviews</div><script>b.onclick = () => proof.add('134x10-reviews.png');</script>",
        acts=(click("#b"),),
    ),
    Feature(
        "onclick-attribute",
        "A link has a javascript: address, and a span an onclick attribute.",
        "<a href=\"javascript:proof.add('135x10-linked.png')\" id=a>Next page »</a> <span id=s onclick=\"proof.add('135x11-spanned.png')\" style='cursor:pointer'>Expand all</span>",
        acts=(click("#a"), click("#s")),
    ),
    Feature(
        "arrow-link",
        "Pages of a calendar are turned by an arrow without a word.",
        "<div><a href='#' id=prev>«</a> <b id=m>1</b> <a href='#' id=next>»</a></div><div id=panel></div><script>let at = 0; const names = ['136x10-may.png', '136x11-june.png', '136x12-july.png'];"
        "const show = () => { m.textContent = at + 1; panel.innerHTML = ''; proof.add(names[at], panel); }; show();"
        "next.onclick = event => { event.preventDefault(); if (at < 2) { at++; show(); } }; prev.onclick = event => { event.preventDefault(); if (at) { at--; show(); } };</script>",
        acts=(click("#next"), click("#next")),
    ),
    Feature(
        "svg-arrow",
        "A slider's arrow is a drawing in a button without a text.",
        "<section class='swiper'><div id=slide></div><button class='swiper-button-next' id=n><svg width=20 height=20 viewBox='0 0 20 20'><path d='M5 2l8 8-8 8'/></svg></button></section>"
        "<script>let at = 0; const names = ['137x10-a.png', '137x11-b.png', '137x12-c.png']; const show = () => { slide.innerHTML = ''; proof.add(names[at], slide); }; show();"
        "n.onclick = () => { at = (at + 1) % 3; show(); };</script>",
        acts=(click("#n"), click("#n")),
    ),
    Feature(
        "slides-by-timer",
        "A carousel turns by itself each 1.5 seconds.",
        "<div class=carousel id=slide></div><script>let at = 0; const names = ['138x10-a.png', '138x11-b.png', '138x12-c.png'];"
        "const show = () => { slide.innerHTML = ''; proof.add(names[at % 3], slide); at++; }; show(); setInterval(show, 1500);</script>",
    ),
    Feature(
        "hover-delegated",
        "One listener of the document serves all menus that the mouse enters.",
        "<ul class='nav-menu'><li class='nav-item has-submenu' data-menu=a>Plants</li><li class='nav-item has-submenu' data-menu=b>Visit</li></ul><script>"
        "const seen = new Set(); document.addEventListener('mouseover', event => { const menu = event.target.dataset?.menu; if (menu && !seen.has(menu)) { seen.add(menu);"
        "proof.add({a: '139x10-plants.png', b: '139x11-visit.png'}[menu]); } });</script>",
        parts=("plants", "visit"),
        proofs=("139x10-plants.png", "139x11-visit.png"),
        acts=(hover("li >> nth=0"), hover("li >> nth=1")),
    ),
    Feature(
        "load-comments",
        "Comments are in a frame that a button loads, and that grows.",
        "<button id=b>Load comments (12)</button><div id=box></div><script>b.onclick = () => { b.remove(); box.innerHTML = \"<iframe src='comments.html' width=500 height=300></iframe>\"; };</script>",
        parts=("comment",),
        proofs=("comments.html", "140x10-comment.png"),
        files={
            "comments.html": page(
                "<img src='140x10-comment.png' onload=\"parent.postMessage({part: 'comment'}, '*')\">"
            )
        },
        acts=(click("#b"),),
    ),
    Feature(
        "wizard",
        "A guide has steps that are reached by a button Next.",
        "<div id=step>Step 1</div><button id=b>Next</button><script>let at = 1; b.onclick = () => { at++; step.textContent = `Step ${at}`; proof.add(`141x1${at}-step${at}.png`); if (at === 4) b.remove(); };</script>",
        parts=("step2", "step3", "step4"),
        proofs=("141x12-step2.png", "141x13-step3.png", "141x14-step4.png"),
        acts=(click("#b"),) * 3,
    ),
    Feature(
        "switch",
        "A switch and a button change the view of the page.",
        "<button role=switch aria-checked=false id=s>Show map</button><div class=toggle id=g>Grid view</div><script>s.onclick = () => { s.ariaChecked = true; proof.add('142x10-map.png'); };"
        "g.onclick = () => proof.add('142x11-grid.png');</script>",
        acts=(click("#s"), click("#g")),
    ),
    Feature(
        "wheel-only",
        "A page without a scroll bar listens to the wheel.",
        "<style>html, body {overflow: hidden; height: 100%}</style><script>let at = 0; const names = ['143x10-a.png', '143x11-b.png'];"
        "addEventListener('wheel', () => { if (at < 2) proof.add(names[at++]); });</script>",
        acts=(Act("mouse"),),
    ),
    Feature(
        "detached-menu",
        "A menu button shows a list at the end of the document, whose entries load panels.",
        "<button aria-haspopup=menu aria-expanded=false id=b>Sort by</button><div id=out></div><script>b.onclick = () => { b.ariaExpanded = true; const m = document.createElement('div');"
        "m.role = 'menu'; m.innerHTML = '<button role=menuitem id=i>Newest first</button>'; document.body.append(m); proof.add('144x10-menu.png');"
        "i.onclick = () => proof.add('144x11-newest.png'); };</script>",
        parts=("menu", "newest"),
        proofs=("144x10-menu.png", "144x11-newest.png"),
        acts=(click("#b"), click("#i")),
    ),
    Feature(
        "react-like",
        "The page listens at its root element alone, as frameworks do.",
        "<div id=root><div class='css-1x2y' data-action=more>See more results</div><div class='css-3z4w' data-action=tab>Photos</div></div><script>"
        "root.addEventListener('click', event => { const action = event.target.dataset.action; if (action) proof.add({more: '145x10-more.png', tab: '145x11-tab.png'}[action]); });</script>",
        head="<style>[data-action] {cursor: pointer; padding: 6px}</style>",
        parts=("more", "tab"),
        proofs=("145x10-more.png", "145x11-tab.png"),
        acts=(click("[data-action=more]"), click("[data-action=tab]")),
    ),
)
