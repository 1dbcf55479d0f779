"""Flags that people write: sizes, times, names and addresses."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from admin.options import Duration, InputError, Size, load_settings, resolve_table


@pytest.mark.parametrize(
    ("text", "count"),
    [("500", 500), ("20MB", 20_000_000), ("1.5GiB", 1_610_612_736), ("3 k", 3000), ("2t", 2 * 10**12)],
)
def test_sizes_are_read_with_their_units(text: str, count: int) -> None:
    assert Size().convert(text, None, None) == count


@pytest.mark.parametrize("text", ["", "MB", "-5MB", "5 apples", "1e6"])
def test_an_invalid_size_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(click.BadParameter, match="write a number of bytes such as 500MB"):
        Size().convert(text, None, None)


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("1.5m", 90), ("2h", 7200), ("1d", 86_400), ("0.5s", 0.5)])
def test_times_are_read_with_their_units(text: str, seconds: float) -> None:
    assert Duration().convert(text, None, None) == seconds


def test_an_invalid_duration_is_refused_with_an_example() -> None:
    with pytest.raises(click.BadParameter, match="write for instance 90s"):
        Duration().convert("soon", None, None)


def test_resolve_flags_become_a_table() -> None:
    assert resolve_table(["WWW.example.org=127.0.0.1:8443", "*.example.net=::1"]) == {
        "www.example.org": "127.0.0.1:8443",
        "*.example.net": "::1",
    }
    assert resolve_table([]) is None


def test_a_resolve_flag_without_an_address_is_refused() -> None:
    with pytest.raises(InputError, match=r"--resolve 'example.org' can't be read; write NAME=ADDRESS"):
        resolve_table(["example.org"])


def test_a_wrong_setting_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("[proxy]\nporrt = 5\n")
    with pytest.raises(InputError, match=r"unknown setting proxy.porrt in .*; did you mean proxy.port"):
        load_settings(tmp_path, file)
