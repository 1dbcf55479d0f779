"""Docstrings begin with a whole sentence, as CONTRIBUTING.md asks."""

from __future__ import annotations

import pytest
from prose.docstrings import FOLDERS, all_problems, first_sentence, is_sentence


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_docstring_begins_with_a_sentence(folder: str) -> None:
    assert "\n".join(map(str, all_problems((folder,)))) == ""


@pytest.mark.parametrize(
    ("sentence", "imperative_only", "good"),
    [
        ("Return the sum.", True, True),
        ("Returns the sum.", True, False),
        ("The sum.", False, False),
        ("Of one exchange, which ends once.", False, False),
        ("A lease holds one URL.", False, True),
        ("A lease that has expired.", False, False),
        ("A lease that has expired is given to another worker.", False, True),
        ("What is left.", False, False),
    ],
)
def test_the_rule_tells_sentences_from_phrases(sentence: str, imperative_only: bool, good: bool) -> None:
    assert is_sentence(sentence, imperative_only=imperative_only) is good


def test_code_and_parentheses_do_not_count() -> None:
    assert first_sentence("Return `Of`, (that is) all. More.") == "Return X,  all."
