"""References that were resolved before give the same URLs as those that are resolved for the first time."""

from __future__ import annotations

import itertools

import pytest

from browsers.links.collector import LinkCollector

BASES = (
    *("http://example.org/", "https://example.org/a/b.html?c=/d", "http://example.org:8080/a", "http://example.com/"),
    *("http://h", "urn:x:y", "http://h/", ""),
)
REFERENCES = (
    *("/a", "/a?b#c", "//other.example/a", "/\\other.example/a", "///x", "/ a", "/a b", "/../a", "/;a", "/?", "/é"),
    *("http://h/a", "http://h /a", "http://h", "https://h/a", "http:/a", "http:a", "HTTP://H/a", "http://u:p@h/"),
    *("http://h:0/", "http://", "http://?a", "a", "?a", "", " /a", " http: //h /a", "javascript:1", "/" + "x" * 600),
)


@pytest.mark.parametrize("round", [1, 2])
def test_a_reference_gives_the_same_url_each_time(round: int) -> None:
    for base, reference in itertools.product(BASES, REFERENCES):
        collector = LinkCollector(base)
        alone = collector._resolved(reference, collector.base)
        for _ in range(round):
            assert collector.resolve(reference) == alone, (base, reference)


def test_a_reference_longer_than_any_url_is_counted() -> None:
    collector = LinkCollector("http://example.org/")
    for reference in ("/" + "x" * 65_536, "data:image/png;base64," + "A" * 65_536):
        collector.add(reference, "L", "a/@href")
    assert (collector.count, collector.annotations) == (0, ("links-dropped:1",))


def test_a_reference_follows_the_base_of_its_document() -> None:
    collector = LinkCollector("http://example.org/a/")
    assert collector.resolve("/x") == "http://example.org/x"
    collector.rebase("http://example.com/")
    assert collector.resolve("/x") == "http://example.com/x"
    collector.rebase("https://example.com/")
    assert (collector.resolve("/x"), collector.resolve("//a.example/")) == (
        "https://example.com/x",
        "https://a.example/",
    )
