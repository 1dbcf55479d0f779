"""In or out: each rule with what it takes in, what it rejects, and the reason."""

from __future__ import annotations

import pytest

from frontier.definition.job import Job, Profile, ScopeKind
from frontier.definition.scope import Accepted, Candidate, Rejected, Scope, path_segments, repeats, surt_prefix

SEED = "http://www.example.org/a/b.html?x=1"


def scope(kind: ScopeKind = "host", *, seeds: tuple[str, ...] = (SEED,), **profile: object) -> Scope:
    return Scope(Job.of("j", "c", seeds, Profile.model_validate({"scope": kind, **profile})))


def link(url: str, hop_path: str = "L", **facts: object) -> Candidate:
    return Candidate(url, hop_path, depth=hop_path.count("L"), **facts)  # type: ignore[arg-type]


def reason(decision: Accepted | Rejected) -> str:
    return decision.reason if isinstance(decision, Rejected) else ""


@pytest.mark.parametrize(
    ("kind", "inside", "outside"),
    [
        ("page", ["https://example.org/a/b.html?x=1"], ["http://www.example.org/a/b.html", "http://www.example.org/"]),
        (
            "prefix",
            ["http://example.org/a/", "https://www.example.org/a/c/d?e", "http://www.example.org/a/b.html"],
            ["http://www.example.org/", "http://www.example.org/ab", "http://www.example.org/A/"],
        ),
        (
            "host",
            ["http://example.org/", "https://www.example.org/x", "https://www2.example.org/", "http://example.org:80/"],
            [
                "http://sub.example.org/",
                "http://example.org:8080/",
                "http://example.com/",
                "http://example.org.evil.com/",
            ],
        ),
        (
            "domain",
            ["http://sub.example.org/", "https://a.b.example.org:8443/x", "http://example.org/"],
            ["http://anexample.org/", "http://example.com/", "http://org/"],
        ),
        ("any", ["http://anything.example/x"], []),
    ],
)
def test_each_scope_takes_in_what_its_seed_spans(kind: ScopeKind, inside: list[str], outside: list[str]) -> None:
    rules = scope(kind)
    for url in inside:
        assert isinstance(rules.decide(link(url)), Accepted), url
    for url in outside:
        assert reason(rules.decide(link(url))) == "scope", url


@pytest.mark.parametrize(
    ("url", "kind", "prefix"),
    [
        ("http://www.example.co.uk/a/b", "domain", "uk,co,example"),
        ("http://someone.github.io/x", "domain", "io,github,someone"),
        ("http://127.0.0.1:8000/x", "domain", "127.0.0.1"),
        ("http://localhost:8000/x", "domain", "localhost"),
        ("http://[::1]:8000/x", "domain", "[::1]"),
        ("http://127.0.0.1:8000/x/y", "host", "127.0.0.1:8000)"),
        ("http://www.com/", "host", "com,www)"),
        ("http://www.example.org/a/b?c=/d", "prefix", "org,example)/a/"),
        ("http://example.org", "prefix", "org,example)/"),
    ],
)
def test_the_surt_prefix_of_a_seed(url: str, kind: ScopeKind, prefix: str) -> None:
    [seed] = Job.of("j", "c", [url]).seeds
    assert surt_prefix(seed.url, kind) == prefix


def test_an_accepted_candidate_is_canonical_and_names_the_rule() -> None:
    decision = scope("host").decide(link("HTTPS://Example.org:443/a/../x#y"))
    assert isinstance(decision, Accepted)
    assert decision.candidate.url == "https://example.org/x"
    assert decision.rule == "host org,example)"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("mailto:a@example.org", "scheme"),
        ("javascript:void(0)", "scheme"),
        ("data:text/plain,x", "scheme"),
        ("ftp://example.org/x", "scheme"),
        ("http://", "no-url"),
        ("http://exa mple.org/", "no-url"),
        ("/relative", "no-url"),
        ("", "no-url"),
        ("http://example.org/" + "x" * 5000, "too-long"),
        ("http://example.org/" + "x" * 2_000_000, "no-url"),
        ("http://example.org/" + "/".join(f"d{number}" for number in range(21)), "deep-path"),
        ("http://example.org/a/a/a/", "repeating-path"),
        ("http://example.org/x/a/b/a/b/a/b/y", "repeating-path"),
        ("http://example.org/search?session=1", "excluded"),
    ],
)
def test_what_is_rejected_whoever_asks(url: str, expected: str) -> None:
    rules = scope("any", exclude=(r"/search\?",))
    decision = rules.decide(Candidate(url, is_seed=True))
    assert reason(decision) == expected
    assert isinstance(decision, Rejected)
    assert decision.rule


@pytest.mark.parametrize(
    "path", ["/a/a/", "/a/b/a/b/", "/2011/11/11/", "/a/ab/abc", "/" + "/".join("abcdefghijklmnopqrst")]
)
def test_honest_paths_are_no_traps(path: str) -> None:
    assert isinstance(scope("any").decide(link("http://example.org" + path)), Accepted)


@pytest.mark.parametrize(
    ("path", "expected"), [("/", 1), ("/a", 1), ("/a/a", 2), ("/a/b/a/b/a/b/c", 3), ("/a//a", 1), ("/x/x/x/x", 4)]
)
def test_repeats_are_counted_for_runs_of_segments(path: str, expected: int) -> None:
    assert repeats(path_segments("http://example.org" + path)) == expected


@pytest.mark.parametrize(("hops", "inside"), [(None, True), (2, True), (1, False), (0, False)])
def test_links_are_followed_so_many_hops_and_no_further(hops: int | None, inside: bool) -> None:
    decision = scope("host", hops=hops).decide(link("http://example.org/x", "LEL"))
    assert isinstance(decision, Accepted) is inside
    if not inside:
        assert isinstance(decision, Rejected)
        assert (decision.reason, decision.rule) == ("hops", f"hops {hops}")


@pytest.mark.parametrize(
    ("hop_path", "inside"),
    [
        ("E", True),
        ("LE", True),
        ("LEE", True),
        ("LEEE", False),
        ("LX", True),
        ("LXX", False),
        ("LEX", True),
        ("LER", True),
        ("LR", True),
        ("LRRRRRR", False),
        ("EEL", False),
        ("L", False),
        ("", False),
        ("EP", False),
    ],
)
def test_embeds_out_of_scope_are_taken_in_so_far(hop_path: str, inside: bool) -> None:
    decision = scope("page").decide(link("http://cdn.example.net/style.css", hop_path))
    assert isinstance(decision, Accepted) is inside


def test_embeds_do_not_count_as_hops() -> None:
    assert isinstance(scope("page", hops=0).decide(link("http://cdn.example.net/a.png", "E")), Accepted)


def test_a_pattern_can_take_in_what_lies_outside() -> None:
    rules = scope("host", include=(r"^https://cdn\.example\.net/docs/",))
    decision = rules.decide(link("https://cdn.example.net/docs/a.pdf"))
    assert isinstance(decision, Accepted)
    assert decision.rule.startswith("include ")


def test_where_a_seed_redirects_to_widens_the_scope() -> None:
    rules = scope("host")
    assert reason(rules.decide(link("http://example.com/x"))) == "scope"
    rules.widen(["http://www.example.com/"])
    assert isinstance(rules.decide(link("http://example.com/x")), Accepted)
    assert isinstance(rules.decide(link("http://example.org/x")), Accepted)
