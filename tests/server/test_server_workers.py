"""The pool: bounded, with deadlines; what nobody waits for is dropped or stopped. And the encoders behind it."""

import asyncio
import threading
import time

import pytest
from server_answers import PATIENCE, played

from evalign.core.scoring import Stopped, check_stopped, stop_when
from evalign.encoders.fake import FakeEncoder
from evalign.encoders.loading import EmbeddingMemory, ModelPool
from evalign.server.errors import ApiError
from evalign.server.settings import Settings
from evalign.server.worker_pool import ClientGone, WorkerPool


def with_pool(workers, queue, scene):
    """Runs an asynchronous scene with a pool that is then stopped."""

    async def play():
        pool = WorkerPool(workers, queue, longest_retry=5)
        pool.start()
        try:
            return await scene(pool)
        finally:
            pool.stop()

    return played(play())


async def never():
    await asyncio.Event().wait()


async def asked(pool, work, deadline=PATIENCE, gone=None):
    """The answer, or the error."""
    watch = asyncio.create_task(gone or never())
    try:
        return await pool.run(work, deadline, watch)
    except (ApiError, ClientGone) as error:
        return error
    finally:
        watch.cancel()


async def until(condition):
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.005)


def test_answers_and_errors_come_back():
    def broken():
        raise ApiError(422, "bad-input", "no")

    async def scene(pool):
        assert await asked(pool, lambda: b"yes") == b"yes"
        assert (await asked(pool, broken)).code == "bad-input"
        assert pool.unfinished == 0

    with_pool(1, 1, scene)


def test_a_full_queue_turns_away_and_says_when_to_come_back():
    free = threading.Event()

    async def scene(pool):
        waiting = [asyncio.create_task(asked(pool, lambda: free.wait(PATIENCE) and b"done")) for _ in range(3)]
        await until(lambda: pool.unfinished == 3)
        turned = await asked(pool, lambda: b"never")
        free.set()
        assert (turned.status, turned.code) == (429, "busy")
        assert 1 <= int(turned.headers["Retry-After"]) <= 5
        assert await asyncio.gather(*waiting) == [b"done"] * 3
        assert not pool.full

    with_pool(1, 2, scene)


def test_work_not_begun_in_time_is_dropped():
    free, begun = threading.Event(), threading.Event()
    ran = []

    def first():
        begun.set()
        free.wait(PATIENCE)
        return b"first"

    async def scene(pool):
        running = asyncio.create_task(asked(pool, first))
        await until(begun.is_set)
        late = await asked(pool, lambda: ran.append(1) or b"", deadline=0.05)
        assert (late.status, late.code) == (503, "not-begun")
        assert pool.unfinished == 1  # its place in the queue is free at once
        free.set()
        assert await running == b"first"
        assert await asked(pool, lambda: b"next") == b"next"

    with_pool(1, 5, scene)
    assert ran == []


def test_work_that_takes_too_long_is_told_to_stop_and_holds_its_place_until_it_does():
    begun, stopped = threading.Event(), threading.Event()

    def endless():
        begun.set()
        try:
            while True:
                check_stopped()
                time.sleep(0.005)
        except Stopped:
            stopped.set()
            raise

    async def staying():
        begun.wait(PATIENCE)  # holds the event loop, so that the deadline cannot pass before a thread has begun
        await never()

    async def scene(pool):
        late = await asked(pool, endless, deadline=0.05, gone=staying())
        assert (late.status, late.code) == (504, "too-slow")
        await until(stopped.is_set)
        await until(lambda: pool.unfinished == 0)

    with_pool(1, 0, scene)


def test_a_client_that_went_away_frees_its_place():
    free, begun, stopped = threading.Event(), threading.Event(), threading.Event()

    def first():
        begun.set()
        free.wait(PATIENCE)
        try:
            check_stopped()
        except Stopped:
            stopped.set()
        return b""

    async def leaving():
        await until(begun.is_set)

    async def scene(pool):
        running, waiting = (asyncio.create_task(asked(pool, first, gone=leaving())) for _ in range(2))
        assert isinstance(await running, ClientGone)
        assert isinstance(await waiting, ClientGone)
        assert pool.unfinished == 1
        free.set()
        await until(stopped.is_set)
        await until(lambda: pool.unfinished == 0)

    with_pool(1, 1, scene)


def test_stopping_is_for_one_thread():
    with stop_when(lambda: True):
        other = threading.Thread(target=check_stopped)
        other.start()
        other.join()
        with pytest.raises(Stopped):
            check_stopped()
    check_stopped()


def in_threads(count, work):
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_what_is_kept_is_made_once_and_bounded():
    kept, made = ModelPool(2), []

    def make(key):
        made.append(key)
        time.sleep(0.02)
        return object()

    found = []
    in_threads(8, lambda _number: found.append(kept.get("a", lambda: make("a"))))
    assert made == ["a"]
    assert len(set(map(id, found))) == 1
    for key in "bca":
        kept.get(key, lambda key=key: make(key))
    assert made == ["a", "b", "c", "a"]  # `a` was used longest ago when `c` came
    assert len(kept) == 2
    kept.resize(1)
    assert len(kept) == 1


def test_what_cannot_be_made_is_tried_again():
    kept = ModelPool(1)
    with pytest.raises(ZeroDivisionError):
        kept.get("a", lambda: 1 // 0)
    assert kept.get("a", lambda: "made") == "made"


def test_one_load_at_a_time_while_what_is_there_is_given():
    kept, loading, go = ModelPool(3), threading.Event(), threading.Event()
    kept.get("there", lambda: "there")
    most, at_once = 0, 0

    def load():
        nonlocal most, at_once
        at_once += 1
        most = max(most, at_once)
        loading.set()
        go.wait(PATIENCE)
        at_once -= 1
        return "loaded"

    threads = [threading.Thread(target=kept.get, args=(key, load)) for key in "ab"]
    for thread in threads:
        thread.start()
    loading.wait(PATIENCE)
    assert kept.get("there", lambda: "again") == "there"
    go.set()
    for thread in threads:
        thread.join()
    assert most == 1


def test_a_memory_shared_by_threads_counts_right():
    texts = [f"word{number} and more" for number in range(60)]
    size = FakeEncoder((2,)).encode(texts[:1])[0].vectors.nbytes
    memory = EmbeddingMemory(FakeEncoder((2,)), max_bytes=20 * size)

    def work(number):
        for start in range(200):
            some = [texts[(start * 7 + number + place) % len(texts)] for place in range(10)]
            found = memory.encode(some, keep=some)
            assert set(found) == set(some)

    failures = []
    in_threads(4, lambda number: _caught(work, number, failures))
    assert failures == []
    assert memory._bytes == sum(one.vectors.nbytes for one in memory._cache.values()) <= 20 * size


def _caught(work, number, failures):
    try:
        work(number)
    except Exception as error:
        failures.append(error)


def test_however_much_is_refused_a_client_that_waits_keeps_its_connection():
    settings = Settings(models=("fake",))
    pool = WorkerPool(1, 0, settings.longest_retry)
    pool._mean_seconds = 100.0
    refused = {pool.busy().retry_after for _ in range(1000)}
    assert refused == {settings.longest_retry}
    assert 2 * settings.longest_retry <= settings.idle_seconds
