"""Tests start processes of the program by a fork. A command line that the fork server does not know costs seconds."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest
from support.processes.fork_server import EXECUTED, is_forked

from bench.process import our_command, source_environment


@pytest.mark.parametrize(
    "command",
    [our_command("proxy"), [sys.executable, "-m", "admin.cli", "job", "list"]],
    ids=["our_command", "module"],
)
def test_a_command_of_the_program_is_forked(command: Sequence[str]) -> None:
    assert is_forked(command, source_environment())


def test_other_commands_are_executed() -> None:
    assert not is_forked([sys.executable, "-c", "pass"], source_environment())
    assert not is_forked([sys.executable, "script.py"], source_environment())
    assert not is_forked(our_command("proxy"), {**source_environment(), "PYTHONUTF8": "0"})
    assert not is_forked(our_command("proxy"), {**source_environment(), **EXECUTED})
