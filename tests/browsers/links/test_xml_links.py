"""Which guesses XML of an unknown kind gives."""

from __future__ import annotations

import pytest

from browsers.links.documents import links_of

URL = "https://site.test/data/list.xml"


def found(body: str, content_type: str = "application/xml", *, guesses: bool = True) -> list[str]:
    links = links_of(URL, 200, {"content-type": content_type}, body.encode(), guesses=guesses).links
    assert {link.hop for link in links} <= {"X"}
    return [f"{link.url.removeprefix('https://site.test')} {link.context}" for link in links]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<list><item href='/a/page.html'/></list>", ["/a/page.html item/@href"]),
        ("<list><picture src='img/1.jpg'/></list>", ["/data/img/1.jpg picture/@src"]),
        ("<list><x:track x:url='https://site.test/t?a=1&amp;b=2'/></list>", ["/t?a=1&b=2 track/@x:url"]),
        ("<list><item other='https://site.test/o'/></list>", ["/o item/@other"]),
        ("<list><item other='/path/only'/></list>", []),
        ("<list><url> https://site.test/u?a=1&amp;b=2 </url></list>", ["/u?a=1&b=2 url/text()"]),
        ("<list><url><![CDATA[ https://site.test/c ]]></url></list>", ["/c url/text()"]),
        ("<list><p>see https://site.test/no</p><p>https://site.test/no and more</p></list>", []),
        ("<list xmlns='http://site.test/ns' xsi:schemaLocation='http://site.test/s http://site.test/t'/>", []),
        ("<wsdl targetNamespace='http://site.test/ns'><a href='http://www.w3.org/2000/svg'/></wsdl>", []),
        ("<list><item href='/cut/page.html'/><item href='/no", ["/cut/page.html item/@href"]),
    ],
)
def test_addresses_in_xml_are_guesses(body: str, expected: list[str]) -> None:
    assert found(body) == expected
    assert found(body, "application/vnd.own+xml") == expected
    assert found(body, guesses=False) == []


def test_entities_are_not_expanded() -> None:
    bomb = (
        '<!DOCTYPE a [<!ENTITY a "https://site.test/aaaaaa"><!ENTITY b "&a;&a;&a;">]><a><u>&b;</u><i href="&b;"/></a>'
    )

    assert found(bomb) == []
