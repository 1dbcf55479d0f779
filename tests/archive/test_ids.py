"""archive/names/ids.py: no name is given twice, by whichever thread or process."""

from __future__ import annotations

import os
import threading
import uuid

import pytest

from archive.names.ids import new_id, new_name


def test_ids_are_random_uuids_of_version_four() -> None:
    made = {new_id() for _ in range(1000)}
    assert len(made) == 1000
    for text in made:
        parsed = uuid.UUID(text)
        assert (parsed.version, parsed.variant, str(parsed)) == (4, uuid.RFC_4122, text)


def test_threads_do_not_get_the_same_names() -> None:
    made: list[list[str]] = []
    start = threading.Barrier(4)

    def make() -> None:
        start.wait()
        made.append([new_name() for _ in range(20_000)])

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    names = {name for some in made for name in some}
    assert len(names) == 80_000
    assert all(len(bytes.fromhex(name)) == 16 for name in names)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_forked_child_does_not_give_its_parents_names() -> None:
    new_name()  # so that names lie ready
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, " ".join(new_name() for _ in range(200)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        theirs = set(pipe.read().decode().split())
    os.waitpid(child, 0)
    assert len(theirs) == 200
    assert not theirs & {new_name() for _ in range(400)}
