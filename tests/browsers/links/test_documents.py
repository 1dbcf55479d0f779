"""Which links documents of all kinds give: tables of input and output."""

from __future__ import annotations

import gzip
import time
from collections.abc import Mapping
from urllib.parse import urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive.url import UrlError, canonical
from browsers.links.collector import MAX_LINKS, _joined
from browsers.links.documents import Links, links_of, may_have_links, media_type

PAGE = "http://site.test/dir/page.html?x=1"
HTML = {"content-type": "text/html; charset=utf-8"}

type Expected = tuple[str, str, str]


def found(body: bytes | str, headers: Mapping[str, str] = HTML, url: str = PAGE, status: int = 200) -> list[Expected]:
    """(URL, hop, context) of each link."""
    data = body.encode() if isinstance(body, str) else body
    return [(link.url, link.hop, link.context) for link in links_of(url, status, headers, data).links]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<a href=b.html>", [("http://site.test/dir/b.html", "L", "a/@href")]),
        ("<a href='/c?d=e&amp;f=g#frag'>", [("http://site.test/c?d=e&f=g", "L", "a/@href")]),
        ("<a href='//other.test/x'>", [("http://other.test/x", "L", "a/@href")]),
        ("<a href='?q'>", [("http://site.test/dir/page.html?q", "L", "a/@href")]),
        ("<a href='../up'>", [("http://site.test/up", "L", "a/@href")]),
        ("<a href=' \n/sp ace\n'>", [("http://site.test/sp%20ace", "L", "a/@href")]),
        ("<a href='\\back\\slash'>", [("http://site.test/back/slash", "L", "a/@href")]),
        ("<a href='HTTP://SITE.test:80/A'>", [("http://site.test/A", "L", "a/@href")]),
        ("<map><area href=m.html></map>", [("http://site.test/dir/m.html", "L", "area/@href")]),
        ("<base href='/b/'><a href=x>", [("http://site.test/b/x", "L", "a/@href")]),
        ("<base href='https://o.test/'><a href=x>", [("https://o.test/x", "L", "a/@href")]),
        ("<img src=i.png>", [("http://site.test/dir/i.png", "E", "img/@src")]),
        ("<img data-src=l.png>", [("http://site.test/dir/l.png", "E", "img/@data-src")]),
        ("<img data-srcset='l.png 2x'>", [("http://site.test/dir/l.png", "E", "img/@data-srcset")]),
        ("<noscript><img src=n.png></noscript>", [("http://site.test/dir/n.png", "E", "img/@src")]),
        ("<picture><source srcset=w.webp></picture>", [("http://site.test/dir/w.webp", "E", "source/@srcset")]),
        (
            "<video src=v.mp4 poster=p.jpg><source src=v.webm><track src=t.vtt></video>",
            [
                ("http://site.test/dir/v.mp4", "E", "video/@src"),
                ("http://site.test/dir/p.jpg", "E", "video/@poster"),
                ("http://site.test/dir/v.webm", "E", "source/@src"),
                ("http://site.test/dir/t.vtt", "E", "track/@src"),
            ],
        ),
        ("<audio src=a.ogg></audio>", [("http://site.test/dir/a.ogg", "E", "audio/@src")]),
        ("<script src=s.js></script>", [("http://site.test/dir/s.js", "E", "script/@src")]),
        ("<iframe src=f.html></iframe>", [("http://site.test/dir/f.html", "E", "iframe/@src")]),
        ("<frameset><frame src=f.html></frameset>", [("http://site.test/dir/f.html", "E", "frame/@src")]),
        ("<embed src=e.swf>", [("http://site.test/dir/e.swf", "E", "embed/@src")]),
        (
            "<object data=o.swf><param name=movie value=m.swf></object>",
            [("http://site.test/dir/o.swf", "E", "object/@data"), ("http://site.test/dir/m.swf", "E", "param/@value")],
        ),
        ("<input type=image src=b.png>", [("http://site.test/dir/b.png", "E", "input/@src")]),
        ("<body background=bg.gif>", [("http://site.test/dir/bg.gif", "E", "body/@background")]),
        ("<link rel=stylesheet href=s.css>", [("http://site.test/dir/s.css", "E", "link/@href")]),
        ("<link rel='shortcut icon' href=f.ico>", [("http://site.test/dir/f.ico", "E", "link/@href")]),
        ("<link rel=preload as=font href=f.woff2>", [("http://site.test/dir/f.woff2", "E", "link/@href")]),
        ("<link rel=manifest href=m.json>", [("http://site.test/dir/m.json", "E", "link/@href")]),
        ("<link rel=canonical href=/c>", [("http://site.test/c", "L", "link/@href")]),
        ("<link rel='alternate stylesheet' href=a.css>", [("http://site.test/dir/a.css", "E", "link/@href")]),
        ("<link rel=alternate hreflang=de href=/de>", [("http://site.test/de", "L", "link/@href")]),
        ("<link rel=dns-prefetch href=//cdn.test><link rel=preconnect href=//cdn.test>", []),
        (
            "<link rel=preload as=image imagesrcset='a.png 1x, b.png 2x'>",
            [
                ("http://site.test/dir/a.png", "E", "link/@imagesrcset"),
                ("http://site.test/dir/b.png", "E", "link/@imagesrcset"),
            ],
        ),
        (
            "<meta http-equiv=Refresh content=\"3; URL='n.html'\">",
            [("http://site.test/dir/n.html", "R", "meta/@content")],
        ),
        ("<meta http-equiv=refresh content=30>", []),
        (
            "<meta property=og:image content=https://cdn.test/p.jpg>",
            [("https://cdn.test/p.jpg", "E", "meta/@content")],
        ),
        ("<meta property=og:image:width content=800><meta name=description content=/no/>", []),
        ("<p style=\"background:url('s.png')\">", [("http://site.test/dir/s.png", "E", "p/@style")]),
        (
            "<style>@import 'i.css'; a{background:url( b.png )}</style>",
            [("http://site.test/dir/i.css", "E", "style/text()"), ("http://site.test/dir/b.png", "E", "style/text()")],
        ),
        (
            "<svg><a xlink:href=/l></a><image href=i.svg /><use xlink:href='sprite.svg#x'/></svg>",
            [
                ("http://site.test/l", "L", "a/@xlink:href"),
                ("http://site.test/dir/i.svg", "E", "image/@href"),
                ("http://site.test/dir/sprite.svg", "E", "use/@xlink:href"),
            ],
        ),
        (
            "<p><template shadowrootmode=open><a href=t.html></a><template><img src=tt.png></template></template></p>",
            [("http://site.test/dir/t.html", "L", "a/@href"), ("http://site.test/dir/tt.png", "E", "img/@src")],
        ),
        ("<q cite=/src>x</q>", [("http://site.test/src", "L", "q/@cite")]),
        ("<form action=/search><input name=q></form>", []),
        ("<!-- <a href=commented.html> -->", []),
        ("<script>var x = '<a href=nope.html>'</script>", []),
        ("<a href=x>1</a><a href=x#y>2</a>", [("http://site.test/dir/x", "L", "a/@href")]),
        (
            "<a href=i.png><img src=i.png></a>",
            [("http://site.test/dir/i.png", "L", "a/@href"), ("http://site.test/dir/i.png", "E", "img/@src")],
        ),
    ],
)
def test_html_gives_its_links_with_heritrix_hops(html: str, expected: list[Expected]) -> None:
    assert found(html) == expected


@pytest.mark.parametrize(
    "reference",
    [
        "javascript:void(0)",
        " JavaScript:alert(1)",
        "mailto:a@b.test",
        "tel:+123",
        "data:image/png;base64,AAAA",
        "about:blank",
        "blob:http://site.test/1",
        "file:///etc/passwd",
        "#top",
        "",
        "   ",
        "ftp://site.test/x",
        "http://",
        "http://[::1",
        "http://a b.test/",
        "http://site.test:99999/",
        "http:///",
        "//",
    ],
)
def test_what_can_not_be_fetched_is_no_link(reference: str) -> None:
    assert found(f'<a href="{reference}">x</a>') == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a.png", ["a.png"]),
        ("a.png 1x, b.png 2x", ["a.png", "b.png"]),
        ("a.png 100w,b.png 200w", ["a.png", "b.png"]),
        ("a,1.png 1x, b,2.png 2x", ["a,1.png", "b,2.png"]),
        ("a.png, b.png", ["a.png", "b.png"]),
        (" ,, a.png ,", ["a.png"]),
        ("a.png (x, y), b.png", ["a.png", "b.png"]),
        ("data:image/png;base64,AA== 1x, b.png 2x", ["b.png"]),
        (",", []),
        ("", []),
    ],
)
def test_srcset_is_read_as_browsers_do(value: str, expected: list[str]) -> None:
    assert [url for url, _, _ in found(f'<img srcset="{value}">')] == [
        f"http://site.test/dir/{name}" for name in expected
    ]


@pytest.mark.parametrize(
    ("css", "expected"),
    [
        ("a{background:url(i.png)}", ["i.png"]),
        ("a{background:url('i.png')}", ["i.png"]),
        ('a{background:URL( "i.png" )}', ["i.png"]),
        ("@import 'a.css'; @import url(b.css) screen; @import url('c.css');", ["a.css", "b.css", "c.css"]),
        ("@font-face{src:url(f.woff2) format('woff2'),url(f.woff)}", ["f.woff2", "f.woff"]),
        ("@media print{a{background:url(p.png)}}", ["p.png"]),
        ("@supports (display:grid){@media x{a{b:image-set(url(1.png) 1x,url(2.png) 2x)}}}", ["1.png", "2.png"]),
        ("/* url(no.png) */ a{content:'url(no2.png)'}", []),
        ("a{background:url(i\\.png)}", ["i.png"]),
        ("a{background:url(unclosed.png", ["unclosed.png"]),
        ("a{background:url(b ad.png)} b{background:url(ok.png)}", ["ok.png"]),
        ("a{b:url()}", []),
        ("}}}{{{", []),
        ("a{" * 5000 + "b:url(deep.png)", ["deep.png"]),
        (r"a{background:url(\69.png)}", ["i.png"]),
    ],
)
def test_css_gives_what_it_embeds(css: str, expected: list[str]) -> None:
    links = found(css, {"content-type": "text/css"}, url="http://site.test/s/s.css")

    assert links == [(f"http://site.test/s/{name}", "E", "css") for name in expected]


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        (301, {"location": "/to"}, [("http://site.test/to", "R", "header:location")]),
        (302, {"location": "http://o.test"}, [("http://o.test/", "R", "header:location")]),
        (307, {"location": "/b\xc3\xbccher"}, [("http://site.test/b%C3%BCcher", "R", "header:location")]),
        (302, {"location": "javascript:x"}, []),
        (302, {"location": ""}, []),
        (302, {}, []),
        (200, {"location": "/not-followed"}, []),
        (304, {"location": "/not-followed"}, []),
        (200, {"refresh": "5; url=/later"}, [("http://site.test/later", "R", "header:refresh")]),
        (200, {"refresh": "5"}, []),
        (200, {"link": "</s.css>; rel=stylesheet"}, [("http://site.test/s.css", "E", "header:link")]),
        (
            200,
            {"link": '<a,b>; rel="next"; title="x, <y>", <c>; rel=preload'},
            [("http://site.test/dir/a,b", "L", "header:link"), ("http://site.test/dir/c", "E", "header:link")],
        ),
        (200, {"link": "<//cdn.test>; rel=preconnect"}, []),
        (200, {"link": "garbage; <<>>; ,,,"}, []),
    ],
)
def test_headers_give_links(status: int, headers: dict[str, str], expected: list[Expected]) -> None:
    assert found(b"", headers, status=status) == expected


@pytest.mark.parametrize(
    ("content_type", "body", "query"),
    [
        ("text/html; charset=utf-8", "<a href='?ü'>".encode(), "%C3%BC"),
        ("text/html; charset=iso-8859-1", "<a href='?ü'>".encode("latin-1"), "%FC"),
        ("text/html", "<meta charset=shift_jis><a href='?日'>".encode("shift_jis"), "%93%FA"),
        ("text/html", "<a href='?ü'>".encode(), "%C3%BC"),
        ("text/html", "<a href='?ü'>".encode("windows-1252"), "%FC"),
        (
            "text/html; charset=windows-1251",
            "<a href='?я日'>".encode("windows-1251", "xmlcharrefreplace"),
            "%FF%26%2326085%3B",
        ),
        ("text/html; charset=nonsense", "<a href='?ü'>".encode(), "%C3%BC"),
        ("text/html; charset=hex", "<a href='?ü'>".encode(), "%C3%BC"),
        ("text/html", "\ufeff<a href='?ü'>".encode("utf-16"), "%C3%BC"),
        ("text/html", "<meta charset=utf-16><a href='?ü'>".encode(), "%C3%BC"),
    ],
)
def test_queries_are_written_in_the_encoding_of_the_document(content_type: str, body: bytes, query: str) -> None:
    assert [url for url, _, _ in found(body, {"content-type": content_type})] == [
        f"http://site.test/dir/page.html?{query}"
    ]


def test_paths_are_utf8_whatever_the_document_is() -> None:
    body = "<a href='/ü?ü'>".encode("latin-1")

    assert found(body, {"content-type": "text/html; charset=latin1"})[0][0] == "http://site.test/%C3%BC?%FC"


SITEMAP = b"""<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://i" xmlns:xhtml="http://x">
<url><loc> http://site.test/a?b=1&amp;c=2 </loc><image:image><image:loc>http://site.test/i.jpg</image:loc></image:image>
<xhtml:link rel="alternate" hreflang="de" href="http://site.test/de"/></url>
<url><loc><![CDATA[http://site.test/cdata]]></loc></url></urlset>"""


@pytest.mark.parametrize(
    ("url", "content_type", "body", "expected"),
    [
        (
            "http://site.test/sitemap.xml",
            "application/xml",
            SITEMAP,
            [
                ("http://site.test/a?b=1&c=2", "L", "loc/text()"),
                ("http://site.test/i.jpg", "E", "image:loc/text()"),
                ("http://site.test/de", "L", "link/@href"),
                ("http://site.test/cdata", "L", "loc/text()"),
            ],
        ),
        (
            "http://site.test/anything",
            "text/xml",
            b"<sitemapindex><sitemap><loc>http://site.test/s1.xml</loc></sitemap></sitemapindex>",
            [("http://site.test/s1.xml", "M", "loc/text()")],
        ),
        (
            "http://site.test/sitemap.xml.gz",
            "application/octet-stream",
            gzip.compress(b"<urlset><url><loc>http://site.test/z</loc></url></urlset>"),
            [("http://site.test/z", "L", "loc/text()")],
        ),
        (
            "http://site.test/sitemap.txt",
            "text/plain",
            b"\xef\xbb\xbfhttp://site.test/1\r\nnonsense\r\n http://site.test/2 \r\n",
            [("http://site.test/1", "L", "sitemap/line"), ("http://site.test/2", "L", "sitemap/line")],
        ),
        (
            "http://site.test/sitemap.xml",
            "application/xml",
            b"<urlset><url><loc>http://site.test/a</loc></url><url><loc>http://site.test/b?x&y</loc></url>",
            [("http://site.test/a", "L", "loc/text()"), ("http://site.test/b?x&y", "L", "sitemap/loc")],
        ),
        (
            "http://site.test/feed",
            "application/rss+xml",
            b"<rss><channel><item><link>http://site.test/post</link>"
            b"<enclosure url='http://site.test/p.mp3'/></item></channel></rss>",
            [("http://site.test/post", "L", "link/text()"), ("http://site.test/p.mp3", "E", "enclosure/@url")],
        ),
        (
            "http://site.test/atom",
            "application/atom+xml",
            b"<feed><entry><link rel='alternate' href='/entry'/></entry></feed>",
            [("http://site.test/entry", "L", "link/@href")],
        ),
        (
            "http://site.test/robots.txt",
            "text/plain",
            b"User-agent: *\rDisallow: /x\rSITEMAP:http://site.test/s.xml\rsitemap: /rel.xml",
            [
                ("http://site.test/s.xml", "M", "robots.txt/sitemap"),
                ("http://site.test/rel.xml", "M", "robots.txt/sitemap"),
            ],
        ),
        (
            "http://site.test/data.xml",
            "application/xml",
            b"<data><loc>http://site.test/x</loc></data>",
            [("http://site.test/x", "X", "loc/text()")],
        ),
        ("http://site.test/sitemap.xml", "text/html", b"<h1>404</h1>", []),
    ],
)
def test_sitemaps_feeds_and_robots_give_links(
    url: str, content_type: str, body: bytes, expected: list[Expected]
) -> None:
    assert found(body, {"content-type": content_type}, url=url) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            b"<urlset><url><loc>http://site.test/a</loc><lastmod>2024-05-01T10:00:00+02:00</lastmod></url>"
            b"<url><lastmod>2024-05-02</lastmod><loc>http://site.test/b</loc></url>"
            b"<url><loc>http://site.test/c</loc></url></urlset>",
            {"a": 1_714_550_400_000, "b": 1_714_608_000_000, "c": None},
        ),
        (
            b"<sitemapindex><sitemap><loc>http://site.test/s.xml</loc><lastmod>2024-05-02</lastmod></sitemap></sitemapindex>",
            {"s.xml": 1_714_608_000_000},
        ),
        (
            b"<rss><channel><pubDate>Sat, 04 May 2024 00:00:00 GMT</pubDate><link>http://site.test/home</link><item>"
            b"<link>http://site.test/post</link><pubDate>Thu, 02 May 2024 00:00:00 GMT</pubDate>"
            b"<enclosure url='http://site.test/p.mp3'/></item></channel></rss>",
            {"home": None, "post": 1_714_608_000_000, "p.mp3": None},
        ),
        (
            b"<feed><updated>2024-06-01T00:00:00Z</updated><entry><link rel='alternate' href='/entry'/>"
            b"<published>2024-05-01T00:00:00Z</published><updated>2024-05-02T00:00:00Z</updated></entry></feed>",
            {"entry": 1_714_608_000_000},
        ),
        (
            b"<urlset><url><loc>http://site.test/a</loc><lastmod>yesterday</lastmod></url><url><loc>http://site.test/b</loc>"
            b"<lastmod>" + b"9" * 5000 + b"</lastmod></url></urlset>",
            {"a": None, "b": None},
        ),
    ],
)
def test_sitemaps_and_feeds_say_when_a_url_changed(body: bytes, expected: dict[str, int | None]) -> None:
    links = links_of("http://site.test/sitemap.xml", 200, {"content-type": "application/xml"}, body).links
    assert {link.url.rpartition("/")[2]: link.changed for link in links} == expected


def test_a_list_whose_entries_do_not_end_dates_each_link_once() -> None:
    links = b"".join(b"<loc>http://site.test/%d</loc>" % number for number in range(5000))
    ends = b"<lastmod>2024-05-02</lastmod></url>" * 100_000
    body = b"<urlset>" + b"<url>" * 100_000 + links + ends + b"</urlset>"
    began = time.process_time()
    found = links_of("http://site.test/sitemap.xml", 200, {"content-type": "application/xml"}, body).links
    assert time.process_time() - began < 20
    assert len(found) == 5000


def test_xml_that_declares_entities_gives_nothing() -> None:
    bomb = b'<!DOCTYPE urlset [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><urlset><loc>http://x.test/&b;</loc></urlset>'

    assert found(bomb, {"content-type": "application/xml"}, url="http://site.test/sitemap.xml") == []


def test_a_sitemap_with_defaults_for_attributes_gives_nothing() -> None:
    """T2: each element would bring the default with it, a thousand times its own size."""
    head = b'<!DOCTYPE urlset [<!ATTLIST loc a CDATA "aaaaaaaaaa">]>'
    body = head + b"<urlset><loc>http://site.test/a</loc></urlset>"

    assert found(body, {"content-type": "application/xml"}, url="http://site.test/sitemap.xml") == []


def test_images_that_are_written_out_keep_no_link_from_being_found() -> None:
    html = f"<img src='data:image/png;base64,{'A' * 20_000}'>" * 600 + "<a href=/last>"

    assert found(html) == [("http://site.test/last", "L", "a/@href")]


def test_links_beyond_the_bound_are_dropped_and_counted() -> None:
    html = "".join(f"<a href=/{number}>" for number in range(MAX_LINKS + 5))

    result = links_of(PAGE, 200, HTML, html.encode())

    assert len(result.links) == MAX_LINKS
    assert result.annotations == ("links-dropped:5",)


URLS = "http://site.test/1\r\nhttp://site.test/2\r\n"
LISTED = {"http://site.test/1", "http://site.test/2"}
URLSET = "<urlset><url><loc>/1</loc></url><url><loc>http://site.test/2</loc></url></urlset>"


@pytest.mark.parametrize(
    "body",
    [
        URLS,
        URLS.encode("utf-16"),
        b"\xef\xbb\xbf" + URLS.encode(),
        gzip.compress(URLS.encode()),
        URLSET,
        f"<?xml version='1.0'?><!-- made by hand --><?xml-model href='x'?>{URLSET}",
        f"<?xml version='1.0' encoding='utf-16'?>{URLSET}".encode("utf-16"),
        f"<?xml version='1.0' encoding='x-nothing'?>{URLSET}",
        gzip.compress(URLSET.encode()),
        gzip.compress(URLSET[:40].encode()) + gzip.compress(URLSET[40:].encode()),
        "<rss version='2.0'><channel><item><link>/1</link></item><item><link>/2</link></item></channel></rss>",
        "<a:feed xmlns:a='http://www.w3.org/2005/Atom'><a:link href='/1'/><a:link href='/2'/></a:feed>",
        "<html><body><a href=/1>1</a><a href=/2>2</a></body></html>",
    ],
)
def test_what_a_robots_or_an_index_names_is_read_by_its_content(body: bytes | str) -> None:
    data, url = body.encode() if isinstance(body, str) else body, "http://site.test/list.php?n=1"
    for content_type in ("text/html", "text/plain", "application/x-gzip", "image/png", "", "junk"):
        if data.startswith(b"<html>") and content_type not in ("text/html", ""):
            continue  # a page is one for browsers only by its type
        if data.startswith(b"\x1f\x8b") and content_type == "text/html":
            continue
        links = links_of(url, 200, {"content-type": content_type}, data, hop_path="PMR").links
        assert {link.url for link in links} == LISTED, content_type


def test_a_bomb_in_a_sitemap_is_stopped() -> None:
    bomb = gzip.compress(gzip.compress(bytes(50_000_000)))
    result = links_of("http://site.test/s.gz", 200, {"content-encoding": "gzip"}, bomb, hop_path="M")
    assert result == Links((), ("body-capped",))


@pytest.mark.parametrize(
    ("url", "content_type", "body", "expected"),
    [
        ("/list", "video/mp4", "#EXTM3U\nv.m3u8\n", ["v.m3u8"]),
        ("/style.css", "application/octet-stream", "@import 'x.css';", ["x.css"]),
        ("/style.css", "text/plain", "a{background:url(i.png)}", ["i.png"]),
        ("/style.css", "text/html", "<a href=/missing>", ["missing"]),
        ("/site.webmanifest", "text/plain", '{"icons":[{"src":"i.png"}]}', ["i.png"]),
        ("/manifest.json", "application/json", '{"icons":[{"src":"i.png"}]}', ["i.png"]),
        ("/feed", "text/html", "<rss><channel><link>/home</link></channel></rss>", ["home"]),
        ("/page", "text/plain", "<html><a href=/x>", []),
        ("/page", "application/octet-stream", "<html><a href=/x>", []),
        ("/page", "unknown/unknown", "<html><a href=/x>", ["x"]),
        ("/x", "application/xml", "<html><script src='a.js'/><img src='b'/></html>", ["a.js", "b"]),
    ],
)
def test_all_but_pages_is_known_by_its_content(url: str, content_type: str, body: str, expected: list[str]) -> None:
    links = found(body, {"content-type": content_type}, url=f"http://site.test{url}")
    assert [link[0] for link in links] == [f"http://site.test/{name}" for name in expected]


def test_the_parts_of_xslt_are_found_in_linear_time() -> None:
    xslt = "xmlns:xsl='http://www.w3.org/1999/XSL/Transform'"
    style = f"""<!DOCTYPE xsl:stylesheet [<!ENTITY nbsp "&#160;">]><xsl:stylesheet {xslt}><xsl:import href='a.xsl'/>
<!-- <xsl:include href='no.xsl'/> --><xsl:variable name='v' select='document("b.xml")|document(&quot;c.xml&quot;)'/>
<xsl:template match='/'><img src='/d.png'/><img src='{{$e}}.png'/><a href='/f'/></xsl:template></xsl:stylesheet>"""
    links = found(style, {"content-type": "text/xml"}, url="http://site.test/s.xsl")
    assert [link[0].rpartition("/")[2] for link in links] == ["a.xsl", "b.xml", "c.xml", "d.png"]
    worst = "<?xml-stylesheet href=" * 50_000 + f"<xsl:stylesheet {xslt}>" + "<xsl:import document(" * 200_000
    assert found(worst, {"content-type": "text/xml"}) == []


def test_the_body_of_a_redirect_gives_no_links() -> None:
    body = "<a href=/other>here</a>"
    assert found(body, HTML | {"location": "/to"}, status=302) == [("http://site.test/to", "R", "header:location")]
    assert found(body, HTML, status=302) == [("http://site.test/other", "L", "a/@href")]
    assert len(found(body, HTML | {"location": "/to"}, status=300)) == 2


@pytest.mark.parametrize("content_type", ["image/png", "application/pdf", "text/plain", "application/json"])
def test_other_documents_are_not_searched(content_type: str) -> None:
    assert found(b"<a href=/x>", {"content-type": content_type}) == []


def test_a_page_without_a_type_is_searched_when_it_looks_like_one() -> None:
    assert found(b" \n<html><a href=/x>", {}) == [("http://site.test/x", "L", "a/@href")]
    assert found(b"plain <a href=/x>", {}) == []


@pytest.mark.parametrize(
    ("url", "content_type", "expected"),
    [
        (PAGE, "text/html", True),
        (PAGE, "Text/HTML; charset=x", True),
        (PAGE, "", True),
        (PAGE, "image/png", False),
        ("http://site.test/sitemap.xml.gz", "application/x-gzip", True),
        ("http://site.test/big.iso", "application/octet-stream", False),
    ],
)
def test_bodies_that_can_have_no_links_are_not_kept(url: str, content_type: str, expected: bool) -> None:
    assert may_have_links(url, {"content-type": content_type}) is expected


def test_media_type_is_bare_and_lower_case() -> None:
    assert media_type(" Text/HTML ; charset=utf-8") == "text/html"


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("text/html, text/html", "text/html"),
        ("text/html; charset=utf-8, text/html", "text/html"),
        ("text/plain, text/html; charset=utf-8", "text/html"),
        ("text/html, */*", "text/html"),
        ("text/html,", "text/html"),
        ("text/html, gzip", "text/html"),
        ('multipart/related; boundary="a,b/c"', "multipart/related"),
        ("*/*", "*/*"),
        ("html", "html"),
    ],
)
def test_the_last_type_of_a_repeated_content_type_counts(content_type: str, expected: str) -> None:
    """These are the rules of the Fetch Standard."""
    assert media_type(content_type) == expected


@pytest.mark.parametrize(
    "content_type",
    [
        "text/html, text/html; charset=koi8-r",
        "text/html; charset=utf-8, text/html; charset=koi8-r",
        "text/html; charset=koi8-r, text/html",
        "text/html; charset=koi8-r; charset=utf-8",
    ],
)
def test_a_page_with_a_repeated_content_type_is_searched_in_its_encoding(content_type: str) -> None:
    body = "<a href='/?ж'>".encode("koi8-r")
    assert found(body, {"content-type": content_type}) == [("http://site.test/?%D6", "L", "a/@href")]


KINDS = ("text/html", "text/css", "application/xml", "text/plain", "", "x", "application/json", "text/javascript")
KINDS += ("application/ld+json", "application/dash+xml", "application/pdf")


@given(st.binary(max_size=400), st.sampled_from(KINDS))
def test_junk_never_fails(body: bytes, content_type: str) -> None:
    for url in (PAGE, "http://site.test/robots.txt", "http://site.test/sitemap.xml.gz"):
        assert isinstance(links_of(url, 200, {"content-type": content_type}, body), Links)


PIECES = (
    "/",
    "//",
    "http://",
    "https://",
    "HTTP:",
    "a",
    ".",
    "..",
    "?",
    "#",
    ";",
    ":",
    "b.test",
    "%2e",
    "@",
    "[",
    "x=1",
    " ",
)


@given(st.lists(st.sampled_from(PIECES), max_size=7).map("".join), st.sampled_from([PAGE, "https://o.test:81/?a/b"]))
def test_references_are_joined_to_their_base_as_ever(reference: str, base: str) -> None:
    def canonical_or_none(url: str) -> str | None:
        try:
            return canonical(url)
        except UrlError:
            return None

    try:
        expected = canonical_or_none(urljoin(base, reference))
    except ValueError:
        return
    assert canonical_or_none(_joined(base, reference)) == expected


@given(st.text(max_size=60))
def test_any_reference_gives_a_link_or_nothing(reference: str) -> None:
    attribute = reference.replace("&", "&amp;").replace('"', "&quot;")
    for encoding in ("utf-8", "shift_jis", "windows-1251"):
        body = f'<a href="{attribute}">'.encode(encoding, "xmlcharrefreplace")
        for url, _, _ in found(body, {"content-type": f"text/html; charset={encoding}"}):
            assert url.startswith(("http://", "https://"))
            assert url.isascii()
