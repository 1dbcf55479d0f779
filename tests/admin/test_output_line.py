"""admin/output_line.py: lines for a reader that may leave."""

from __future__ import annotations

import os
import subprocess
from io import StringIO

from support.processes.python_code import PLACES, code_command

from admin.output_line import write_line

WITHOUT_READER = """
import sys
from admin.commands.processes.fleet import _print
from admin.jobs.progress.display import display_for
from admin.up.display import LineDisplay

sys.stdin.read()  # until nobody reads the output any more
display_for(sys.stdout, as_json=sys.argv[1] == "json").note("stopping")
LineDisplay(sys.stdout).say("ending")
_print("restarted")
print("the summary", flush=True)
sys.exit(130)
"""


def test_a_line_is_written_at_once() -> None:
    stream = StringIO()
    write_line(stream, "stopping")
    assert stream.getvalue() == "stopping\n"


def test_a_process_goes_on_when_nobody_reads_its_output_any_more() -> None:
    for kind in ("json", "lines"):
        reads, writes = os.pipe()
        process = subprocess.Popen(
            code_command(WITHOUT_READER, kind),
            env={**os.environ, **PLACES},
            stdin=subprocess.PIPE,
            stdout=writes,
            stderr=writes,
        )
        os.close(writes)
        os.close(reads)
        process.communicate(b"")
        assert process.returncode == 130
