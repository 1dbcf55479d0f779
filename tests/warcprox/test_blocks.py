"""Block rules: what they hit, and how a client hears which."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import pytest
from support.clients.brozzler_client import told
from support.proxy.warcprox_stage import Stage


def check(stage: Stage, url: str, meta: dict[str, Any], rule: dict[str, Any] | None) -> None:
    """The URL is blocked by that rule, or by none."""
    answer = stage.client.get(url, meta)
    if rule is None:
        assert (answer.status_code, told(answer)) == (200, {})
    else:
        assert (answer.status_code, told(answer)) == (403, {"blocked-by-rule": rule})
        lead = b"request rejected by warcprox: blocked by rule found in Warcprox-Meta header:"
        assert answer.content.startswith(lead)


def test_rules_of_the_older_form_and_domains(stage: Stage) -> None:
    http, https = stage.plain.port, stage.secure.port
    rules = [
        {"domain": "localhost", "url_match": "STRING_MATCH", "value": "bar"},
        {"url_match": "SURT_MATCH", "value": f"http://(localhost,:{http})/fuh/"},
        {"url_match": "SURT_MATCH", "value": f"http://(localhost,:{https})/fuh/"},
        {"domain": "Bad.Domain.Localhost"},
    ]
    meta = {"blocks": rules}

    check(stage, stage.url("/bar"), meta, rules[0])
    check(stage, stage.url("/m/n"), meta, None)
    check(stage, stage.url("/fuh/guh"), meta, rules[1])
    check(stage, stage.url("/fuh/guh", secure=True), meta, None)
    check(stage, stage.url("/x/y", "bad.domain.localhost"), meta, rules[3])
    check(stage, stage.url("/x/y", "all.bad.domain.localhost"), meta, rules[3])
    check(stage, stage.url("/x/y", "BAD.domain.localhost", secure=True), meta, rules[3])
    check(stage, stage.url("/x/y", "notbad.domain.localhost"), meta, None)
    assert stage.plain.asked("/bar") == []


@pytest.mark.parametrize(
    ("rule", "hit", "missed"),
    [
        ({"ssurt": "localhost,a,//"}, ("a.localhost", "/s/s"), ("b.localhost", "/s/s")),
        ({"substring": "?q=1"}, ("localhost", "/q/q?q=1"), ("localhost", "/q/q?q=2")),
        ({"regex": r"^https?://[^/]*/w+/x"}, ("localhost", "/www/x"), ("localhost", "/www/xx")),
        ({"url_match": "REGEX_MATCH", "value": r".*/z"}, ("localhost", "/r/z"), ("localhost", "/r/zz")),
        ({"domain": "a.localhost", "substring": "both"}, ("a.localhost", "/both/x"), ("b.localhost", "/both/x")),
    ],
)
def test_rules_by_condition(stage: Stage, rule: dict[str, Any], hit: tuple[str, str], missed: tuple[str, str]) -> None:
    check(stage, stage.url(hit[1], hit[0]), {"blocks": [rule]}, rule)
    check(stage, stage.url(missed[1], missed[0]), {"blocks": [rule]}, None)


def test_compressed_rules(stage: Stage) -> None:
    rule = {"domain": "packed.localhost"}
    packed = base64.b64encode(zlib.compress(json.dumps([rule]).encode())).decode()

    check(stage, stage.url("/p/q", "packed.localhost"), {"compressed_blocks": packed}, rule)
    check(stage, stage.url("/p/q"), {"compressed_blocks": packed}, None)


def test_a_header_of_a_megabyte_is_obeyed(stage: Stage) -> None:
    rules = [{"domain": f"{number:08d}.{'x' * 40}.localhost"} for number in range(15_000)]
    rules.append({"domain": "long.localhost"})
    assert len(json.dumps(rules)) > 1_000_000

    check(stage, stage.url("/long/x", "long.localhost"), {"blocks": rules}, rules[-1])
    check(stage, stage.url("/long/x"), {"blocks": rules}, None)


@pytest.mark.parametrize(
    ("meta", "word"),
    [
        ({"blocks": {"domain": "x"}}, "list"),
        ({"blocks": ["x"]}, "object"),
        ({"blocks": [{}]}, "has no conditions"),
        ({"blocks": [{"domian": "x"}]}, "domian"),
        ({"blocks": [{"regex": "("}]}, "regex"),
        ({"blocks": [{"regex": "((x{999}){999}){999}"}]}, "repeat counts"),
        ({"blocks": [{"regex": "x" * 5000}]}, "4096"),
        ({"blocks": [{"url_match": "GUESS", "value": "x"}]}, "url_match"),
        ({"compressed_blocks": "!"}, "base64"),
        ({"compressed_blocks": base64.b64encode(b"no zlib").decode()}, "zlib"),
        ({"compressed_blocks": base64.b64encode(zlib.compress(b" " * 20_000_000)).decode()}, "more than"),
        ({"compressed_blocks": base64.b64encode(zlib.compress(b"[" * 60_000)).decode()}, "JSON"),
        ({"compressed_blocks": base64.b64encode(zlib.compress(b"[]")[:-3]).decode()}, "cut short"),
    ],
)
def test_rules_that_can_not_be_used_are_refused_by_name(stage: Stage, meta: dict[str, Any], word: str) -> None:
    answer = stage.client.get(stage.url("/never/asked"), meta)

    assert answer.status_code == 400
    assert word in answer.text
    assert stage.plain.asked("/never/asked") == []


def test_a_pattern_that_would_never_end_is_given_up(stage: Stage) -> None:
    answer = stage.client.get(stage.url("/" + "a" * 60), {"blocks": [{"regex": r".*/(a|a|aa)+(a|aa)+\d"}]})

    assert answer.status_code == 400
    assert "longer than" in answer.text
