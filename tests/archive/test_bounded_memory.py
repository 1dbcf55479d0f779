"""A bounded memory keeps what is asked for, and no more than its bounds allow."""

from __future__ import annotations

import threading

from archive.bounded_memory import BoundedMemory


def test_the_latest_answers_are_kept_within_the_bounds() -> None:
    memory = BoundedMemory[int](100, 1_000_000)
    for number in range(10_000):
        memory.put(str(number), number)
        assert len(memory) <= 200
    assert [memory.get(str(number)) for number in range(9_900, 10_000)] == list(range(9_900, 10_000))
    assert memory.get("0") is None


def test_long_keys_take_more_room() -> None:
    memory = BoundedMemory[int](1_000_000, 1_000)
    for number in range(1_000):
        memory.put(f"{number:0100}", number)
        assert len(memory) <= 20


def test_an_answer_that_is_asked_for_stays() -> None:
    memory = BoundedMemory[int](10, 1_000)
    memory.put("common", -1)
    for number in range(1_000):
        memory.put(str(number), number)
        assert memory.get("common") == -1


def test_threads_may_share_a_memory() -> None:
    memory = BoundedMemory[int](50, 1_000)

    def work(own: int) -> None:
        for number in range(own, 20_000, 4):
            memory.put(str(number), number)
            assert memory.get(str(number % 97)) in (None, number % 97)

    threads = [threading.Thread(target=work, args=(own,)) for own in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(memory) <= 100
