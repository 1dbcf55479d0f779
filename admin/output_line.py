"""Lines for the people and programs that read the output of a running command. They may stop reading at any time."""

from __future__ import annotations

import os
from typing import TextIO


def write_line(stream: TextIO, line: str) -> None:
    """Write a line at once. When nobody reads the stream any more, drop this line and all later ones.

    Ctrl-C in `ghostfleet crawl … | tee crawl.out` ends tee, too, and the crawl has reports to write after that.
    """
    try:
        stream.write(line + "\n")
        stream.flush()
    except BrokenPipeError:
        # The stream keeps the line, and the interpreter would fail when it writes the line again at its end.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
