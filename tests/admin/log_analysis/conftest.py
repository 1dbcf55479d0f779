"""An analysis of lines that a test gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from support.admin.log_lines import write_log

from admin.log_analysis.columns.intake import take_in


@pytest.fixture
def analysed(tmp_path: Path) -> Callable[..., Path]:
    """Takes a log of these lines in, and returns the folder of the analysis."""

    def analysed(lines: Iterable[str], name: str = "analysis") -> Path:
        folder = tmp_path / name
        take_in(write_log(tmp_path / f"{name}.log", lines), folder)
        return folder

    return analysed
