"""Ray that is not there, not reached, or another: one sentence, and the job's folder as it was."""

import socket
import sys

import pytest

from batch_jobs import made_rows, run, write_rows
from evalign.batch.ray_engine import Driver, RayEngine
from evalign.errors import InputError, MissingExtraError, SpecError


def test_without_ray_its_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    data = write_rows(tmp_path / "in.jsonl", made_rows(5))
    with pytest.raises(MissingExtraError, match=r"--engine ray needs the extra 'ray': pip install 'evalign\[ray\]'"):
        run(data, tmp_path / "out", engine=RayEngine())
    assert run(data, tmp_path / "out").made == 1  # the folder can be used all the same


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
    assert run(data, tmp_path / "out").made == 1


def test_a_node_with_another_evalign_or_without_the_folder_says_so(tmp_path):
    data = write_rows(tmp_path / "in.jsonl", made_rows(5))
    run(data, tmp_path / "out")
    driver = Driver.here(tmp_path / "out")
    assert driver.problem() is None
    (tmp_path / "out" / "job.json").unlink()
    assert "give --out a folder that all nodes share" in driver.problem()
    assert "install it on every node" in Driver("0.0.1", driver.folder, driver.digest, {}).problem()
