"""Every process of a home knows at once where the others listen, in whatever form an address is written."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest
from support.processes.python_code import PLACES, code_command

from archive.local_endpoints import Endpoint, Listeners, is_here, plain_ip


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "::1"),
        ("0.0.0.0", "127.0.0.1"),
        ("::", "::1"),
        ("::ffff:127.0.0.1", "127.0.0.1"),
        ("::ffff:0.0.0.0", "127.0.0.1"),
        ("::127.0.0.1", "127.0.0.1"),
        ("::ffff:0:127.0.0.1", "127.0.0.1"),
        ("64:ff9b::7f00:1", "127.0.0.1"),
        ("fe80::1%eth0", "fe80::1"),
        ("2001:DB8::1", "2001:db8::1"),
    ],
)
def test_an_address_is_compared_in_one_form(written: str, plain: str) -> None:
    assert plain_ip(written) == plain


def test_the_kernel_knows_which_addresses_are_ours() -> None:
    assert is_here("127.0.0.1")
    assert is_here("127.0.1.35")
    assert not is_here("192.0.2.1")
    assert not is_here("2001:db8::1")


def test_a_listener_is_known_to_every_process_of_the_home_until_it_closes(tmp_path: Path) -> None:
    ours, others = Listeners(tmp_path), Listeners(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        ours.add(listener)

        for knowing in (ours, others):
            assert knowing.covers("127.0.0.1", port)
            assert knowing.covers("::ffff:127.0.0.1", port)
            assert knowing.covers("0.0.0.0", port)
            assert not knowing.covers("127.0.1.35", port), "another address of this machine is another listener"
            assert not knowing.covers("192.0.2.1", port), "another machine's"
            assert knowing.all() == [Endpoint("127.0.0.1", port)]
        ours.remove(Endpoint("127.0.0.1", port))

    assert not ours.covers("127.0.0.1", port)
    assert not others.covers("127.0.0.1", port)


def test_a_wildcard_listener_has_every_address_of_the_machine(tmp_path: Path) -> None:
    listeners = Listeners(tmp_path)
    with socket.create_server(("0.0.0.0", 0)) as listener:
        port = listener.getsockname()[1]
        listeners.add(listener)

        assert all(listeners.covers(ip, port) for ip in ("127.0.0.1", "127.0.1.35", "0.0.0.0", "::ffff:127.0.0.1"))
        assert not listeners.covers("192.0.2.1", port)
        assert not listeners.covers("127.0.0.1", port - 1)


def test_marks_of_a_process_that_died_count_for_nothing(tmp_path: Path) -> None:
    script = (
        "import socket, sys; from pathlib import Path; from archive.local_endpoints import Listeners\n"
        "listener = socket.create_server(('127.0.0.1', 0)); Listeners(Path(sys.argv[1])).add(listener)\n"
        "print(listener.getsockname()[1])"
    )
    environment = {**os.environ, **PLACES}
    said = subprocess.run(
        code_command(script, str(tmp_path)), env=environment, capture_output=True, text=True, check=True
    )
    port, folder = int(said.stdout), tmp_path / "run" / "listeners"
    assert len(list(folder.iterdir())) == 1

    listeners = Listeners(tmp_path)
    assert not listeners.covers("127.0.0.1", port)
    assert listeners.all() == []
    listeners.sweep()
    assert list(folder.iterdir()) == []


def test_other_files_in_the_folder_are_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "listeners"
    folder.mkdir(parents=True)
    for name in (".DS_Store", "a_b_c", "127.0.0.1_80"):
        (folder / name).touch()

    assert not Listeners(tmp_path).covers("127.0.0.1", 80)
