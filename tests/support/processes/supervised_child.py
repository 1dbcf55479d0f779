"""A child process for the supervisor's tests: `-m support.processes.supervised_child MODE FOLDER`.

It writes `<title>.pid` and appends to `order` as it ends, so that a test sees who ended when.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path

from admin.fleet.child import ParentLink
from admin.jobs.interrupts import Interrupts


def main() -> int:
    """Do as MODE says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["serve", "refuse", "crash", "stubborn", "work", "parent", "load", "patient"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--title", default="")
    parser.add_argument("--ready-fd", type=int, default=-1)
    parser.add_argument("--lifeline-fd", type=int, default=-1)
    parser.add_argument("--held-fd", type=int, action="append", default=[])
    given = parser.parse_args()
    parent = ParentLink.attach(given.title, given.ready_fd, given.lifeline_fd, given.held_fd)
    (given.folder / f"{given.title}.pid").write_text(str(os.getpid()))
    if given.mode == "load":
        signal.pause()  # as a child that has not come to its signal handlers yet
    with Interrupts() as interrupts:
        if given.mode == "refuse":
            parent.report_unfit("the disk is full; make room")
            return 1
        if given.mode == "crash":
            print("out of luck", flush=True)
            return 3
        parent.report_ready(url="redis://a-child")
        if given.mode == "work":
            return 0
        if given.mode == "parent":
            grandchild = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
            (given.folder / f"{given.title}.grandchild").write_text(str(grandchild.pid))
        while not interrupts.wait(60) or given.mode == "stubborn":
            pass
        while given.mode == "patient" and not interrupts.asked_to_hurry():
            interrupts.wait(60)
    with (given.folder / "order").open("a") as order:
        order.write(given.title + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
