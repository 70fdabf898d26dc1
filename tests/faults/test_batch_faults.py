"""Batch jobs under faults: kills at random moments, disks that fail at every write, workers and drivers that die."""

import errno
import json
import multiprocessing
import os
import random
import signal
import subprocess
import time
from contextlib import nullcontext

import pytest

from batch_jobs import command, content, ids, kill_at_random, made_rows, run, write_rows
from evalign.batch.job import Manifest
from evalign.batch.local_engine import LocalEngine
from evalign.encoders.loading import keep_embeddings
from evalign.errors import FileFormatError, InputError
from evalign.io.folders import open_folder
from kept_embeddings import forget, packs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and signals"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]
FAKE = ("bertscore(model=fake)",)
KILLS = 100
PARENT = (1, 2)  # the first of these calls open and sync the folder that holds the job's, which need not be readable
CALLS = ("write", "fsync", "replace", "open", "truncate")  # what writes a file, in os


def test_100_kills_at_random_moments_lose_nothing(tmp_path):
    """Forked processes: what would be the start of a Python is no part of the job. Finished jobs start anew."""
    data = write_rows(tmp_path / "in.jsonl", made_rows(10_000))
    run(data, tmp_path / "whole", FAKE)
    whole, draw = content(tmp_path / "whole"), random.Random(0)
    kills = jobs = 0
    while kills < KILLS:
        out = tmp_path / f"out{jobs}"
        process = multiprocessing.get_context("fork").Process(target=run, args=(data, out, FAKE))
        process.start()
        process.join(draw.uniform(0, 1))
        if process.is_alive():
            process.kill()
            process.join()
            kills += 1
        else:
            assert process.exitcode == 0
            assert content(out) == whole
            jobs += 1
    last = tmp_path / f"out{jobs}"
    run(data, last, FAKE)
    assert content(last) == whole
    assert len(set(ids(last))) == 10_000


def test_kills_of_a_job_with_a_real_encoder_lose_nothing(tmp_path, minilm):
    data = write_rows(tmp_path / "in.jsonl", made_rows(2000))
    spec = "bertscore(layer=2)"
    contents = kill_at_random(lambda out: command(data, out, spec, "--workers", "1"), tmp_path, seed=2)
    assert len(set(contents)) == 1


class FailingDisk:
    """os with one call that fails: the n-th of those that write."""

    def __init__(self, monkeypatch, code, at):
        self.calls, self.at, self.code = 0, at, code
        for name in CALLS:
            monkeypatch.setattr(os, name, self._counted(getattr(os, name)))

    def _counted(self, real):
        def call(*arguments, **options):
            self.calls += 1
            if self.calls == self.at:
                raise OSError(self.code, os.strerror(self.code))
            return real(*arguments, **options)

        return call


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EACCES], ids=errno.errorcode.get)
def test_a_disk_that_fails_at_any_write_ends_with_a_sentence_and_the_job_goes_on(tmp_path, code):
    data = write_rows(tmp_path / "in.jsonl", [*made_rows(1030), {"id": "bad"}])
    with pytest.MonkeyPatch.context() as patch:
        disk = FailingDisk(patch, code, at=0)
        run(data, tmp_path / "whole")
    assert disk.calls > 30
    for at in range(1, disk.calls + 1):
        out = tmp_path / str(at)
        with pytest.MonkeyPatch.context() as patch:
            FailingDisk(patch, code, at)
            refused = pytest.raises(FileFormatError, match=rf"cannot be written \({os.strerror(code)}\)")
            with nullcontext() if code == errno.EACCES and at in PARENT else refused:
                run(data, out)
        run(data, out)
        assert content(out) == content(tmp_path / "whole")


def test_a_write_that_ends_halfway_leaves_no_torn_file(tmp_path, monkeypatch):
    data = write_rows(tmp_path / "in.jsonl", made_rows(1100))
    run(data, tmp_path / "whole")
    real, calls = os.write, []

    def half(handle, view):
        calls.append(handle)
        if len(calls) == 6:
            real(handle, bytes(view)[: len(view) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(handle, view)

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(FileFormatError, match="No space left"):
        run(data, tmp_path / "out")
    run(data, tmp_path / "out")
    assert content(tmp_path / "out") == content(tmp_path / "whole")


@pytest.fixture
def disk(tmp_path):
    """A disk of 300 KB, and what changes it: a file system of its own refuses root, too."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(options):
        subprocess.run(["mount", "-o", options, "-t", "tmpfs", "tmpfs", str(folder)], check=True, capture_output=True)

    try:
        mount("size=300k")
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"a small file system cannot be mounted here: {error}")
    yield folder, lambda options: mount(f"remount,{options}")
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_and_a_folder_that_may_only_be_read(tmp_path, disk, workers):
    folder, change = disk
    data = write_rows(tmp_path / "in.jsonl", made_rows(4000))
    run(data, tmp_path / "whole")
    with pytest.raises(FileFormatError, match=r"cannot be written \(No space left on device\).* same command again"):
        run(data, folder / "out", workers=workers)
    assert Manifest(open_folder(folder / "out")).done("score")
    change("size=300k,ro")
    for out in ("out", "other"):
        with pytest.raises(FileFormatError, match=rf"{out}: cannot be written \(Read-only file system\)"):
            run(data, folder / out, workers=workers)
    change("size=9m,rw")
    assert run(data, folder / "out", workers=workers).shards_scored < 4
    assert content(folder / "out") == content(tmp_path / "whole")


def killing(times):
    """A watch that kills a worker process after each of the first finished shards."""
    left = list(range(times))

    def watch(what, total):
        def advance(rows):
            if what == "scoring" and left:
                left.pop()
                multiprocessing.active_children()[0].kill()

        return advance

    return watch


def test_a_killed_worker_is_replaced(tmp_path):
    data = write_rows(tmp_path / "in.jsonl", made_rows(5000))
    run(data, tmp_path / "whole")
    run(data, tmp_path / "out", workers=2, watch=killing(2))
    assert content(tmp_path / "out") == content(tmp_path / "whole")
    assert multiprocessing.active_children() == []


def stopping(after):
    """A watch that stops a worker, as a dead mount would, when `after` shards are finished."""
    left = list(range(after))

    def watch(what, total):
        def advance(rows):
            if what == "scoring" and left:
                left.pop()
                if not left:
                    os.kill(multiprocessing.active_children()[0].pid, signal.SIGSTOP)

        return advance

    return watch


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="this system cannot stop processes")
def test_a_worker_that_hangs_is_replaced(tmp_path, caplog):
    """The other worker is at work or idle: only a worker that was given a shard can be silent for too long."""
    data = write_rows(tmp_path / "in.jsonl", made_rows(8000))
    run(data, tmp_path / "whole")
    run(data, tmp_path / "out", watch=stopping(1), engine=LocalEngine(2, patience=40))
    assert content(tmp_path / "out") == content(tmp_path / "whole")
    assert multiprocessing.active_children() == []
    assert "a worker was lost without a sign of life; another one takes over" in caplog.text


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="this system cannot stop processes")
def test_workers_that_always_hang_end_the_run_with_a_sentence(tmp_path, monkeypatch):
    data = write_rows(tmp_path / "in.jsonl", made_rows(2100))
    monkeypatch.setattr("evalign.batch.local_engine._serve", hang)
    with pytest.raises(InputError, match=r"3 workers were lost at them \(the last without a sign of life\)"):
        run(data, tmp_path / "out", engine=LocalEngine(2, patience=1))


def hang(work, memory, pipe):
    os.kill(os.getpid(), signal.SIGSTOP)


def test_workers_that_always_die_end_the_run_with_a_sentence(tmp_path, monkeypatch):
    data = write_rows(tmp_path / "in.jsonl", made_rows(2100))
    monkeypatch.setattr("evalign.batch.local_engine._serve", die)
    with pytest.raises(InputError, match=r"3 workers were lost at them \(the last with exit code 9\)"):
        run(data, tmp_path / "out", workers=2)
    monkeypatch.undo()
    run(data, tmp_path / "out")
    assert len(ids(tmp_path / "out")) == 2100


def die(work, memory, pipe):
    os._exit(9)


def test_a_killed_driver_with_two_workers_resumes(tmp_path):
    data = write_rows(tmp_path / "in.jsonl", made_rows(6000))
    run(data, tmp_path / "whole", FAKE)
    two = command(data, tmp_path / "out", FAKE[0], "--workers", "2")
    with subprocess.Popen(two, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not Manifest(open_folder(tmp_path / "out")).entries:
            time.sleep(0.01)
        process.kill()
    run_again = subprocess.run(two, capture_output=True, text=True, check=False)
    assert run_again.returncode == 0, run_again.stderr
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_two_runs_at_once_one_works_and_one_is_refused(tmp_path):
    data = write_rows(tmp_path / "in.jsonl", made_rows(6000))
    run(data, tmp_path / "whole", FAKE)
    same = command(data, tmp_path / "out", FAKE[0], "--workers", "1")
    both = [subprocess.Popen(same, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    ended = sorted((process.communicate()[1], process.returncode) for process in both)
    assert {code for _, code in ended} <= {0, 2}
    assert all(code == 0 or "another run is working in this folder" in said for said, code in ended)
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_damaged_packs_of_vectors_change_nothing(tmp_path, caplog):
    data = write_rows(tmp_path / "in.jsonl", made_rows(1500))
    keep_embeddings(tmp_path / "kept")
    try:
        run(data, tmp_path / "whole", FAKE)
        forget()
        for pack in packs(tmp_path / "kept"):
            content_of = bytearray(pack.read_bytes())
            content_of[len(content_of) // 2] ^= 255
            pack.write_bytes(content_of)
        run(data, tmp_path / "out", FAKE)
    finally:
        keep_embeddings(None)
        forget()
    assert "encoded again" in caplog.text
    assert content(tmp_path / "out") == content(tmp_path / "whole")


@pytest.mark.parametrize("engine", ["local", "ray"])
def test_ctrl_c_ends_with_one_line_and_the_job_goes_on(tmp_path, monkeypatch, engine):
    if engine == "ray":
        pytest.importorskip("ray")
        monkeypatch.delenv("RAY_ADDRESS", raising=False)
    data = write_rows(tmp_path / "in.jsonl", made_rows(9000))
    job = command(data, tmp_path / "out", FAKE[0], "--engine", engine, "--workers", "2")
    # A shell's background jobs, as these tests may be one, hand on that they ignore Ctrl-C.
    heeding = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    with subprocess.Popen(job, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **heeding) as process:
        while not Manifest(open_folder(tmp_path / "out")).entries:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert len(err.splitlines()) == 1
    assert "the same command resumes" in err
    again = subprocess.run(command(data, tmp_path / "out", FAKE[0]), capture_output=True, text=True, check=True)
    assert "9000 rows" in again.stderr
    assert json.loads((tmp_path / "out" / "summary.json").read_bytes())["rows"]["in"] == 9000
