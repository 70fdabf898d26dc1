"""Cores and memory that workers may take: those of the machine, or of the container if it has less."""

import os
import sys

import pytest

from evalign.batch import local_engine as resources
from evalign.encoders.base import out_of_memory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits are read on Linux only")
GIB = 2**30


@pytest.fixture
def container(tmp_path, monkeypatch):
    """Writes what the system says of a container; none at first."""
    names = {"memory": tmp_path / "memory.max", "cpu": tmp_path / "cpu.max"}
    monkeypatch.setattr(resources, "CGROUP_LIMITS", (str(names["memory"]),))
    monkeypatch.setattr(resources, "CGROUP_CORES", str(names["cpu"]))
    return lambda kind, text: names[kind].write_text(text, "ascii")


def test_memory_is_an_even_share(container):
    machine = resources.share(1)
    assert machine == int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 0.8)
    container("memory", "max\n")
    assert resources.share(1) == machine
    container("memory", f"{GIB // 2}\n")
    assert resources.share(4) == GIB // 10


@pytest.mark.parametrize(
    ("quota", "cores"), [("max 100000", 8), ("200000 100000", 2), ("50000 100000", 1), ("9900000 100000", 8)]
)
def test_cores_are_those_of_the_container(container, monkeypatch, quota, cores):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)))
    container("cpu", quota)
    assert resources.cores() == cores


def test_a_limit_ends_with_its_block():
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    with resources.memory_limit(GIB), pytest.raises(MemoryError):
        bytearray(4 * GIB)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


@pytest.mark.parametrize(
    ("module", "message", "expected"),
    [("onnxruntime.capi", "Exception: std::bad_alloc", True), ("onnxruntime.capi", "bad shape", False),
     ("elsewhere", "std::bad_alloc", False)],
)  # fmt: skip
def test_a_lack_of_memory_in_onnx_runtime_is_told_from_damaged_weights(module, message, expected):
    native = type("RuntimeException", (Exception,), {"__module__": module})
    assert out_of_memory(native(message)) is expected
