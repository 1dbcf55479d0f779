"""admin/harvests/domains/seeds.py: which lines of a seed list are seeds, and what is wrong with them."""

from __future__ import annotations

import pytest

from admin.harvests.domains.seeds import has_seeds, parse_seed, seed_lines, seed_problems, tidy


def test_blank_lines_and_comments_are_kept_and_are_no_seeds() -> None:
    text = tidy("\ufeff# ours\r\nhttp://example.org/\r\n\r\n  # theirs  \rhttp://example.net/  ")
    assert text == "# ours\nhttp://example.org/\n\n  # theirs\nhttp://example.net/"
    assert list(seed_lines(text)) == ["http://example.org/", "http://example.net/"]
    assert not has_seeds("\n# http://example.org/\n \n")


def test_every_bad_seed_is_named_by_its_line() -> None:
    text = "http://example.org/\nexample.net\n# mailto:me\nmailto:me@example.org\n"
    found = list(seed_problems(text, "^.*$"))
    assert [problem.line for problem in found] == [2, 4]
    assert "write http://example.net/" in found[0].message


def test_the_setting_refuses_seeds_that_do_not_match_as_a_whole() -> None:
    found = list(seed_problems("http://example.org/\nhttps://example.org/a", r"^https://.*$"))
    assert [problem.line for problem in found] == [1]
    assert "harvests.seed_regex" in found[0].message


def test_a_setting_that_takes_too_long_refuses_the_seed() -> None:
    found = list(seed_problems(f"http://example.org/{'a' * 200}!", "http://example.org/(a|aa)+"))
    assert "takes too long" in found[0].message


@pytest.mark.parametrize(
    ("text", "message"), [("http://a.org/\n\0", "NUL character"), ("#" * 5_000_001, "5000001 characters")]
)
def test_texts_that_no_database_keeps_are_refused(text: str, message: str) -> None:
    assert message in next(seed_problems(text, "^.*$")).message


@pytest.mark.parametrize(
    ("character", "name"),
    [
        *((each, "a control character") for each in "\v\f\x1c\x1d\x1e\x85"),
        ("\u2028", "the character 'line separator'"),
        ("\u2029", "the character 'paragraph separator'"),
    ],
)
def test_a_seed_with_a_character_that_may_end_a_line_is_refused(character: str, name: str) -> None:
    seed = f"http://example.org/{character}http://example.net/"
    (found,) = seed_problems(f"http://example.org/\n{seed}\nhttp://example.com/{character}\n", "^.*$")
    assert (found.line, f"has {name} in it" in found.message) == (2, True)
    with pytest.raises(ValueError, match=f"has {name} in it"):
        parse_seed(seed, "^.*$")


def test_seeds_of_an_upload_get_http_in_front() -> None:
    assert parse_seed(" example.org/a ", "^.*$") == "http://example.org/a"
    assert parse_seed("example.org:8080", "^.*$") == "http://example.org:8080"
    assert parse_seed("https://example.org", "^.*$") == "https://example.org"
    with pytest.raises(ValueError, match="mailto"):
        parse_seed("mailto:me@example.org", "^.*$")
