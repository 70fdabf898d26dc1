"""Jobs on Ray under faults: a killed driver, killed actors, no room in the cluster, another version of Ray."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from batch_jobs import after_shards, command, content, kill_at_random, made_rows, ray_engine, run, write_rows
from evalign.batch.ray_engine import RayEngine
from evalign.errors import InputError

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs signals")]


@pytest.fixture(scope="module")
def engine():
    """One Ray for all tests here but those that kill it, with its files in a folder of its own."""
    pytest.importorskip("ray")
    with tempfile.TemporaryDirectory(prefix="ray") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_TMPDIR", folder)
        made = ray_engine(workers=2)
        yield made
        made.close()


def kill_process(actor):
    os.kill(actor["Pid"], signal.SIGKILL)


def kill_actor(actor):
    import ray

    ray._private.worker.global_worker.core_worker.kill_actor(ray.ActorID.from_hex(actor["ActorID"]), False)


@pytest.mark.parametrize("kill", [kill_process, kill_actor])
def test_a_killed_actor_is_replaced(tmp_path, engine, kill):
    import ray

    def strike():
        alive = [actor for actor in ray._private.state.actors().values() if actor["State"] == "ALIVE"]
        kill(next(actor for actor in alive if "RayWorker" in actor["ActorClassName"]))

    data = write_rows(tmp_path / "in.jsonl", made_rows(5000))
    run(data, tmp_path / "whole")
    run(data, tmp_path / "out", engine=engine, watch=after_shards(1, strike))
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_a_cluster_without_room_ends_the_run_with_a_sentence(tmp_path, engine):
    data = write_rows(tmp_path / "in.jsonl", made_rows(5))
    starving = RayEngine(workers=1, threads=64, patience=3)
    with pytest.raises(InputError, match=r"Ray finished no shard in 3 s: workers of 64 CPUs .* of 3 CPUs are free"):
        run(data, tmp_path / "out", engine=starving)
    assert run(data, tmp_path / "out", engine=engine).shards_scored == 1


def test_a_cluster_of_another_version_is_refused(tmp_path, engine):
    import ray

    data = write_rows(tmp_path / "in.jsonl", made_rows(5))
    address = ray.get_runtime_context().gcs_address
    joining = command(data, tmp_path / "out", "rouge1", "--engine", "ray", "--address", address)
    other = f"import ray; ray.__version__ = '2.0.0'; import evalign.cli.main as cli; cli.main({joining[3:]})"
    refused = subprocess.run([sys.executable, "-c", other], capture_output=True, text=True)
    assert refused.returncode == 2
    assert len(refused.stderr.splitlines()) == 1
    assert "must have the same versions of Ray and Python" in refused.stderr
    same = subprocess.run(joining, capture_output=True, text=True)
    assert same.returncode == 0, same.stderr
    assert "5 rows: 4 scored, 1 flagged" in same.stderr


def test_a_driver_killed_at_random_moments_resumes_and_leaves_no_process(tmp_path, monkeypatch):
    pytest.importorskip("ray")
    data = write_rows(tmp_path / "in.jsonl", made_rows(2000))
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        monkeypatch.setenv("RAY_TMPDIR", folder)
        monkeypatch.delenv("RAY_ADDRESS", raising=False)
        ray = ("--engine", "ray", "--workers", "1")
        contents = kill_at_random(lambda out: command(data, out, "bertscore(model=fake)", *ray), tmp_path, seed=1)
        deadline = time.monotonic() + 300
        while (left := _processes_with(folder)) and time.monotonic() < deadline:
            time.sleep(0.5)
    run(data, tmp_path / "local", ("bertscore(model=fake)",))
    assert set(contents) == {content(tmp_path / "local")}
    assert left == []


def _processes_with(word):
    """Command lines of running processes that have a word in them."""
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(file.read_bytes().decode(errors="replace").replace("\0", " "))
        except OSError:
            continue  # it has ended
    return [line for line in lines if word in line]
