"""Nothing that happens to kept vectors is ever an error: damage, several writers, sudden ends, full disks."""

import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from evalign.encoders import embedding_store
from evalign.encoders.embedding_store import remove_least_recently_used
from evalign.encoders.fake import FakeEncoder
from evalign.encoders.safetensors_headers import file_tensors
from kept_embeddings import assert_same, cached, counting, knowing, packs
from tiny_models import SENTENCES, open_ort

SMALL = ["two words", "", "three more words"]


@pytest.fixture
def small(tmp_path):
    """A folder with one pack of three texts."""
    first = cached(FakeEncoder((2,)), tmp_path / "whole")
    first.encode(SMALL)
    first.folder.flush()
    return tmp_path / "whole"


def damaged(pack, content, caplog):
    """Opens a folder whose pack was given this content: the right vectors come, it heals; the texts encoded again."""
    root = pack.parent.parent
    pack.write_bytes(content)
    caplog.clear()
    seen = []
    encoder = cached(counting(FakeEncoder((2,)), seen), root)
    assert_same(encoder.encode(SMALL), FakeEncoder((2,)).encode(SMALL))
    encoder.folder.flush()
    assert len(caplog.records) <= 1
    assert_same(knowing(FakeEncoder((2,)), root).encode(SMALL), FakeEncoder((2,)).encode(SMALL))
    assert len(caplog.records) <= 1  # the healed folder has nothing more to say
    for file in packs(root):
        if file != pack:
            file.unlink()
    return seen


@pytest.mark.slow
def test_a_flipped_bit_anywhere_is_a_miss(small, caplog):
    [pack] = packs(small)
    whole = pack.read_bytes()
    places = file_tensors(pack)
    start = 8 + struct.unpack("<Q", whole[:8])[0]
    for place in [*range(start), *range(start, len(whole), 3), len(whole) - 1]:
        broken = bytearray(whole)
        broken[place] ^= 1 << place % 8
        seen = damaged(pack, bytes(broken), caplog)
        if place >= start:
            vectors = places["vectors"].offset <= place < places["vectors"].offset + places["vectors"].length
            assert len(seen) == (1 if vectors else 3), place
            assert len(caplog.records) == 1


def test_a_pack_cut_short_is_a_miss(small, caplog):
    [pack] = packs(small)
    whole = pack.read_bytes()
    for length in {*range(0, len(whole), 13), 7, 8, 9, len(whole) - 1}:
        assert damaged(pack, whole[:length], caplog), length
    assert damaged(pack, whole + b"more", caplog)  # the format allows no bytes behind the tensors
    assert damaged(pack, whole, caplog) == []


def tensors(change):
    """A well-formed safetensors file whose tensors are others."""

    def content(pack):
        loaded = load_file(pack)
        change(loaded)
        file = pack.with_name("changed")
        save_file(loaded, file)
        raw = file.read_bytes()
        file.unlink()
        return raw

    return content


def header(text):
    return lambda _: struct.pack("<Q", len(text)) + text


WRONG = {
    "empty": lambda _: b"",
    "noise": lambda _: bytes(range(256)) * 8,
    "no json": header(b"{nothing"),
    "a list": header(b"[1, 2]"),
    "a deep header": header(b"[" * 100_000),
    "no tensors": header(b"{}"),
    "a header beyond the file": lambda _: struct.pack("<Q", 2**40) + b"{}",
    "an extent beyond the file": header(b'{"keys":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}}'),
    "negative": header(b'{"keys":{"dtype":"U8","shape":[-1],"data_offsets":[0,-1]}}'),
    "no seal": tensors(lambda found: found.pop("seal")),
    "no vectors": tensors(lambda found: found.pop("vectors")),
    "fewer vectors": tensors(lambda found: found.update(vectors=found["vectors"][:-1])),
    "half vectors": tensors(lambda found: found.update(vectors=found["vectors"].astype(np.float16))),
    "whole vectors": tensors(lambda found: found.update(vectors=found["vectors"].view(np.int32))),
    "flat vectors": tensors(lambda found: found.update(vectors=found["vectors"].reshape(-1))),
    "narrow vectors": tensors(lambda found: found.update(vectors=found["vectors"][:, :16].copy())),
    "no texts": tensors(lambda found: found.update({name: found[name][:0] for name in ("keys", "digests", "tokens")})),
    "one text less": tensors(lambda found: found.update(tokens=found["tokens"][1:].copy())),
    "keys exchanged": tensors(lambda found: found.update(keys=found["keys"][::-1].copy())),
    "a number for a list": tensors(lambda found: found.update(tokens=np.array(3))),
}


@pytest.mark.parametrize("content", WRONG.values(), ids=WRONG)
def test_what_is_no_pack_is_a_miss(small, caplog, content):
    [pack] = packs(small)
    assert damaged(pack, content(pack), caplog)


def test_another_encoders_pack_is_a_miss(small, caplog):
    [pack] = packs(small)
    others = cached(FakeEncoder((3,)), small, weights="others")
    others.encode(SMALL)
    others.folder.flush()
    [other] = set(packs(small)) - {pack}
    content = other.read_bytes()
    shutil.rmtree(other.parent)
    assert damaged(pack, content, caplog) == SMALL


@pytest.mark.parametrize(("left", "lost"), [(0, 3), (0.5, 2), (0.99, 1)])
def test_a_pack_cut_short_while_it_is_open_is_a_miss(small, caplog, left, lost):
    """The index is in memory; of the vectors, some are no longer in the file."""
    [pack] = packs(small)
    vectors = file_tensors(pack)["vectors"]
    seen = []
    encoder = cached(counting(FakeEncoder((2,)), seen), small)
    encoder.encode(SMALL)
    assert seen == []
    os.truncate(pack, vectors.offset + int(left * vectors.length))
    assert_same(encoder.encode(SMALL), FakeEncoder((2,)).encode(SMALL))
    assert seen == SMALL[-lost:]
    assert len(caplog.records) == 1


def test_a_folder_in_the_place_of_a_pack(small, caplog):
    [pack] = packs(small)
    pack.unlink()
    pack.mkdir()
    assert_same(cached(FakeEncoder((2,)), small).encode(SMALL), FakeEncoder((2,)).encode(SMALL))
    assert len(caplog.records) == 1


def test_a_pack_that_is_gone_is_a_silent_miss(small, caplog):
    encoder = cached(FakeEncoder((2,)), small)
    encoder.encode(SMALL)
    shutil.rmtree(small)
    assert_same(encoder.encode([*SMALL, "new"]), FakeEncoder((2,)).encode([*SMALL, "new"]))
    encoder.folder.flush()
    assert caplog.records == []
    knowing(FakeEncoder((2,)), small).encode([*SMALL, "new"])


def test_text_that_a_tokenizer_now_cuts_otherwise_is_a_miss(small):
    """A later release of a library may do that, with the same tokenizer.json."""

    class Other(FakeEncoder):
        def tokenize(self, texts):
            return [replace(tokens, ids=tokens.ids + 1) for tokens in super().tokenize(texts)]

    seen = []
    cached(counting(Other((2,)), seen), small).encode(SMALL)
    assert seen == SMALL


# Several at once, and sudden ends


WRITER = """
import sys
from evalign.encoders import embedding_store
from evalign.encoders.embedding_store import remove_least_recently_used
from evalign.encoders.embedding_store import CachedEncoder
from evalign.encoders.fake import FakeEncoder
from evalign.encoders.embedding_store import PackFolder
from pathlib import Path
embedding_store.MIN_PACK_BYTES = 1
root, start, stop, most = Path(sys.argv[1]), *map(int, sys.argv[2:])
encoder = CachedEncoder(FakeEncoder((2,)), PackFolder(root, {"weights": "test"}, 1, most))
for number in range(start, stop):
    texts = [f"text {number} of many", f"text {number + 1} of many"]
    for ours, theirs in zip(encoder.encode(texts), FakeEncoder((2,)).encode(texts), strict=True):
        assert ours.vectors.tobytes() == theirs.vectors.tobytes()
"""


def writer(root, start, stop, most=2**30):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, *map(str, (root, start, stop, most))], stderr=subprocess.PIPE, text=True
    )


def test_processes_write_at_the_same_time(tmp_path):
    together = [writer(tmp_path, 0, 150), writer(tmp_path, 75, 225)]
    assert [process.communicate()[1] for process in together] == ["", ""]
    assert [process.returncode for process in together] == [0, 0]
    texts = [f"text {number} of many" for number in range(226)]
    assert_same(knowing(FakeEncoder((2,)), tmp_path).encode(texts), FakeEncoder((2,)).encode(texts))
    assert len(packs(tmp_path)) >= 224  # both begin with a pack of two texts, all others hold one


def test_processes_remove_what_others_read(tmp_path):
    most = 40_000
    together = [writer(tmp_path, 0, 150, most), writer(tmp_path, 0, 150, most)]
    assert [process.communicate()[1] for process in together] == ["", ""]
    assert sum(file.stat().st_size for file in packs(tmp_path)) <= most


def test_one_process_sees_what_another_has_written(tmp_path):
    one = cached(FakeEncoder((2,)), tmp_path)
    one.encode(["old"])
    one.folder.flush()
    other = cached(FakeEncoder((2,)), tmp_path)
    other.encode(["new"])
    other.folder.flush()
    seen = []
    one.encoder = counting(FakeEncoder((2,)), seen)
    one.encode(["old", "new"])
    assert seen == []


def test_killed_at_any_time_it_leaves_a_usable_folder(tmp_path, caplog):
    for wait in (1, 5, 20):
        process = writer(tmp_path, 0, 10**9)
        while len(packs(tmp_path)) < wait:
            assert process.poll() is None
            time.sleep(0.001)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    texts = [f"text {number} of many" for number in range(20)]
    assert_same(cached(FakeEncoder((2,)), tmp_path).encode(texts), FakeEncoder((2,)).encode(texts))
    assert caplog.records == []  # no pack is damaged


def test_killed_in_the_middle_of_a_pack(tmp_path, caplog):
    killed = """
import os, sys
from evalign.encoders import embedding_store
save = embedding_store.save
def half_saved(tensors):
    [part] = __import__("pathlib").Path(sys.argv[1]).glob("*/.pack-*.part")
    part.write_bytes(save(tensors)[:100])
    os.kill(os.getpid(), 9)
embedding_store.save = half_saved
"""
    process = subprocess.run([sys.executable, "-c", killed + WRITER, str(tmp_path), "0", "9", "9999"])
    assert process.returncode == -signal.SIGKILL
    [left] = tmp_path.glob("*/.pack-*.part")
    assert left.stat().st_size == 100
    encoder = cached(FakeEncoder((2,)), tmp_path)
    encoder.encode(SMALL)
    encoder.folder.flush()
    assert left.exists()  # it could still be written
    os.utime(left, (0, 0))
    encoder.encode(["another"])
    encoder.folder.flush()
    assert not left.exists()
    assert caplog.records == []


def test_threads_share_one(tiny, tmp_path):
    encoder = open_ort(tiny("bert"), (1,), token_budget=1)
    wrapped = cached(encoder, tmp_path)
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(wrapped.encode, [SENTENCES[k % 5 :] for k in range(24)]))
    plain = encoder.encode(SENTENCES)
    for k, part in enumerate(parts):
        assert_same(part, plain[k % 5 :])


# Bounds, and disks that do not take any more


def test_the_oldest_packs_go_first(tmp_path, monkeypatch):
    monkeypatch.setattr(embedding_store, "MIN_PACK_BYTES", 1)
    foreign = [tmp_path / "model" / "model.safetensors", tmp_path / "embeddings-mine" / "notes.safetensors"]
    for file in foreign:
        file.parent.mkdir()
        file.write_bytes(b"x" * 100_000)
    texts = [f"text number {number}" for number in range(40)]
    encoder = cached(FakeEncoder((2,)), tmp_path, max_bytes=20_000)
    other = cached(FakeEncoder((2,)), tmp_path, max_bytes=20_000, weights="other")
    other.encode(["the oldest of all"])
    for text in texts:
        encoder.encode([text])
        assert sum(file.stat().st_size for file in packs(tmp_path)) <= 20_000
    assert 10 <= len(packs(tmp_path)) < 40
    assert len(encoder.folder.read(texts, encoder.tokenize)) == len(packs(tmp_path))  # what was removed is forgotten
    seen = []
    again = cached(counting(FakeEncoder((2,)), seen), tmp_path)
    again.encode(texts)
    assert seen == texts[: len(seen)]
    assert len(seen) == 40 - (len(packs(tmp_path)) - 1)
    assert not list(packs(tmp_path)[0].parent.parent.glob(f"{other.folder._folder.name}/pack-*"))
    assert all(file.stat().st_size == 100_000 for file in foreign)


def test_a_pack_that_was_read_stays_longer_than_a_newer_one(tmp_path, monkeypatch):
    monkeypatch.setattr(embedding_store, "MIN_PACK_BYTES", 1)
    writer = cached(FakeEncoder((2,)), tmp_path)
    for place, text in enumerate(["first", "second", "third"]):
        writer.encode([text])
        os.utime(packs(tmp_path)[-1], (place + 1, place + 1))
    cached(FakeEncoder((2,)), tmp_path).encode(["first"])
    remove_least_recently_used(tmp_path, sum(file.stat().st_size for file in packs(tmp_path)) - 1)
    seen = []
    cached(counting(FakeEncoder((2,)), seen), tmp_path).encode(["first", "second", "third"])
    assert seen == ["second"]


def test_what_is_larger_than_the_bound_is_not_kept(tmp_path, caplog):
    encoder = cached(FakeEncoder((2,)), tmp_path, max_bytes=1000)
    encoder.encode(["a text of more than six words or so", "short"])
    encoder.folder.flush()
    assert caplog.records == []
    assert sum(file.stat().st_size for file in packs(tmp_path)) <= 1000
    knowing(FakeEncoder((2,)), tmp_path).encode(["short"])


def test_packs_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(embedding_store, "PACK_BYTES", 5000)
    texts = [f"text number {number}" for number in range(100)]
    encoder = cached(FakeEncoder((2,)), tmp_path)
    assert_same(encoder.encode(texts), FakeEncoder((2,)).encode(texts))
    encoder.folder.flush()
    assert len(packs(tmp_path)) == 13  # eight texts of five tokens of 128 bytes reach 5,000 bytes
    assert max(file.stat().st_size for file in packs(tmp_path)) < 5000 + 640 + 1000
    assert_same(knowing(FakeEncoder((2,)), tmp_path).encode(texts), FakeEncoder((2,)).encode(texts))


def test_a_folder_that_cannot_be_made(tmp_path, caplog):
    (tmp_path / "file").write_text("in the way")
    encoder = cached(FakeEncoder((2,)), tmp_path / "file" / "below")
    for _ in range(3):
        assert_same(encoder.encode(SMALL), FakeEncoder((2,)).encode(SMALL))
        encoder.folder.flush()
    [record] = caplog.records
    assert "vectors are not stored" in record.getMessage()


def test_a_folder_that_can_only_be_read(caplog):
    """Known texts are read, others encoded and not kept. Root may write everywhere, so it steps down for this."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        first = cached(FakeEncoder((2,)), root)
        first.encode(SMALL)
        first.folder.flush()
        folder = packs(root)[0].parent
        for path, mode in ((root, 0o755), (folder, 0o555), (packs(root)[0], 0o444)):
            path.chmod(mode)
        seen = []
        encoder = cached(counting(FakeEncoder((2,)), seen), root)
        if os.geteuid() == 0:
            os.seteuid(65534)
        try:
            for _ in range(2):
                assert_same(encoder.encode([*SMALL, "new"]), FakeEncoder((2,)).encode([*SMALL, "new"]))
                encoder.folder.flush()
        finally:
            os.seteuid(os.getuid())
        assert seen == ["new", "new"]
        assert len(caplog.records) == 1
        assert len(packs(root)) == 1
        folder.chmod(0o755)


def test_a_full_disk_stops_the_keeping_and_not_the_scoring(tmp_path):
    """No file may grow beyond 2,000 bytes: a write fails in its middle, as it does when the disk is full."""
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))"
    done = subprocess.run(
        [sys.executable, "-c", limited + WRITER.replace("MIN_PACK_BYTES = 1", "MIN_PACK_BYTES = 1500"),
         str(tmp_path), "0", "40", "99999"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    [line] = done.stderr.splitlines()
    assert "vectors are not stored" in line
    assert list(tmp_path.glob("*/*")) == []  # nothing half written is left
