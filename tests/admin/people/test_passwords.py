"""admin/people/passwords.py: our parameters, two hashes at once, and passwords of all keyboards."""

from __future__ import annotations

import threading

import pytest
from argon2 import PasswordHasher, extract_parameters
from support.admin.site_users import CHEAP
from support.processes.waiting import until

from admin.people.passwords import Passwords, password_problem


def test_hashes_have_the_parameters_of_rfc_9106_and_a_salt() -> None:
    passwords = Passwords()
    first, second = passwords.hash("four words unlike before"), passwords.hash("four words unlike before")
    assert first != second
    found = extract_parameters(first)
    assert (found.type.name, found.memory_cost, found.time_cost, found.salt_len) == ("ID", 65536, 3, 16)
    assert passwords.verify(first, "four words unlike before").is_right


def test_at_most_two_hashes_are_computed_at_once() -> None:
    running, most, lock, go = [0], [0], threading.Lock(), threading.Event()

    class Watched(PasswordHasher):
        def hash(self, password: str | bytes, *, salt: bytes | None = None) -> str:
            with lock:
                running[0] += 1
                most[0] = max(most[0], running[0])
            go.wait(30)
            with lock:
                running[0] -= 1
            return super().hash(password, salt=salt)

    passwords = Passwords(Watched(**CHEAP))
    threads = [threading.Thread(target=passwords.hash, args=("x",)) for _ in range(6)]
    for thread in threads:
        thread.start()
    until(lambda: running[0] == 2, what="two threads hash")
    go.set()
    for thread in threads:
        thread.join()
    assert most[0] == 2


@pytest.mark.parametrize("stored", ["", "x", "$argon2id$v=19$m=8,t=1,p=1$c2FsdA$", "$2b$12$abc", "é"])
def test_a_stored_hash_that_is_broken_is_no_way_in(stored: str) -> None:
    assert not Passwords(PasswordHasher(**CHEAP)).verify(stored, "").is_right


def test_composed_and_decomposed_letters_are_the_same_password() -> None:
    passwords = Passwords(PasswordHasher(**CHEAP))
    assert passwords.verify(passwords.hash("caf\u00e9 and twelve"), "cafe\u0301 and twelve").is_right


def test_length_is_counted_in_characters() -> None:
    assert password_problem("пароль зимой", 12) is None
    assert password_problem("e\u0301abcdefghijk", 12) is None
    assert password_problem("e\u0301abcdefghij", 12) is not None
