import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from kgmed.errors import ModelFailed
from kgmed.models.gathering import Gathering


class Work:
    """Doubles what it is given and remembers the groups; a negative number is refused, and 0 waits to be let go."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.begun, self.go = threading.Event(), threading.Event()

    def __call__(self, asked: Sequence[int], /) -> list[int]:
        self.groups.append(list(asked))
        if 0 in asked:
            self.begun.set()
            self.go.wait(60)
        if min(asked) < 0:
            raise ModelFailed(f"not {min(asked)}")
        return [2 * a for a in asked]


def up_to(most: int) -> Callable[[Sequence[int]], list[int]]:
    return lambda waiting: list(range(min(most, len(waiting))))


def all_waiting(gathering: Gathering[int, int], calls: int) -> None:
    """Return when so many calls wait."""
    with gathering._changed:
        assert gathering._changed.wait_for(lambda: len(gathering._waiting) >= calls, 60)


def held(work: Work, gathering: Gathering[int, int], pool: ThreadPoolExecutor) -> None:
    """Have the work busy with 0."""
    pool.submit(gathering, 0)
    assert work.begun.wait(60)


def test_every_thread_gets_the_reply_to_its_own_call() -> None:
    work = Work()
    gathering = Gathering(work, up_to(5), most=5)

    def many(thread: int) -> bool:
        return all(gathering(1000 * thread + i) == 2 * (1000 * thread + i) for i in range(50))

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(many, range(1, 17)))
    assert max(map(len, work.groups)) == 5
    assert sorted(a for group in work.groups for a in group) == [1000 * t + i for t in range(1, 17) for i in range(50)]


def test_what_waits_while_the_work_is_busy_is_answered_together_in_its_order() -> None:
    work = Work()
    gathering = Gathering(work, up_to(4), most=4)
    with ThreadPoolExecutor(8) as pool:
        held(work, gathering, pool)
        for i in range(1, 7):
            pool.submit(gathering, i)
            all_waiting(gathering, i)
        work.go.set()
    assert work.groups == [[0], [1, 2, 3, 4], [5, 6]]


def test_a_call_that_fails_fails_alone() -> None:
    work = Work()
    gathering = Gathering(work, up_to(4), most=4)
    with ThreadPoolExecutor(8) as pool:
        held(work, gathering, pool)
        calls = [pool.submit(gathering, a) for a in (3, -1, 5, -2)]
        all_waiting(gathering, 4)
        work.go.set()
        assert (calls[0].result(60), calls[2].result(60)) == (6, 10)
        for call, said in ((calls[1], "not -1"), (calls[3], "not -2")):
            with pytest.raises(ModelFailed, match=said):
                call.result(60)
    assert gathering(4) == 8


def test_without_company_a_call_is_answered_alone() -> None:
    work = Work()
    gathering = Gathering(work, up_to(16), most=16)
    assert [gathering(a) for a in (1, 2, 3)] == [2, 4, 6]
    assert work.groups == [[1], [2], [3]]


def test_with_one_at_a_time_no_two_calls_share_a_group() -> None:
    work = Work()
    gathering = Gathering(work, up_to(1), most=1)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(gathering, range(1, 100))) == [2 * a for a in range(1, 100)]
    assert {len(group) for group in work.groups} == {1}


def test_a_leader_that_is_interrupted_leaves_its_group_to_the_others() -> None:
    first = threading.Event()

    def work(asked: Sequence[int]) -> list[int]:
        if not first.is_set():
            first.set()
            raise KeyboardInterrupt
        return [2 * a for a in asked]

    gathering: Gathering[int, int] = Gathering(work, up_to(3), most=3)
    with ThreadPoolExecutor(3) as pool:
        calls = [pool.submit(gathering, a) for a in (1, 2, 3)]
        ends = [call.exception(60) for call in calls]
        assert [type(e) for e in ends if e is not None] == [KeyboardInterrupt]
        assert sorted(call.result() for call, end in zip(calls, ends, strict=True) if end is None) in (
            [2, 4], [2, 6], [4, 6],
        )  # fmt: skip
    assert gathering(5) == 10
    assert gathering._waiting == []


def test_a_choice_that_fails_is_raised_and_blocks_nobody() -> None:
    spoilt = [True]

    def choose(waiting: Sequence[int]) -> list[int]:
        if spoilt.pop():
            raise ModelFailed("no choice")
        return [0]

    gathering: Gathering[int, int] = Gathering(lambda asked: [a + 1 for a in asked], choose, most=2)
    with pytest.raises(ModelFailed, match="no choice"):
        gathering(1)
    spoilt += [False]
    assert gathering(2) == 3
