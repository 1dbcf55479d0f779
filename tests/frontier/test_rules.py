"""Decide rules: how each reads, what it applies to, and which of several counts."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from frontier.definition.job import Job, Profile
from frontier.definition.rules import list_files
from frontier.definition.rules.chain import RuleChain, parse_rule
from frontier.definition.rules.kinds import RULE_KINDS, FetchedAnswer, KnownFacts
from frontier.definition.rules.pattern_index import PatternIndex, is_plainly_valid, required_texts
from frontier.definition.rules.url_patterns import UrlPattern, UrlPatterns
from frontier.definition.scope import Accepted, Candidate, Rejected, Scope

SEED = "http://www.example.org/"


def scope(*rules: str, **profile: object) -> Scope:
    return Scope(Job.of("j", "c", [SEED], Profile.model_validate({"rules": rules, **profile})))


def link(url: str, hop_path: str = "L", **facts: object) -> Candidate:
    return Candidate(url, hop_path, depth=hop_path.count("L"), **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rule", "applies", "passes"),
    [
        ("All", [SEED], []),
        ("SurtPrefixed http://(org,example,)/a", ["https://www.example.org/ab"], ["http://example.org/b"]),
        ("SurtPrefixed +http://(org,example,", ["http://sub.example.org/x"], ["http://examples.org/"]),
        ("SurtPrefixed example.org -example.org/private/", ["http://example.org/"], ["http://example.org/private/x"]),
        ("NotSurtPrefixed org,example)/", ["http://sub.example.org/"], ["http://www.example.org/x"]),
        ("MatchesRegex http://[^/]*/a/.*", ["http://example.org/a/b"], ["http://example.org/x/a/b"]),
        ("MatchesRegex .*/a", ["http://example.org/a"], ["http://example.org/ab"]),
        ("NotMatchesRegex .*\\.org/.*", ["http://example.com/"], ["http://example.org/"]),
        ("MatchesFilePattern IMAGES", ["http://example.org/a.PNG?x=1"], ["http://example.org/png", SEED]),
        ("TooManyPathSegments 2", ["http://example.org/a/b/c"], ["http://example.org/a/b/"]),
        ("PathologicalPath 2", ["http://example.org/a/a/a/"], ["http://example.org/a/a/"]),
        ("SchemeNotInSet https", ["http://example.org/"], ["https://example.org/"]),
        ("OnDomains example.org", ["http://a.example.org:81/"], ["http://example.com/"]),
        ("NotOnDomains example.org example.com", ["http://example.net/"], ["http://a.example.com/"]),
        ("OnHosts example.org", ["https://www.example.org/"], ["http://a.example.org/"]),
        ("NotOnHosts example.org", ["http://a.example.org/"], ["http://example.org/x"]),
    ],
)
def test_a_rule_applies_to_urls(rule: str, applies: list[str], passes: list[str]) -> None:
    chain = RuleChain([f"REJECT {rule}"])
    assert [chain.decide(link(url)) is not None for url in applies] == [True] * len(applies)
    assert [chain.decide(link(url)) is not None for url in passes] == [False] * len(passes)


@pytest.mark.parametrize(
    ("rule", "facts", "applies"),
    [
        ("TooManyHops 2", {"hop_path": "LEE"}, True),
        ("TooManyHops 2", {"hop_path": "LE"}, False),
        ("TooManyHops 60", {"hop_path": "11+" + "L" * 50}, True),
        ("HopsPathMatchesRegex .*RRR", {"hop_path": "LRRR"}, True),
        ("HopsPathMatchesRegex RRR", {"hop_path": "LRRR"}, False),
        ("Transclusion trans=2 spec=1", {"hop_path": "LEE"}, True),
        ("Transclusion trans=2 spec=1", {"hop_path": "LEEE"}, False),
        ("Transclusion trans=2 spec=1", {"hop_path": "LERRRE"}, True),
        ("Transclusion", {"hop_path": "LXX"}, False),
        ("Transclusion", {"hop_path": "L"}, False),
        ("PrerequisiteAccept", {"hop_path": "LP"}, True),
        ("PrerequisiteAccept", {"hop_path": "LPL"}, False),
        ("HasVia", {"via": "http://example.com/"}, True),
        ("HasVia", {}, False),
        ("HasViaRegex .*\\.com/", {"via": "http://example.com/"}, True),
        ("ViaSurtPrefixed example.com", {"via": "http://a.example.com/"}, True),
        ("ViaSurtPrefixed example.com", {}, False),
        ("NotViaSurtPrefixed example.com", {"via": "http://example.org/"}, True),
        ("SourceSeed http://example.com", {"source": "http://example.com/"}, True),
        ("SourceSeed http://example.com", {"source": "http://example.org/"}, False),
        ("SeedAccept", {"is_seed": True}, True),
    ],
)
def test_a_rule_applies_to_the_origin_of_a_link(rule: str, facts: dict[str, object], applies: bool) -> None:
    given: dict[str, object] = {"hop_path": "L", **facts}
    found = RuleChain([f"ACCEPT {rule}DecideRule".replace(" ", " ")] if " " not in rule else [f"ACCEPT {rule}"])
    assert (found.decide(Candidate("http://example.net/", **given)) is not None) is applies  # type: ignore[arg-type]


def test_the_last_rule_that_decides_counts_and_is_named() -> None:
    rules = scope("REJECT MatchesRegex .*/a/.*", "ACCEPT MatchesRegex .*/a/b/.*", "REJECT OnDomains example.com")
    first = rules.decide(link("http://example.org/a/"))
    assert isinstance(first, Rejected)
    assert (first.reason, first.rule) == ("regex", "rule 1: REJECT MatchesRegex .*/a/.*")
    second = rules.decide(link("http://example.net/a/b/"))
    assert isinstance(second, Accepted)
    assert second.rule == "rule 2: ACCEPT MatchesRegex .*/a/b/.*"
    third = rules.decide(link("http://example.com/a/b/"))
    assert isinstance(third, Rejected)
    assert third.reason == "domain"


def test_rules_come_after_the_built_in_steps() -> None:
    rules = scope("ACCEPT All", exclude=(r"/print/",), hops=1)
    assert isinstance(rules.decide(link("http://example.net/print/a/a/a/a/", "LLL")), Accepted)


@pytest.mark.parametrize("url", ["mailto:a@example.org", "http://example.org/" + "x" * 5000])
def test_no_rule_takes_in_what_can_not_be_fetched(url: str) -> None:
    assert isinstance(scope("ACCEPT All").decide(link(url)), Rejected)


def test_no_rule_makes_a_chain_without_end_or_overrules_an_operator() -> None:
    rules = scope("ACCEPT All")
    chain = rules.decide(link("http://example.org/", "L" + "R" * 21))
    assert isinstance(chain, Rejected)
    assert chain.reason == "redirect-chain"
    rules.narrow(["/secret"])
    assert isinstance(rules.decide(link("http://example.org/secret")), Rejected)


def test_a_seed_stays_in_unless_a_rule_rejects_it() -> None:
    seed = Candidate(SEED, is_seed=True)
    assert isinstance(scope("REJECT MatchesRegex .*/x").decide(seed), Accepted)
    assert isinstance(scope("REJECT OnHosts example.org").decide(seed), Rejected)
    assert isinstance(scope("REJECT All", "ACCEPT SeedAccept").decide(seed), Accepted)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "neither ACCEPT nor REJECT"),
        ("REJECT", "names no rule"),
        ("REJECT MatchRegex x", "did you mean MatchesRegex?"),
        ("REJECT MatchesRegex", "there is no regular expression"),
        ("REJECT MatchesRegex (", "is not a regular expression"),
        ("REJECT TooManyHops many", "is no whole number"),
        ("REJECT All x", "has no argument"),
        ("REJECT Transclusion trans=x", "neither trans=N nor spec=N"),
        ("REJECT SurtPrefixed a b://", "is no SURT prefix"),
        ("REJECT MatchesFilePattern GAMES", "none of IMAGES"),
        ("REJECT IpAddressSet 10.0.0.0/99", "is no network"),
        ("REJECT IpAddressSet example.org", "is no address or network"),
        ("REJECT MatchesStatusCodeDecideRule 404", "has not two numbers"),
        ("REJECT FetchStatus 404 many", "is no status"),
        ("REJECT ResourceLongerThan -1", "is no number of bytes"),
        ("REJECT ResponseContentLength below=1", "neither from=N nor to=N"),
        ("REJECT IdenticalDigest", "none of them is queued again"),
        ("REJECT MatchesRegex " + "x" * 9000, "use at most 8,000"),
    ],
)
def test_a_line_that_is_no_rule_is_refused_with_the_remedy(line: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        Profile(rules=(line,))


def test_heritrix_names_and_other_names_are_read() -> None:
    for kind in RULE_KINDS:
        assert re.fullmatch(r"[a-z]+(?:-[a-z]+)*", kind.reason)
        for name in kind.other_names:
            assert name.isalnum()
    assert parse_rule("reject TooManyHopsDecideRule 3").text == "REJECT TooManyHops 3"
    assert parse_rule("ACCEPT TransclusionHops").kind.name == "Transclusion"


def test_the_steps_agree_with_the_decision() -> None:
    rules = scope(
        "REJECT MatchesRegex .*/b.*", "ACCEPT OnDomains example.com", "REJECT TooManyHops 3", exclude=("/x",), hops=2
    )
    made = random.Random(7)
    for _ in range(2000):
        host = made.choice(["example.org", "www.example.com", "example.net"])
        url = f"http://{host}/" + "/".join(made.choices("abx", k=made.randint(0, 5)))
        candidate = link(url, "".join(made.choices("LERX", k=made.randint(0, 5))), is_seed=made.random() < 0.1)
        decision = rules.decide(candidate)
        steps = list(rules.steps(candidate))
        deciding = [step for step in steps if not step.is_built_in and step.decision != "pass"][-1:] or [
            step for step in steps if step.is_built_in and step.decision != "pass"
        ]
        assert (deciding[0].decision == "accept") is isinstance(decision, Accepted)
        assert deciding[0].rule == decision.rule


def test_each_of_some_rules_is_shown_alone_and_many_are_shown_together() -> None:
    lines = [f"REJECT OnHosts a{number}.org" for number in range(600)]
    few = [step.decision for step in RuleChain(lines[:3]).steps(link("http://a1.org/"))]
    assert [found and found.number for found in few] == [None, 2, None]
    (step,) = RuleChain(lines).steps(link("http://a1.org/"))
    assert step.name == "rule 1: REJECT OnHosts a0.org (and 599 more)"
    assert step.decision is not None
    assert step.decision.rule == "rule 2: REJECT OnHosts a1.org: org,a1)"


def test_a_list_file_is_watched_and_a_broken_one_keeps_the_last_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_files, "CHECK_SECONDS", 0.0)
    file = tmp_path / "traps.txt"
    file.write_text("# traps\nexample.com\n")
    chain = RuleChain([f"REJECT SurtListFile {file}"])
    chain.load_files()
    assert chain.decide(link("http://a.example.com/")) is not None
    file.write_text("# another\nexample.net\n-http://example.net/good/\n")
    assert chain.decide(link("http://a.example.com/")) is None
    assert chain.decide(link("http://example.net/")) is not None
    assert chain.decide(link("http://example.net/good/x")) is None
    file.write_text("no surt at all\n")
    assert chain.decide(link("http://example.net/")) is not None
    assert "traps.txt line 1: 'no surt at all' is no SURT prefix" in chain.file_problems()[0]
    file.unlink()
    assert chain.decide(link("http://example.net/")) is not None
    assert "can't be read" in chain.file_problems()[0]


def test_lists_of_domains_and_of_expressions_stand_in_files(tmp_path: Path) -> None:
    domains, patterns = tmp_path / "domains.txt", tmp_path / "patterns.txt"
    domains.write_text("example.com\n\nexample.net\n")
    patterns.write_text(".*/calendar/.*\n.*\\?print=.*\n")
    chain = RuleChain([f"ACCEPT DomainListFile {domains}", f"REJECT MatchesListRegex {patterns}"])
    found = chain.decide(link("http://a.example.com/x?print=1"))
    assert found is not None
    assert found.rule.endswith("patterns.txt: .*\\?print=.*")
    accepted = chain.decide(link("http://www.example.net/"))
    assert accepted is not None
    assert accepted.decision == "ACCEPT"


def test_fifty_thousand_rules_are_looked_up_and_not_tried_one_by_one() -> None:
    surts = [f"REJECT SurtPrefixed http://(org,example{number},)/a/" for number in range(25_000)]
    patterns = [f"REJECT MatchesRegex .*/calendar{number}/.*" for number in range(25_000)]
    chain = RuleChain([*surts, *patterns])
    urls = [f"http://www.example{number}.org/a/b" for number in range(24_000, 24_200)]
    urls += [f"http://x.org/calendar{number}/1" for number in range(200)] + [f"http://y.org/{n}" for n in range(200)]
    found = [chain.decide(link(url)) for url in urls]
    assert [each.number if each else 0 for each in found[:2]] == [24_001, 24_002]
    assert found[200] is not None
    assert found[200].rule == "rule 25001: REJECT MatchesRegex .*/calendar0/.*"
    assert found[-1] is None
    index = PatternIndex([f".*/calendar{number}/.*" for number in range(25_000)])
    assert index.candidates("http://x.org/calendar777/1") == [777]
    assert index.candidates("http://x.org/calendar/1") == []


def test_a_pattern_that_blows_up_is_passed_over() -> None:
    rules = scope("REJECT MatchesRegex .*/(x+x+)+y.*\\.html")
    url = f"http://example.net/{'x' * 3_000}/y.html"
    for _ in range(4):
        decision = rules.decide(link(url))
        assert isinstance(decision, Rejected)
        assert decision.reason == "scope"
    assert rules.take_timeouts() > 0


def test_the_index_never_hides_a_match() -> None:
    made = random.Random(3)
    parts = ["a", "b", ".", "*", "+", "?", "\\.", "\\d", "[ab]", "(", "|", ")", "{2}", "^", "$", "abcd", "(?:", "[^c]"]
    letters = ["a", "b", "abcd", "1", ".", "A"]
    checked = 0
    for _ in range(30_000):
        text = "".join(made.choices(parts, k=made.randint(1, 8)))
        try:
            compiled = re.compile(text)
        except re.error:
            assert not is_plainly_valid(text)
            continue
        needed = required_texts(text)
        for url in ("".join(made.choices(letters, k=made.randint(0, 9))) for _ in range(4)):
            if needed is not None and compiled.search(url):
                assert any(each in url.lower() for each in needed), (text, url)
                checked += 1
    assert checked > 50
    for text in (r".*/(?:calendar|date)7/[0-9]+/.*", r"^/[^a-z]{2,}?(a|b\.)*\d$"):
        assert is_plainly_valid(text), "a profile may have 100,000 of them, and to compile one takes 0.3 ms"


def test_a_whole_pattern_matches_from_end_to_end() -> None:
    for text in (".*a", "a.*", ".*a|b.*", "(?i).*AB.*", ".*(a|b)c", ".*", "^ab$", ".*?b.*?", "a\\.*"):
        pattern = UrlPattern(text, whole=True)
        for url in ("", "a", "ab", "ba", "abc", "ac", "xacx", "b", "a..", "aB"):
            assert pattern.found_in(url) is (re.fullmatch(text, url) is not None), (text, url)


def test_a_long_list_finds_the_first_pattern() -> None:
    many = UrlPatterns([f"/trap{number}/" for number in range(500)])
    assert many.first_found("http://example.org/trap7/trap499/") == "/trap7/"
    assert many.first_found("http://example.org/") is None
    many.add(["example"])
    assert many.first_found("http://example.org/") == "example"


PAGE = FetchedAnswer(200, "text/html", 1000)


@pytest.mark.parametrize(
    ("rule", "applies", "passes"),
    [
        ("ContentTypeMatchesRegex video/.*", FetchedAnswer(200, "video/mp4", 1), PAGE),
        ("ContentTypeNotMatchesRegex text/.*", FetchedAnswer(200, "video/mp4", 1), PAGE),
        ("ContentTypeNotMatchesRegex text/.*", FetchedAnswer(200, "", 1), PAGE),
        ("FetchStatus 403 404", FetchedAnswer(404, "text/html", 1), PAGE),
        ("FetchStatus -2", FetchedAnswer(-2, "", 0), PAGE),
        ("MatchesStatusCode 400 599", FetchedAnswer(500, "text/html", 1), PAGE),
        ("NotMatchesStatusCode 200 299", FetchedAnswer(301, "text/html", 1), PAGE),
        ("FetchStatusMatches 5..", FetchedAnswer(503, "text/html", 1), PAGE),
        ("FetchStatusNotMatchesRegexDecideRule 2..", FetchedAnswer(404, "text/html", 1), PAGE),
        ("ContentLength 1000", FetchedAnswer(200, "text/html", 999), PAGE),
        ("ResponseContentLength from=10 to=999", FetchedAnswer(200, "text/html", 10), PAGE),
        ("ResponseContentLength to=999", FetchedAnswer(200, "text/html", 0), PAGE),
        ("ResourceNoLongerThan 999", FetchedAnswer(200, "text/html", 999), PAGE),
        ("ResourceLongerThan 1000", FetchedAnswer(200, "text/html", 1001), PAGE),
    ],
)
def test_a_rule_about_answers_waits_for_the_answer(rule: str, applies: FetchedAnswer, passes: FetchedAnswer) -> None:
    chain = RuleChain([f"REJECT {rule}"])
    assert chain.needs == {"answer"}
    assert chain.decide(link(SEED)) is None
    assert chain.decide(link(SEED), KnownFacts(answer=passes)) is None
    found = chain.decide(link(SEED), KnownFacts(answer=applies))
    assert found is not None
    assert (found.decision, found.needs) == ("REJECT", "answer")


@pytest.mark.parametrize("address", ["192.0.2.9", "::ffff:192.0.2.9", "2001:db8::1", "198.51.100.7"])
def test_a_rule_about_addresses_has_networks(address: str) -> None:
    chain = RuleChain(["REJECT IpAddressSetDecideRule 192.0.2.0/24 2001:db8::/32 198.51.100.7"])
    assert chain.decide(link(SEED), KnownFacts(addresses=(address,))) is not None
    assert chain.decide(link(SEED), KnownFacts(addresses=("203.0.113.5",))) is None
    assert chain.decide(link(SEED), KnownFacts(addresses=())) is None
    assert chain.decide(link(SEED)) is None


def test_the_last_rule_that_decides_counts_after_the_answer_too() -> None:
    lines = ("REJECT ContentTypeMatchesRegex video/.*", "REJECT ResourceLongerThan 10", "ACCEPT MatchesRegex .*keep.*")
    rules = scope(*lines)
    video = KnownFacts(answer=FetchedAnswer(200, "video/mp4", 5))
    found = rules.rejecting_rule(link("http://www.example.org/a"), video)
    assert found is not None
    assert (found.reason, found.rule) == (
        "content-type", "rule 1: REJECT ContentTypeMatchesRegex video/.*: video/mp4",
    )  # fmt: skip
    assert rules.rejecting_rule(link("http://www.example.org/keep"), video) is None
    large = rules.rejecting_rule(
        link("http://www.example.org/a"), KnownFacts(answer=FetchedAnswer(200, "video/mp4", 11))
    )
    assert large is not None
    assert large.reason == "size"
    assert scope("REJECT All").rejecting_rule(link(SEED), video) is None, "this rule has decided about the link"
