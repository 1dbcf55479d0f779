"""Which links the less common places of HTML give: conditional comments, JSON-LD, Open Graph, data-…, old elements."""

from __future__ import annotations

import pytest

from browsers.links.collector import MAX_GUESSES
from browsers.links.documents import links_of
from browsers.links.guesses import MAX_SCRIPT

PAGE = "http://site.test/dir/page.html"
HTML = {"content-type": "text/html; charset=utf-8"}

type Expected = tuple[str, str, str]


def found(html: str, *, guesses: bool = True, content_type: str = "text/html; charset=utf-8") -> list[Expected]:
    """(URL without the site, hop, context) of each link."""
    links = links_of(PAGE, 200, {"content-type": content_type}, html.encode(), guesses=guesses).links
    return [(link.url.removeprefix("http://site.test"), link.hop, link.context) for link in links]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<!--[if IE]><link rel=stylesheet href=/ie.css><![endif]-->", ["/ie.css"]),
        ("<!--[if lt IE 9]>\n<script src='/shiv.js'></script>\n<![endif]-->", ["/shiv.js"]),
        ("<!-- [if (gte mso 9)|(IE)]><img src=/m.png><![endif]-->", ["/m.png"]),
        ("<![if !IE]><img src=/not.png><![endif]>", ["/not.png"]),
        ("<!--[if !IE]><!--><img src=/not.png><!--<![endif]-->", ["/not.png"]),
        ("<!--[if IE]><style>a{background:url(/s.png)}</style><![endif]--><img src=/t.png>", ["/s.png", "/t.png"]),
        ("<!--[if IE]><script>var x = 1<![endif]--><img src=/after.png>", ["/after.png"]),
        ("<!--[if IE]><!--[if IE 6]><img src=/inner.png><![endif]--><img src=/after.png>", ["/after.png"]),
        ("<!--[if IE]><base href=/b/><![endif]--><img src=i.png>", ["/dir/i.png"]),
        ("<!-- if IE <img src=/no.png> -->", []),
        ("<!--[iffy]><img src=/no.png>-->", []),
    ],
)
def test_conditional_comments_are_searched(html: str, expected: list[str]) -> None:
    assert [(url, hop) for url, hop, _ in found(html)] == [(url, "E") for url in expected]


def test_a_description_in_json_ld_gives_files_and_pages() -> None:
    html = """<script type="application/ld+json">{
      "@context": "https://schema.org", "@type": "NewsArticle",
      "mainEntityOfPage": {"@type": "WebPage", "@id": "https://site.test/article"},
      "image": ["https:\\/\\/site.test\\/1.jpg", {"@type": "ImageObject", "url": "/2.jpg", "@id": "https://site.test/#logo"}],
      "author": {"@type": "Person", "url": "/people/anna", "sameAs": ["https://social.test/anna"]},
      "video": {"@type": "VideoObject", "url": "/watch", "contentUrl": "/v.mp4", "embedUrl": "/embed/v",
                "thumbnailUrl": "/v.jpg", "name": "a/b or c.d"},
      "potentialAction": {"target": "https://site.test/search?q={query}"},
      "publisher": {"logo": {"@type": "ImageObject", "url": "/logo.svg"}, "url": "//site.test/"},
      "offers": {"availability": "https://schema.org/InStock", "priceSpecification": "https://site.test/prices"}
    }</script>"""

    links = [(url.removeprefix("https://site.test"), hop, context) for url, hop, context in found(html)]

    assert links == [
        ("/article", "L", "ld+json/mainEntityOfPage"),
        ("/1.jpg", "E", "ld+json/image"),
        ("/2.jpg", "E", "ld+json/url"),
        ("/people/anna", "L", "ld+json/url"),
        ("https://social.test/anna", "L", "ld+json/sameAs"),
        ("/watch", "L", "ld+json/url"),
        ("/v.mp4", "E", "ld+json/contentUrl"),
        ("/embed/v", "E", "ld+json/embedUrl"),
        ("/v.jpg", "E", "ld+json/thumbnailUrl"),
        ("/logo.svg", "E", "ld+json/url"),
        ("/", "L", "ld+json/url"),
        ("/prices", "X", "ld+json/priceSpecification"),
    ]


def test_a_broken_description_gives_what_looks_like_urls() -> None:
    html = '<script type="application/ld+json">{"image": "https://site.test/1.jpg", }</script>'

    assert found(html) == [("https://site.test/1.jpg", "X", "ld+json")]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<meta property=og:image content=http://site.test/p.jpg>", [("/p.jpg", "E")]),
        ("<meta property=og:image:secure_url content=https://s.test/p.jpg>", [("https://s.test/p.jpg", "E")]),
        ("<meta property=og:url content=http://site.test/canonical>", [("/canonical", "L")]),
        ("<meta name=twitter:player content=https://p.test/embed/1>", [("https://p.test/embed/1", "E")]),
        ("<meta name=twitter:player:width content=640>", []),
        ("<meta name=twitter:image:src content=http://site.test/t.jpg>", [("/t.jpg", "E")]),
        ("<meta property=article:author content=http://site.test/anna>", [("/anna", "L")]),
        ("<meta property=article:author content='Anna A.'>", []),
        ("<meta name=citation_pdf_url content=/paper.pdf>", [("/paper.pdf", "L")]),
        ("<meta name=some:thing content=http://site.test/else>", [("/else", "X")]),
        ("<meta name=description content='see http://site.test/no'>", []),
        ("<meta name=generator content=builder.io>", []),
    ],
)
def test_meta_elements_give_addresses(html: str, expected: list[tuple[str, str]]) -> None:
    assert [(url, hop) for url, hop, _ in found(html)] == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<img data-src=/a.png data-srcset='/b.png 1x, /c.png 2x'>", ["/a.png E", "/b.png E", "/c.png E"]),
        ("<img data-lazy-src=/a.png data-lazy-srcset='/b.png 2x'>", ["/a.png E", "/b.png E"]),
        ("<div data-bg=/a.png></div>", ["/a.png E"]),
        ("<div data-bg=\"url('/a.png')\"></div>", ["/a.png E"]),
        ("<div data-bgset='/a.png 100w, /b.png 200w'></div>", ["/a.png E", "/b.png E"]),
        ("<div data-image=yes data-thumb=3 data-background=dark data-retina=1.5 data-normal=v1.2></div>", []),
        ("<tr data-href=/row/17><td></tr>", ["/row/17 X"]),
        ("<div data-url='http://site.test/load'></div>", ["/load X"]),
        ("<div data-page=article/17.php></div>", ["/dir/article/17.php X"]),
        ('<div data-settings=\'{"src":"\\/film.mp4","speed":"1.5","kind":"video\\/mp4"}\'></div>', ["/film.mp4 X"]),
        ("<div data-date=2024/05/06 data-version=1.2.3 data-ratio=16/9 data-kind=text/html></div>", []),
    ],
)
def test_attributes_of_scripts_give_addresses(html: str, expected: list[str]) -> None:
    assert [f"{url} {hop}" for url, hop, _ in found(html)] == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<portal src=/p>", ["/p E portal/@src"]),
        ("<bgsound src=/b.mid>", ["/b.mid E bgsound/@src"]),
        ("<html manifest=/m.appcache>", ["/m.appcache E html/@manifest"]),
        ("<img lowsrc=/l.png longdesc=/d.html>", ["/l.png E img/@lowsrc", "/d.html L img/@longdesc"]),
        ("<object codebase=/c/ data=d.swf archive='a.jar, b.jar' classid=clsid:123></object>", [
            "/c/d.swf E object/@data", "/c/a.jar E object/@archive", "/c/b.jar E object/@archive",
        ]),
        ("<applet codebase=/c code=Play.class archive=/z.jar></applet>", [
            "/Play.class E applet/@code", "/z.jar E applet/@archive",
        ]),
        ("<applet codebase=/c/ code=test.Play></applet>", ["/c/test/Play.class E applet/@code"]),
        ("<applet code=Play></applet>", ["/dir/Play.class E applet/@code"]),
        ("<embed src=/e.swf flashvars='file=%2Fv.flv&skin=/s.xml&auto=1.5'>", [
            "/e.swf E embed/@src", "/v.flv X embed/@flashvars", "/s.xml X embed/@flashvars",
        ]),
        ("<object><param name=FlashVars value='xml=/p.xml'></object>", ["/p.xml X param/@value"]),
        ("<link rel=prerender href=/n><link rel=video_src href=/v>", ["/n E link/@href", "/v E link/@href"]),
        ("<link rel='preload' as=image href=/i.png imagesrcset='/j.png 2x'>", [
            "/i.png E link/@href", "/j.png E link/@imagesrcset",
        ]),
        ("<select onchange='go()'><option value=/de/home.html>de<option value=1.0></select>", [
            "/de/home.html L option/@value",
        ]),
        ("<svg><mpath href='/m.svg#a'/><textPath xlink:href='/t.svg#b'/></svg>", [
            "/m.svg E mpath/@href", "/t.svg E textpath/@xlink:href",
        ]),
    ],
)  # fmt: skip
def test_elements_of_all_ages_give_their_parts(html: str, expected: list[str]) -> None:
    assert [" ".join(link) for link in found(html)] == expected


@pytest.mark.parametrize("content_type", ["application/xhtml+xml", "text/xml", "image/svg+xml"])
def test_instructions_name_style_sheets(content_type: str) -> None:
    root = "svg" if "svg" in content_type else "html"
    body = f'<?xml version="1.0"?><?xml-stylesheet type="text/css" href="/s.css"?><{root}></{root}>'

    assert found(body, content_type=content_type) == [("/s.css", "E", "xml-stylesheet/@href")]


def test_scripts_and_handlers_give_guesses_behind_all_other_links() -> None:
    html = """<script>load("/data/list.json"); open('/seen')</script>
      <body onload="show('/start/page.html')"><p ONCLICK='go(&quot;/next&quot;)'></p>
      <a href="javascript:open('/popup.html')">x</a><a href=/seen>y</a>
      <script type=module>import "./part.js"</script>
      <script type="application/json">{"next":"/news/2","key":"a/b"}</script>
      <script type="text/template"><img src="{{picture}}/x.png"></script>"""

    assert found(html) == [
        ("/seen", "L", "a/@href"),
        ("/data/list.json", "X", "script/text()"),
        ("/start/page.html", "X", "body/@onload"),
        ("/next", "X", "p/@onclick"),
        ("/popup.html", "X", "a/@href"),
        ("/dir/part.js", "X", "script/text()"),
        ("/news/2", "X", "script/text()"),
    ]
    assert found(html, guesses=False) == [("/seen", "L", "a/@href")]


def test_guesses_beyond_their_bound_are_counted_and_leave_room_for_links() -> None:
    calls = "".join(f"go('/g/{number}.html');" for number in range(MAX_GUESSES + 7))
    html = f"<script>{calls}</script>" + "".join(f"<a href=/l/{number}>" for number in range(2000))

    result = links_of(PAGE, 200, HTML, html.encode())

    assert [link.hop for link in result.links] == ["L"] * 2000 + ["X"] * MAX_GUESSES
    assert result.annotations == ("links-dropped:7",)


def test_the_beginning_of_a_script_beyond_the_bound_is_searched() -> None:
    html = f"<script>go('/first.html');{' ' * MAX_SCRIPT}</script><script>go('/second.html')</script>"

    assert found(html) == [("/first.html", "X", "script/text()")]
