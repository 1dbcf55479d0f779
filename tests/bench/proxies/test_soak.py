"""Long load: what is sampled while it goes on, and what counts as flat."""

from __future__ import annotations

import os
import signal

import pytest
from click.testing import CliRunner

from bench.cli import bench
from bench.proxies.soak import LEAST_SAMPLES, Sample, SoakResult, soak

PIDS = frozenset([1])
LENGTHS = (1.5, 6.0, 24.0)
"""Seconds of a load. A busy machine may take too few samples in a short time, and then a longer one is tried."""


def of(*resident_mb: float, descriptors: tuple[int, ...] = ()) -> SoakResult:
    """A minute between samples."""
    counts = descriptors or (50,) * len(resident_mb)
    pairs = enumerate(zip(resident_mb, counts, strict=True))
    return SoakResult([Sample(60.0 * number, PIDS, int(mb * 1e6), count) for number, (mb, count) in pairs], 1, 0)


@pytest.mark.parametrize(
    ("found", "is_flat"),
    [
        (of(80, 95, 100, 101, 101, 101), True),
        (of(100, 100, 99, 101, 100, 100, 101, 100), True),
        (of(80, 90, 100, 110, 120, 130), False),
        (of(100, 100, 100, 101, 102, 103), False),
        (of(100, 100, 100, 100, descriptors=(50, 60, 70, 80)), False),
        (of(80, 100, 100), True),
    ],
)
def test_flat_means_no_growth_in_the_second_half(found: SoakResult, is_flat: bool) -> None:
    assert found.problem == ""
    assert found.is_flat is is_flat


def test_too_few_samples_are_a_problem_with_a_remedy() -> None:
    done = CliRunner().invoke(bench, ["soak", "--seconds", "1", "--every", "60", "--connections", "1"])

    assert done.exit_code == 1, done.output
    assert "Error: samples taken: 0; the growth needs 3 of them: give a longer time with --seconds" in done.output
    assert of(100, 100).problem.startswith("samples taken: 2;")


def test_a_recording_process_that_ends_is_a_problem() -> None:
    killed: list[int] = []

    def kill(sample: Sample) -> None:
        if not killed:
            killed.extend(sample.pids)
            os.kill(killed[0], signal.SIGKILL)

    found = SoakResult([], 0, 0)
    for seconds in LENGTHS:
        killed.clear()
        found = soak(seconds, 0.2, "connect", 2, kill)
        if len(found.samples) >= LEAST_SAMPLES:
            break

    assert len(killed) == 1
    assert "a recording process ended" in found.problem


def test_an_error_of_the_watcher_is_raised() -> None:
    def fail(_: Sample) -> None:
        raise ZeroDivisionError

    for seconds in LENGTHS:
        try:
            soak(seconds, 0.1, "connect", 1, fail)
        except ZeroDivisionError:
            return
    pytest.fail("the error was not raised")


def test_a_short_load_is_sampled_and_answered() -> None:
    heard: list[Sample] = []

    found = SoakResult([], 0, 0)
    for seconds in LENGTHS:
        heard.clear()
        found = soak(seconds, 0.3, "connect", 2, heard.append)
        if len(heard) >= 2 and found.acknowledged:
            break

    assert list(found.samples) == heard
    assert len(heard) >= 2
    assert found.acknowledged > 0
    assert found.errors == 0
    assert len({sample.pids for sample in heard}) == 1
    assert all(sample.resident_bytes > 10_000_000 and sample.descriptors > 10 for sample in heard)
