"""Our SURT keys beside those of the package `surt`, which other archives use. It runs in a Python of its own."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from archive.url import canonical
from bench.peers.peer import PeerUnavailable, install
from frontier.definition.job import SeenRules
from frontier.definition.rules.surts import coerced
from frontier.seen import compared_form

pytestmark = pytest.mark.timeout(600)  # the package may have to be installed first

PROGRAM = "import json, sys, surt\nfor line in sys.stdin: print(json.dumps(surt.surt(json.loads(line))))\n"
ALL_RULES = SeenRules(lowercase="on", www="on", scheme="on", extra_slashes="on", fix_query="on")
"""With these rules of a profile, the seen test compares nearly what the package makes."""

DIFFERENT = {
    # Case of the path, order of the query and slashes tell URLs apart for us: replay must find each of them.
    "http://www.example.org/Goo/?a=2&b&a=1": ("org,example)/Goo/?a=2&b&a=1", "org,example)/goo?a=1&a=2&b"),
    "http://example.org/a//b": ("org,example)/a//b", "org,example)/a/b"),
    "http://example.org/a/": ("org,example)/a/", "org,example)/a"),
    "http://example.org/a?": ("org,example)/a?", "org,example)/a"),
    # Escaped reserved characters are not the characters themselves (RFC 3986, 2.2).
    "http://example.org/a%2fb": ("org,example)/a%2Fb", "org,example)/a/b"),
    "http://example.org/a?b=%26c": ("org,example)/a?b=%26c", "org,example)/a?b=&c"),
    # Session ids are left out by the seen test alone.
    "http://example.org/a?sid=9682993c8daa2c5497996114facdc805&x=1": (
        "org,example)/a?sid=9682993c8daa2c5497996114facdc805&x=1",
        "org,example)/a?x=1",
    ),
    # There is nothing above the root.
    "http://example.org/../a": ("org,example)/a", "org,example)/../a"),
    # The parts of an address are no labels.
    "http://192.0.2.1/a": ("192.0.2.1)/a", "1,2,0,192)/a"),
    "http://[::1]/a": ("[::1])/a", "::1)/a"),
}
"""URLs whose keys differ on purpose: ours without `www.`, and that of the package."""


@pytest.fixture(scope="module")
def python() -> Path:
    """A Python that has the package."""
    try:
        return install("surt", "surt==0.3.1") / "python"
    except PeerUnavailable as error:
        pytest.skip(f"the package surt can't be installed here: {error}")


def keys_of(python: Path, urls: Sequence[str]) -> list[str]:
    done = subprocess.run(
        [python, "-c", PROGRAM],
        input="".join(f"{json.dumps(url)}\n" for url in urls),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_keys_are_the_same_for_urls_in_plain_form(python: Path) -> None:
    draw = random.Random(9309)
    urls = [_url(draw) for _ in range(2_000)]
    assert [coerced(canonical(url)) for url in urls] == keys_of(python, urls)


def test_the_differences_are_known(python: Path) -> None:
    theirs = keys_of(python, list(DIFFERENT))
    assert {url: (coerced(canonical(url)), key) for url, key in zip(DIFFERENT, theirs, strict=True)} == DIFFERENT


def test_the_rules_of_the_seen_test_give_the_package_s_form_but_for_the_order_of_the_query(python: Path) -> None:
    urls = ["http://www.example.org/Goo/", "https://example.org/a//b/", "http://example.org/A/b?&C=d&", *DIFFERENT]
    wanted = [
        url for url in urls if not any(part in url for part in ("&b&a=1", "%2f", "%26", "..", "192.0.2.1", "[::1]"))
    ]
    ours = [compared_form(canonical(url), ALL_RULES).removeprefix("http ") for url in wanted]
    assert ours == keys_of(python, [url.replace("?&C=d&", "?C=d") for url in wanted])


def _url(draw: random.Random) -> str:
    """A URL as most are: path in lower case, the query in order, and odd hosts, ports and escapes."""
    host = ".".join(draw.choice(("a", "b-c", "x1", "news", "xn--bcher-kva")) for _ in range(draw.randint(1, 3)))
    host = f"{draw.choice(('', 'www.', 'www2.', 'WWW.'))}{host}.{draw.choice(('example', 'co.uk', 'EXAMPLE.org'))}"
    port = draw.choice(("", "", ":80", ":8080"))
    steps = [draw.choice(("a", "b.html", "c-d", "%7Ee", "f%20g", "h+i", "x;y", ".")) for _ in range(4)]
    path = "/".join([*steps[: draw.randint(0, 3)], "end"])
    query = "&".join(f"k{number}={draw.randrange(100)}" for number in range(draw.randint(0, 3)))
    user = draw.choice(("", "", "user:word@"))
    return f"http://{user}{host}{port}/{path}{f'?{query}' if query else ''}{draw.choice(('', '#part'))}"
