"""Which values of JSON are links."""

from __future__ import annotations

import pytest

from browsers.links.collector import MAX_LINKS
from browsers.links.documents import links_of, may_have_links

API = "https://api.test/v1/list"
PAGE = "https://site.test/dir/page.html"


def found(body: str, content_type: str = "application/json", url: str = API, **more: str) -> list[tuple[str, str, str]]:
    links = links_of(url, 200, {"content-type": content_type}, body.encode(), **more).links  # type: ignore[arg-type]
    return [(link.url, link.hop, link.context) for link in links]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('{"next": "https://site.test/2", "image": "/i.jpg"}', ["https://site.test/2", "https://api.test/i.jpg"]),
        ('["\\/aa\\/b", ["//cdn.test/c.js"]]', ["https://api.test/aa/b", "https://cdn.test/c.js"]),
        ('{"https://site.test/key": 1, "/key" : 2}', []),
        ('{"a": "text/html", "b": "1/2", "c": "and/or", "d": "see https://site.test/x", "e": "photo.jpg"}', []),
        ('{"a": "say \\"/no/b\\" ", "c": "\\"", "d": "/yes/d"}', ["https://api.test/yes/d"]),
        ('callback({"a": "/jsonp/x"});', ["https://api.test/jsonp/x"]),
        ('{"a": "/cut/off/', []),
        ('{"a": "/whole/x", "b": [[[', ["https://api.test/whole/x"]),
        ('{"a": "/one/x"}\n{"a": "/two/x"}\n', ["https://api.test/one/x", "https://api.test/two/x"]),
        ('{"$schema": "http://json-schema.org/draft-07/schema#"}', []),
    ],
)
def test_values_that_are_addresses_are_guesses(body: str, expected: list[str]) -> None:
    assert found(body) == [(url, "X", "json") for url in expected]


def test_json_that_a_page_loads_is_relative_to_the_page() -> None:
    assert found('["/aa/b"]', hop_path="LX", via=PAGE) == [("https://site.test/aa/b", "X", "json")]
    assert found('["/aa/b"]', hop_path="L", via=PAGE) == [("https://api.test/aa/b", "X", "json")]


@pytest.mark.parametrize(
    "kind", ["application/json; charset=utf-8", "text/json", "application/vnd.api+json", "text/plain"]
)
def test_json_is_known_by_its_type_or_name(kind: str) -> None:
    url = "https://api.test/x.json"
    assert [link[0] for link in found('["/aa/b"]', kind, url)] == ["https://api.test/aa/b"]
    assert may_have_links(url, {"content-type": kind})


def test_a_list_in_json_may_have_as_many_links_as_a_page() -> None:
    body = ",".join(f'"/article/{number}.html"' for number in range(MAX_LINKS + 3))
    result = links_of(API, 200, {"content-type": "application/json"}, body.encode())

    assert len(result.links) == MAX_LINKS
    assert result.annotations == ("links-dropped:3",)


def test_a_description_is_read_as_json_ld() -> None:
    body = '{"@type": "ImageObject", "contentUrl": "/p.jpg", "url": "/p.jpg", "license": "https://l.test/by"}'
    links = found(body, "application/ld+json")

    assert [(url, hop) for url, hop, _ in links] == [("https://api.test/p.jpg", "E"), ("https://l.test/by", "L")]


def test_without_guesses_json_and_scripts_are_not_kept() -> None:
    for kind in ("application/json", "text/javascript"):
        assert may_have_links(API, {"content-type": kind})
        assert not may_have_links(API, {"content-type": kind}, guesses=False)
    assert may_have_links(API, {"content-type": "application/ld+json"}, guesses=False)
