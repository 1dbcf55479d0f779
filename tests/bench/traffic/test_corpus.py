"""The files of the load."""

from __future__ import annotations

import hashlib
import zlib

import pytest

from bench.traffic.corpus import FILES, MEAN_BYTES, Corpus, path


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus()


def test_the_same_files_come_out_in_every_process(corpus: Corpus) -> None:
    other = Corpus()

    assert all(corpus.content("a", index) == other.content("a", index) for index in range(0, FILES, 97))


def test_all_files_differ_also_between_sets(corpus: Corpus) -> None:
    digests = {corpus.sha1(name, index) for name in ("a", "b") for index in range(0, FILES * 2, 10)}

    assert len(digests) == FILES * 2 * 2 // 10


def test_sizes_have_the_mean_they_should(corpus: Corpus) -> None:
    sizes = [corpus.length("a", index) for index in range(FILES)]

    assert abs(sum(sizes) / FILES - MEAN_BYTES) < MEAN_BYTES / 100
    assert sorted(sizes)[FILES // 2] < MEAN_BYTES < max(sizes)
    assert sizes[17] == len(corpus.content("a", 17))


def test_two_thirds_are_text_that_packs_and_one_third_does_not(corpus: Corpus) -> None:
    files = [corpus.file(index) for index in range(300)]
    text = [file.content for file in files if file.media_type.startswith("text/")]
    other = [file.content for file in files if file.media_type == "image/jpeg"]

    assert (len(text), len(other)) == (200, 100)
    assert 2 < len(b"".join(text)) / sum(len(zlib.compress(content, 1)) for content in text) < 5
    assert len(zlib.compress(b"".join(other), 1)) > 0.99 * len(b"".join(other))


def test_a_digest_is_of_the_whole_body(corpus: Corpus) -> None:
    assert corpus.sha1("a", 5) == hashlib.sha1(corpus.content("a", 5), usedforsecurity=False).digest()


def test_a_path_names_set_and_index() -> None:
    assert path("http-1", 17) == "/http-1/17"
