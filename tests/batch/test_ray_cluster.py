"""Ray that is not there, not reached, or another: one sentence, and the job's folder as it was."""

import shutil
import socket
import sys
from dataclasses import replace

import pytest

from batch_jobs import made_rows, run, write_rows
from evalign.batch.job import Work
from evalign.batch.ray_engine import Driver, RayEngine
from evalign.core import installed
from evalign.core.registry import metric
from evalign.errors import InputError, MissingExtraError, SpecError
from evalign.io.folders import open_folder
from evalign.io.rows import Columns


def test_without_ray_its_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    data = write_rows(tmp_path / "in.jsonl", made_rows(5))
    with pytest.raises(MissingExtraError, match=r"`engine=ray` needs the extra 'ray': pip install 'evalign\[ray\]'"):
        run(data, tmp_path / "out", engine=RayEngine())
    assert run(data, tmp_path / "out").shards_scored == 1  # the folder can be used all the same


@pytest.mark.parametrize("address", ["cluster", "ray://10.0.0.1:10001", "10.0.0.1:port"])
def test_an_address_is_a_host_and_a_port(address):
    pytest.importorskip("ray")
    with pytest.raises(SpecError, match="expected HOST:PORT of the head node"):
        RayEngine(address=address).cluster.start(cpus=1)


def test_an_address_where_nobody_answers(tmp_path):
    pytest.importorskip("ray")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # and does not listen
        engine = RayEngine(address=f"127.0.0.1:{free.getsockname()[1]}")
        data = write_rows(tmp_path / "in.jsonl", made_rows(5))
        with pytest.raises(InputError, match=r"nothing answers there .* The same command goes on"):
            run(data, tmp_path / "out", engine=engine)
    assert run(data, tmp_path / "out").shards_scored == 1


def test_a_node_with_another_evalign_or_without_the_folder_says_so(tmp_path):
    data = write_rows(tmp_path / "in.jsonl", made_rows(5))
    run(data, tmp_path / "out")
    folder = open_folder(tmp_path / "out")
    driver, work = Driver.here(folder), Work(folder, (metric("rouge1"),), Columns(), "jsonl")
    assert driver.problem(work) is None
    (tmp_path / "out" / "job.json").unlink()
    assert "give `output` a folder that all nodes share" in driver.problem(work)
    assert "install it on every node" in Driver("0.0.1", driver.folder, driver.digest, {}).problem(work)


def test_a_node_with_other_libraries_another_processor_or_without_the_model_says_so(tmp_path, monkeypatch, tiny):
    """A node is simulated in this process: its libraries and its instruction sets are changed after the job began."""
    data, model = write_rows(tmp_path / "in.jsonl", made_rows(5)), shutil.copytree(tiny("bert"), tmp_path / "model")
    spec = f"bertscore(model={model}, layer=1)"
    run(data, tmp_path / "out", (spec,))
    folder = open_folder(tmp_path / "out")
    driver, work = Driver.here(folder), Work(folder, (metric(spec),), Columns(), "jsonl")
    assert driver.problem(work) is None
    with monkeypatch.context() as changed:
        changed.setenv("OPENBLAS_CORETYPE", "Another")
        assert "differs from the machine that started the job: another processor" in driver.problem(work)
        assert driver.problem(replace(work, accept_changes=True)) is None
        assert "Another" in driver.changes(work)[0]
    with monkeypatch.context() as changed:
        changed.setattr(installed, "version_of", lambda library: "0.0.1")
        assert "numpy" in "; ".join(driver.changes(work))
        assert "0.0.1" in driver.problem(work)
    shutil.rmtree(model)
    assert "no such directory" in driver.problem(work)
