"""Which texts of scripts are taken for URLs, and which are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from browsers.links.documents import links_of
from browsers.links.guesses import likely

SCRIPT = "https://cdn.test/lib/app.js"
PAGE = "https://site.test/dir/page.html"
JS = {"content-type": "text/javascript"}


def found(script: str, **more: str) -> list[str]:
    """The URLs of a script that the page loads, without the site."""
    options = {"hop_path": "LE", "via": PAGE, **more}
    links = links_of(SCRIPT, 200, JS, script.encode(), **options).links  # type: ignore[arg-type]
    assert {(link.hop, link.context) for link in links} <= {("X", "js")}
    return [link.url.removeprefix("https://site.test") for link in links]


@pytest.mark.parametrize(
    "text",
    [
        "https://site.test/a",
        "http://10.0.0.1:8080/a?b=c#d",
        "//cdn.test/lib.js",
        "www.site.test/a",
        "/photos",
        "/photos/",
        "/photos/2024",
        "/ab/b.c/d?e=f",
        "/de",
        "/wp-admin/admin-ajax.php",
        "/.well-known/x",
        "/a%20b/caf%C3%A9",
        "/caf\u00e9/menu",
        "photo.jpg",
        "./menu.css",
        "../../photos/a.webp",
        "photos/index.html",
        "page.php?id=3&x=y#z",
        "app.min.js",
        "https%3A%2F%2Fsite.test%2Fa",
        r"https:\/\/site.test\/a",
        r"\/photos\/a",
        r"\u002Fphotos\u002Fa.png",
        r"\x2fphotos\x2fa.png",
        "/ab?b=1&amp;c=2",
    ],
)
def test_texts_in_the_form_of_a_url_are_guesses(text: str) -> None:
    assert likely(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        *("text/html", "image/png", "application/json", "video/mp4", "audio/x-wav", "multipart/form-data"),
        *("1.5", "11.2px", "16/9", "2024/05/06", "1.0.0", "rectangle.x", "width:6.33", "div.menu", "a.help", ".jpg"),
        *("and/or", "Node.js", "Vue.js", "object.property", "this.value", "e.target", "jquery.ui", "foo.bar.baz"),
        *(
            "/",
            "//",
            "/a",
            "/g",
            "./",
            "../",
            "...",
            "/*",
            "*/",
            "/>",
            "</p>",
            "//comment",
            "// x.y",
            "://",
            "/user/:id",
        ),
        *("http://", "https://x", "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink", "https://schema.org/x"),
        *("https://site.test/?q=", "https://site.test/{id}", "/api/${id}", "/search?q=", "/a//b", "mailto:a@b.test"),
        *("./node_modules/x/index.js", "./utils", "lodash/fp", "@scope/package", "Europe/Berlin", "dd/mm/yyyy"),
        *("h:mm:ss.SSS", "#/route", "?page=2", "javascript:void(0)", "data:image/png;base64,AA/=", "file.unknown"),
        *(
            r"\\d+/\\d+",
            r"[a-z]/i",
            "/files/%s.zip",
            "/.git",
            "/home/.env",
            "ui/core/button",
            "$1.html|x",
            "a\u00a0b.html",
        ),
    ],
)
def test_other_texts_are_none(text: str) -> None:
    assert likely(text) is None


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("get('/aa/b'); get(\"/cc/d\"); get(`/ee/f`)", ["/aa/b", "/cc/d", "/ee/f"]),
        ("x = '/part/' + id; y = '/whole/page'", ["/whole/page"]),
        ("x = root + '/deep/path'; y = root + '/one'; z = root + 'file.png'", ["/deep/path"]),
        ("m = {'./af': 1, \"a/b.js\": 2, '/about': 3, c: 'd.html'}", ["/about", "/dir/d.html"]),
        ("x = is ? 'yes.html' : 'no.html'", ["/dir/yes.html", "/dir/no.html"]),
        ("document.write('<img src=\"/in/string.png\">')", ["/in/string.png"]),
        ('document.write("<img src=\\"/in/string.png\\">")', ["/in/string.png"]),
        ('x = "\\u003cimg src=\\u0022/in/string.png\\u0022\\u003e"', ["/in/string.png"]),
        ("// don't\nx = '/after/apostrophe'", ["/after/apostrophe"]),
        ('s = "https:\\/\\/site.test\\/escaped"', ["/escaped"]),
        ("x = require('./in-bundle.js'); require(['amd/module.js'])", ["/dir/amd/module.js"]),
        ("t = `/user/${id}/page`", []),
        ("import a from './a.js'; import('../b.mjs'); load('c.js')", [
            "https://cdn.test/lib/a.js", "https://cdn.test/b.mjs", "/dir/c.js",
        ]),
        ("import{x}from\"./chunk.js\";export*from'/m.js'", [
            "https://cdn.test/lib/chunk.js", "https://cdn.test/m.js",
        ]),
    ],
)  # fmt: skip
def test_scripts_give_whole_texts(script: str, expected: list[str]) -> None:
    assert found(script) == expected


def test_texts_are_relative_to_the_page_that_loads_the_script() -> None:
    """As in Heritrix; a script that a reader opens is its own page."""
    assert found("x='a.png'", hop_path="LER") == ["/dir/a.png"]
    assert found("x='a.png'", hop_path="L") == ["https://cdn.test/lib/a.png"]


@pytest.mark.parametrize("content_type", ["application/javascript", "text/ecmascript", "application/x-javascript", ""])
def test_scripts_are_known_by_their_type_or_name(content_type: str) -> None:
    url = SCRIPT if not content_type else "https://cdn.test/run"
    links = links_of(url, 200, {"content-type": content_type}, b"go('/x/y.html')").links

    assert [link.url for link in links] == ["https://cdn.test/x/y.html"]


@given(st.text(max_size=300))
def test_any_script_ends(script: str) -> None:
    for url in found(script):
        assert url


@pytest.mark.parametrize(
    ("hop_path", "expected"), [("L", True), ("XL", True), ("LE", True), ("X", False), ("LXR", False), ("LXE", False)]
)
def test_a_page_to_which_a_guess_leads_gives_no_guesses(hop_path: str, expected: bool) -> None:
    html = b"<script>go('/next.html')</script><a href=/link>"
    links = links_of(PAGE, 200, {"content-type": "text/html"}, html, hop_path=hop_path).links

    assert [link.hop for link in links] == (["L", "X"] if expected else ["L"])
    assert len(found("go('/next.html')", hop_path=hop_path)) == 1  # a script does
