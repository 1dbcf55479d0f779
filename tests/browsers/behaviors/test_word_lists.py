"""Controls are known by their words in many languages."""

from __future__ import annotations

import tomllib
from collections import Counter

import pytest
import regex

from browsers.behaviors.word_lists import WORDS, word_patterns

LABELS = [
    ("forbidden", "In den Warenkorb"),
    ("forbidden", "Køb nu"),
    ("forbidden", "Sign out"),
    ("forbidden", "登录"),
    ("more", "Mehr anzeigen"),
    ("more", "Показать ещё"),
    ("back", "Précédente"),
    ("forth", "次へ"),
    ("apply", "Übernehmen"),
    ("reset", "Annulla"),
    ("close", "Schließen"),
    ("close", "✕"),
    ("refuse", "Nej tak"),
    ("leave", "Zurück"),
    ("agree", "Alle Cookies akzeptieren"),
    ("agree", "J’accepte"),
    ("year", "Geburtsjahr"),
]


@pytest.mark.parametrize(("meaning", "label"), LABELS)
def test_a_label_is_known_by_its_meaning(meaning: str, label: str) -> None:
    assert regex.search(word_patterns()[meaning], label, regex.IGNORECASE)


@pytest.mark.parametrize("label", ["Printed matter", "Ratteilen", "About delays", "Deposit"])
def test_words_that_begin_or_end_alike_are_not_forbidden(label: str) -> None:
    assert not regex.search(word_patterns()["forbidden"], label, regex.IGNORECASE)


def test_each_word_stands_once_in_a_meaning_under_a_language() -> None:
    tables = [table for file in WORDS.glob("*.toml") for table in tomllib.loads(file.read_text("utf-8")).items()]
    assert sorted(meaning for meaning, _ in tables) == sorted(word_patterns()), "a meaning stands in one file"
    for meaning, by_language in tables:
        assert all(regex.fullmatch("[a-z]{2}|signs", language) for language in by_language), meaning
        words = Counter(word for words in by_language.values() for word in words)
        assert {word for word, times in words.items() if times > 1 or not word} == set(), meaning
