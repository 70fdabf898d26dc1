"""What every engine promises: the same bytes for any sharding, a stopped run goes on, an error of a task is raised."""

import sys
from dataclasses import replace

import pytest

from batch_jobs import Deadly, Greedy, StopError, after_shards, content, made_rows, ray_engine, run, stop, write_rows
from evalign.batch.job import Manifest
from evalign.batch.local_engine import LocalEngine
from evalign.errors import FileFormatError, InputError
from evalign.io.folders import open_folder

SPECS = ("bertscore(model=fake, idf=references)", "chrf")
ENGINES = {"local": lambda: LocalEngine(1), "processes": lambda: LocalEngine(2), "ray": lambda: ray_engine(workers=2)}


@pytest.fixture(scope="module")
def engine(request):
    made = ENGINES[request.param]()
    yield made
    made.close()


quickly = pytest.mark.parametrize(
    "engine", ["local", *(pytest.param(name, marks=pytest.mark.slow) for name in ("processes", "ray"))], indirect=True
)
slowly = pytest.mark.parametrize("engine", ENGINES, indirect=True)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Many rows, and what a job in one piece makes of them."""
    folder = tmp_path_factory.mktemp("many")
    data = write_rows(folder / "in.jsonl", made_rows(33_000))
    run(data, folder / "whole", SPECS, shard_rows=34 * 1024)
    return data, content(folder / "whole")


@pytest.mark.slow
@slowly
def test_1_3_and_17_shards_give_the_same_bytes(tmp_path, engine, many):
    data, whole = many
    for shards, rows in ((1, 34 * 1024), (3, 12 * 1024), (17, 2048)):
        assert run(data, tmp_path / str(shards), SPECS, shard_rows=rows, engine=engine).shards_scored == shards
        assert content(tmp_path / str(shards)) == whole
    if engine.workers == 2:
        assert (
            run(data, tmp_path / "one", SPECS, shard_rows=2048, engine=replace(engine, workers=1)).shards_scored == 17
        )
        assert content(tmp_path / "one") == whole


@quickly
def test_a_stopped_run_goes_on_from_the_manifest(tmp_path, engine):
    data = write_rows(tmp_path / "in.jsonl", made_rows(2300))
    run(data, tmp_path / "whole")
    with pytest.raises(StopError):
        run(data, tmp_path / "cut", engine=engine, watch=after_shards(1, stop))
    assert len(Manifest(open_folder(tmp_path / "cut")).done("score")) == 1
    assert run(data, tmp_path / "cut", engine=engine).shards_scored == 2
    assert content(tmp_path / "cut") == content(tmp_path / "whole")
    assert run(data, tmp_path / "cut", engine=engine).shards_scored == 0


@quickly
def test_input_that_changes_while_the_job_runs_is_noticed_and_can_be_put_back(tmp_path, engine):
    data = write_rows(tmp_path / "in.jsonl", made_rows(5000))
    run(data, tmp_path / "whole")
    original = data.read_bytes()

    def change():
        data.write_bytes(original[:-40] + original[-40:].replace(b"a", b"e"))

    with pytest.raises(FileFormatError, match="changed while the job ran"):
        run(data, tmp_path / "out", engine=engine, watch=after_shards(1, change))
    data.write_bytes(original)
    run(data, tmp_path / "out", engine=engine)
    assert content(tmp_path / "out") == content(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["processes", "ray"], indirect=True)
def test_rows_that_always_kill_their_worker_are_named_and_the_rest_is_kept(tmp_path, engine):
    data = write_rows(tmp_path / "in.jsonl", made_rows(5000))
    run(data, tmp_path / "whole")
    with pytest.raises(InputError, match=r"in\.jsonl: rows 1025 to 2048: 3 workers were lost at them"):
        run(data, tmp_path / "out", (Deadly(n=1),), engine=engine)
    assert Manifest(open_folder(tmp_path / "out")).done("score")
    run(data, tmp_path / "out", engine=engine)
    assert content(tmp_path / "out") == content(tmp_path / "whole")


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
@quickly
def test_rows_that_need_more_memory_than_a_worker_may_take_are_named(tmp_path, engine):
    data = write_rows(tmp_path / "in.jsonl", made_rows(2100))
    run(data, tmp_path / "whole")
    small = replace(engine, memory=2**30)
    with pytest.raises(InputError, match=r"in\.jsonl: rows 1025 to 2048: a worker needs more memory .* more `memory`"):
        run(data, tmp_path / "out", (Greedy(n=1),), engine=small)
    run(data, tmp_path / "out", engine=small)
    assert content(tmp_path / "out") == content(tmp_path / "whole")
