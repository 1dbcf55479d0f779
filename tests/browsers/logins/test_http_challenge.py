"""browsers/logins/http_challenge.py: what a site asks for, read from WWW-Authenticate."""

from __future__ import annotations

import pytest

from browsers.logins.http_challenge import challenges


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", []),
        ("Basic", [("basic", "")]),
        ('Basic realm="x"', [("basic", "x")]),
        ("BASIC  realm = plain , charset=UTF-8", [("basic", "plain")]),
        (r'Basic realm="The \"members\", all"', [("basic", 'The "members", all')]),
        (
            'Negotiate, Digest qop="auth,auth-int", realm="a=b, c", nonce="n", Basic realm=""',
            [("negotiate", ""), ("digest", "a=b, c"), ("basic", "")],
        ),
        ('Newauth realm="apps", type=1, title="Login to \\"apps\\"", Basic realm="simple"', None),
        (',,,"', []),
    ],
)
def test_each_challenge_has_its_scheme_and_its_realm(value: str, expected: list[tuple[str, str]] | None) -> None:
    expected = expected if expected is not None else [("newauth", "apps"), ("basic", "simple")]
    assert [(each.scheme, each.realm) for each in challenges(value)] == expected


def test_a_challenge_is_a_header_of_its_own() -> None:
    digest = challenges('Basic realm="x", Digest realm="y, z", nonce="n", qop="auth"')[1]
    assert digest.text == 'digest realm="y, z", nonce="n", qop="auth"'


def test_a_hostile_header_is_read_in_bounded_work() -> None:
    assert len(challenges('"' * 100_000 + "Basic " * 100_000 + ",a" * 100_000)) < 10_000
