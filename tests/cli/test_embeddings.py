"""`evalign embeddings`: info, verify and clear, and a batch job whose workers share the folder."""

import pytest

from batch_jobs import made_rows, write_rows
from kept_embeddings import packs

FAKE = "bertscore(model=fake)"


@pytest.fixture
def kept(tmp_path, run):
    """Vectors of a scored file."""
    write_rows(tmp_path / "in.jsonl", made_rows(20))
    assert run("score", "in.jsonl", "-m", FAKE, "--embeddings", "kept", cwd=tmp_path).returncode == 0
    from kept_embeddings import forget

    forget()
    return tmp_path / "kept"


def test_from_info_to_clear(kept, run):
    (kept / "notes.txt").write_text("mine", encoding="utf-8")
    told = run("embeddings", "info", str(kept))
    assert (told.returncode, told.stderr) == (0, "")
    assert "fake" in told.stdout
    assert "0.1 MB of at most 2048 MB" in told.stdout
    assert run("embeddings", "verify", str(kept)).stdout == "1 packs match their digest\n"
    assert run("embeddings", "clear", str(kept)).stdout == "1 packs removed\n"
    assert [path.name for path in kept.iterdir()] == ["notes.txt"]
    assert "0.0 MB of at most" in run("embeddings", "info", str(kept)).stdout


@pytest.mark.parametrize("place", [0, -1, None], ids=["header", "vectors", "description"])
def test_verify_finds_a_changed_byte(kept, run, place):
    [file] = packs(kept) if place is not None else kept.glob("*/encoder.json")
    content = bytearray(file.read_bytes())
    content[place or 0] ^= 1
    file.write_bytes(content)
    damaged = run("embeddings", "verify", str(kept))
    assert damaged.returncode == 2
    assert "1 of 1 packs are damaged, the first embeddings-" in damaged.stderr


def test_no_such_folder(tmp_path, run):
    for command in ("info", "verify", "clear"):
        refused = run("embeddings", command, str(tmp_path / "none"))
        assert refused.returncode == 2
        assert "no folder of embeddings; scoring with `embeddings=DIR` creates one" in refused.stderr


@pytest.mark.slow
def test_the_workers_of_a_job_share_the_folder(tmp_path, run_process):
    write_rows(tmp_path / "in.jsonl", made_rows(3000))
    job = ("batch", "run", "in.jsonl", "-m", FAKE, "--workers", "2", "--shard-rows", "1024", "--embeddings", "kept")
    summaries = set()
    for out in ("cold", "warm"):
        done = run_process(*job, "-o", out, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        summaries.add((tmp_path / out / "summary.json").read_bytes())
        if out == "cold":
            written = packs(tmp_path / "kept")
    assert len(summaries) == 1  # the fake encoder has no last bits
    assert packs(tmp_path / "kept") == written
    assert "packs match their digest" in run_process("embeddings", "verify", "kept", cwd=tmp_path).stdout
