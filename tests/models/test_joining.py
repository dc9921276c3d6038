import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from kgmed.errors import ModelFailed
from kgmed.models.transformers_rows import CallBatcher


class Work:
    """Doubles n in n % 5 + 1 steps; a negative number is refused as it joins, and -7 two steps later; 0 waits."""

    def __init__(self) -> None:
        self.going: dict[int, list[int]] = {}
        self.seen: list[list[int]] = []
        self.begun, self.go = threading.Event(), threading.Event()

    def step(self, new: Mapping[int, int], /) -> dict[int, int]:
        self.going |= {number: [asked, asked % 5 + 1] for number, asked in new.items()}
        self.seen.append([asked for asked, _ in self.going.values()])
        if 0 in new.values():
            self.begun.set()
            assert self.go.wait(60)
        for call in self.going.values():
            call[1] -= 1
        refused = [asked for asked, left in self.going.values() if asked < 0 and (asked != -7 or left == 1)]
        if refused:
            raise ModelFailed(f"not {min(refused)}")
        done = {number: 2 * asked for number, (asked, left) in self.going.items() if not left}
        for number in done:
            del self.going[number]
        return done

    def leave(self, number: int, /) -> None:
        del self.going[number]

    def clear(self) -> None:
        self.going.clear()


def joining(most: int) -> tuple[Work, CallBatcher[int, int]]:
    work = Work()
    return work, CallBatcher(work, most=most, pool=ThreadPoolExecutor(1))


def waiting(calls: CallBatcher[int, int], many: int) -> None:
    """Return when so many calls wait."""
    while len(calls._waiting) < many:
        threading.Event().wait(0.001)


def begun(work: Work, calls: CallBatcher[int, int], pool: ThreadPoolExecutor) -> Future[int]:
    """Have the work busy with 0."""
    first = pool.submit(calls, 0)
    assert work.begun.wait(60)
    return first


def behind(work: Work, calls: CallBatcher[int, int], pool: ThreadPoolExecutor) -> Future[int]:
    """Have 4 wait behind 0; it takes five steps."""
    begun(work, calls, pool)
    long = pool.submit(calls, 4)
    waiting(calls, 1)
    return long


def test_every_thread_gets_the_reply_to_its_own_call_and_no_more_go_at_once_than_allowed() -> None:
    work, calls = joining(5)

    def many(thread: int) -> bool:
        return all(calls(1000 * thread + i) == 2 * (1000 * thread + i) for i in range(50))

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(many, range(1, 17)))
    assert max(map(len, work.seen)) == 5
    assert work.going == {}


def test_what_waits_joins_in_its_order_as_soon_as_another_leaves() -> None:
    work, calls = joining(2)
    with ThreadPoolExecutor(8) as pool:
        begun(work, calls, pool)
        for i, asked in enumerate((6, 10, 5, 15), 1):  # 2, 1, 1 and 1 steps
            pool.submit(calls, asked)
            waiting(calls, i)
        work.go.set()
    assert work.seen == [[0], [6, 10], [6, 5], [15]]


@pytest.mark.parametrize("bad", [-1, -7])
def test_a_call_that_fails_fails_alone_however_late(bad: int) -> None:
    work, calls = joining(4)
    with ThreadPoolExecutor(8) as pool:
        first = begun(work, calls, pool)
        others = [pool.submit(calls, asked) for asked in (3, bad, 9, -2)]
        waiting(calls, 4)
        work.go.set()
        assert (first.result(60), others[0].result(60), others[2].result(60)) == (0, 6, 18)
        for place, said in ((1, f"not {bad}"), (3, "not -2")):
            with pytest.raises(ModelFailed, match=said):
                others[place].result(60)
    assert calls(4) == 8


def test_what_fails_only_together_is_answered_one_by_one_and_told() -> None:
    class Small(Work):
        def step(self, new: Mapping[int, int], /) -> dict[int, int]:
            done = super().step(new)
            if len(self.going) > 1:
                raise MemoryError("too many")
            return done

    work = Small()
    calls = CallBatcher(work, most=4, pool=ThreadPoolExecutor(1))

    def said() -> list[int]:
        with ThreadPoolExecutor(8) as pool:
            asked = [begun(work, calls, pool), *(pool.submit(calls, n) for n in (1, 2, 3))]
            waiting(calls, 3)
            work.go.set()
            return [call.result(60) for call in asked]

    with pytest.warns(RuntimeWarning, match="3 calls failed together.*too many"):
        assert said() == [0, 2, 4, 6]


def test_what_else_the_thread_is_given_runs_between_two_steps() -> None:
    work, only = Work(), ThreadPoolExecutor(1)
    calls = CallBatcher(work, most=2, pool=only)
    with ThreadPoolExecutor(2) as pool:
        long = behind(work, calls, pool)
        between = only.submit(lambda: len(work.seen))
        work.go.set()
        assert (between.result(60), long.result(60), len(work.seen)) == (1, 8, 6)


@pytest.mark.parametrize("at", ["waiting", "going"])
def test_a_call_that_is_interrupted_leaves_alone(at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work, calls = joining(2 if at == "going" else 1)
    result: Callable[..., int] = Future.result
    first = True

    def interrupted(reply: Future[int], timeout: float | None = None) -> int:
        nonlocal first
        if first and threading.current_thread() is threading.main_thread():
            first = False
            if at == "going":
                while len(work.seen) < 2:
                    work.go.set()
            raise KeyboardInterrupt
        return result(reply, timeout)

    with ThreadPoolExecutor(2) as pool:
        other = begun(work, calls, pool)
        monkeypatch.setattr(Future, "result", interrupted)
        with pytest.raises(KeyboardInterrupt):
            calls(1_000_004 if at == "going" else 9)
        work.go.set()
        assert other.result(60) == 0
    assert calls(3) == 6
    assert work.going == {}
    assert at == "going" or [9] not in work.seen


def test_an_interpreter_that_ends_leaves_nobody_waiting() -> None:
    work, only = Work(), ThreadPoolExecutor(1)
    calls = CallBatcher(work, most=1, pool=only)
    with ThreadPoolExecutor(3) as pool:
        long = behind(work, calls, pool)
        only.shutdown(wait=False)
        work.go.set()
        with pytest.raises(RuntimeError, match="shutdown"):
            long.result(60)
