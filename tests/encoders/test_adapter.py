"""Adapters: what is written is read, what is damaged is refused in one sentence, and the encoder is W + up down."""

import json
import shutil

import numpy as np
import onnxruntime
import pytest
from safetensors.numpy import load_file, save_file

import evalign
from evalign.encoders import adapter as adapter_files
from evalign.encoders import ort
from evalign.encoders.adapter import INDEX, TENSORS, LowRank, OutputLayer, read_adapter
from evalign.encoders.loading import EncoderSpec, keep_embeddings, open_encoder
from evalign.encoders.weights import content_digest, file_digest
from evalign.errors import LayerError, SpecError, WeightsError
from kept_embeddings import forget
from tiny_adapters import merged, random_adapter, saved
from tiny_models import FAMILIES, SENTENCES, distance


@pytest.fixture
def adapted(tiny, tmp_path):
    """A tiny BERT and the folder of an adapter for it."""
    model = tiny("bert")
    return model, saved(model, tmp_path / "adapter")


@pytest.fixture
def graphs(monkeypatch):
    """Every graph that ONNX Runtime gets."""
    made, session = [], ort._session
    monkeypatch.setattr(ort, "_session", lambda graph, threads: made.append(graph) or session(graph, threads))
    return made


def opened(model, folder="", **options):
    return open_encoder(EncoderSpec(str(model), adapter=str(folder), threads=1, **options)).encoder


def signed(folder, **changes):
    """Changes the content of adapter.json and signs it again, as a program of somebody else might."""
    plain = json.loads((folder / INDEX).read_text("utf-8"))
    content = plain["content"] | {"tensors_sha256": file_digest(folder / TENSORS)} | changes
    (folder / INDEX).write_text(json.dumps(plain | {"content": content, "sha256": content_digest(content)}), "utf-8")


def test_what_was_written_is_read(adapted):
    model, folder = adapted
    written, read = random_adapter(model), read_adapter(str(folder))
    assert (read.base, read.base_sha256, read.layers, read.rank, read.output, read.trained) == (
        written.base, written.base_sha256, written.layers, written.rank, written.output, written.trained,
    )  # fmt: skip
    assert np.array_equal(read.importance, written.importance)
    assert read.changes.keys() == written.changes.keys()
    assert all(np.array_equal(read.changes[name].up, written.changes[name].up) for name in read.changes)


def test_a_changed_adapter_of_the_package_is_refused_even_if_it_is_signed(tmp_path, monkeypatch):
    folder = shutil.copytree(adapter_files.shipped("minilm"), tmp_path / "adapter")
    monkeypatch.setattr(adapter_files, "shipped", lambda model: str(folder) if model == "minilm" else "")
    assert read_adapter(str(folder)).digest == adapter_files.SHIPPED_DIGESTS["minilm"]
    signed(folder, trained={})
    with pytest.raises(WeightsError, match=r"not the adapter of this version of evalign.*install evalign again"):
        read_adapter(str(folder))


@pytest.mark.parametrize("family", FAMILIES)
def test_both_backends_give_the_vectors_of_the_merged_weights(tiny, tmp_path, family):
    model, folder = tiny(family), saved(tiny(family), tmp_path / "adapter")
    copy = tmp_path / "merged"
    shutil.copytree(model, copy)
    weights = load_file(copy / "model.safetensors")
    weights |= {f"{base}.weight": weight for base, weight in merged(model, folder).items()}
    save_file(weights, copy / "model.safetensors", {"format": "pt"})
    gold, plain = opened(copy, layer="1+3").encode(SENTENCES), opened(model, layer="1+3").encode(SENTENCES)
    for backend in ("ort", "torch"):
        encoder = opened(model, folder, backend=backend)
        assert encoder.layers == (1, 3), "the adapter's own, since none were named"
        for mine, same, other in zip(encoder.encode(SENTENCES), gold, plain, strict=True):
            assert distance(mine.vectors, same.vectors) < 1e-5
            assert distance(mine.vectors, other.vectors) > 0.1


def test_small_changes_stay_beside_the_weights(tiny, tmp_path, graphs, monkeypatch):
    model, found = tiny("bert"), []
    for small in (0.0, 1.0):
        monkeypatch.setattr(adapter_files, "MERGE_THRESHOLD", small)
        found.append(opened(model, saved(model, tmp_path / f"{small}")).encode(SENTENCES))
    assert [bool(graph.merged) for graph in graphs] == [True, False]
    for added, beside in zip(*found, strict=True):
        assert distance(added.vectors, beside.vectors) < 1e-5


def test_half_precision_weights_are_widened_before_they_are_changed(tiny, tmp_path):
    model, copy = tiny("bert"), tmp_path / "half"
    shutil.copytree(model, copy)
    weights = {name: tensor.astype(np.float16) for name, tensor in load_file(model / "model.safetensors").items()}
    save_file(weights, copy / "model.safetensors", {"format": "pt"})
    folder = saved(copy, tmp_path / "adapter")
    for mine, same in zip(
        *(opened(copy, folder, backend=backend).encode(SENTENCES) for backend in ("ort", "torch")), strict=True
    ):
        assert distance(mine.vectors, same.vectors) < 1e-5


def test_onnx_runtime_keeps_the_merged_weights_itself(adapted, graphs, monkeypatch):
    """Not a pointer to arrays that are gone: where weights are not repacked, it would read whatever comes there."""
    plain = onnxruntime.SessionOptions

    def options():
        made = plain()
        made.add_session_config_entry("session.disable_prepacking", "1")
        return made

    monkeypatch.setattr(onnxruntime, "SessionOptions", options)
    encoder = opened(*adapted)
    before = encoder.encode(SENTENCES[:1])[0].vectors.copy()
    assert graphs[-1].merged
    for weight in graphs[-1].merged.values():
        weight.fill(np.nan)
    ids = encoder.encode(SENTENCES[:1])[0].tokens.ids[None].astype(np.int64)
    assert np.array_equal(encoder.forward(ids, np.ones_like(ids))[:, 0], before)


def test_int8_reads_the_changed_weights(adapted):
    model, folder = adapted
    full, coarse = (opened(model, folder, arithmetic=kind).encode(SENTENCES) for kind in ("fp32", "int8"))
    plain = opened(model, layer="1+3", arithmetic="int8").encode(SENTENCES)
    for mine, near, other in zip(full, coarse, plain, strict=True):
        assert distance(mine.vectors, near.vectors) < distance(mine.vectors, other.vectors) / 3


def test_vectors_on_disk_are_kept_apart_from_those_of_the_base(adapted, tmp_path):
    model, folder = adapted
    other = saved(model, tmp_path / "other", importance=np.zeros((2, 32), np.float32))
    keep_embeddings(tmp_path / "kept")
    try:
        encoders = [opened(model, *chosen, layer="1+3") for chosen in ((), (folder,), (other,))]
        for encoder in encoders:
            encoder.encode(SENTENCES)
            encoder.folder.flush()
        assert len(list((tmp_path / "kept").glob("*/*"))) >= 3
        assert len({encoder.name for encoder in encoders}) == 3
        forget()
        again = opened(model, folder).encode(SENTENCES)
    finally:
        keep_embeddings(None)
        forget()
    fresh = opened(model, folder).encode(SENTENCES)
    assert all(np.array_equal(one.vectors, two.vectors) for one, two in zip(again, fresh, strict=True))


def test_an_adapter_that_is_written_anew_is_another_encoder(adapted, tmp_path):
    model, folder = adapted
    before = opened(model, folder)
    shutil.rmtree(folder)
    saved(model, folder, importance=np.zeros((2, 32), np.float32))
    assert opened(model, folder) is not before


BROKEN = {
    "no folder": (lambda folder: shutil.rmtree(folder), "no adapter there"),
    "torn: no weights": (lambda folder: (folder / TENSORS).unlink(), "no adapter there .adapter.safetensors"),
    "torn: cut short": (lambda folder: (folder / TENSORS).write_bytes(b"\0" * 9), "torn or of another training"),
    "no JSON": (lambda folder: (folder / INDEX).write_text("{", "utf-8"), "not an adapter"),
    "a list": (lambda folder: (folder / INDEX).write_text("[]", "utf-8"), "not an adapter"),
    "another format": (lambda folder: (folder / INDEX).write_text('{"format": 1, "version": 1}'), "not of format"),
    "changed by hand": (
        lambda folder: (folder / INDEX).write_text((folder / INDEX).read_text().replace('"rank": 2', '"rank": 3')),
        "does not fit its sha256",
    ),
    "unknown layers": (lambda folder: signed(folder, layers=["last"]), "unknown layers"),
    "no layers": (lambda folder: signed(folder, layers=[]), "unknown layers"),
    "another rank": (lambda folder: signed(folder, rank=5), "not of rank 5"),
    "layers without importance": (lambda folder: signed(folder, layers=[1]), "importance has shape"),
    "a negative output weight": (
        lambda folder: signed(folder, output={"means": [0] * 3, "scales": [1] * 3, "weights": [1, -1, 1],
                                              "intercept": 0}),
        "must not be negative",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_folder_is_refused_in_one_sentence(adapted, kind):
    model, folder = adapted
    damage, sentence = BROKEN[kind]
    damage(folder)
    with pytest.raises(WeightsError, match=sentence) as raised:
        evalign.BERTScore(model=str(model), adapter=str(folder)).score(["a"], ["b"])
    assert "\n" not in str(raised.value)


def test_nan_is_refused(adapted):
    _, folder = adapted
    tensors = load_file(folder / TENSORS)
    tensors["importance"][0, 0] = np.nan
    save_file(tensors, folder / TENSORS)
    signed(folder)
    with pytest.raises(WeightsError, match="'importance' holds NaN"):
        read_adapter(str(folder))


def test_an_adapter_for_other_weights_is_refused(tiny, adapted):
    _, folder = adapted
    with pytest.raises(WeightsError, match=r"was trained on tiny-bert@\w{8}, but the model here is tiny-electra@"):
        opened(tiny("electra"), folder)


@pytest.mark.parametrize("backend", ["ort", "torch"])
def test_linear_layers_that_the_model_does_not_have_are_refused(tiny, tmp_path, backend):
    model = tiny("bert")
    change = LowRank(np.zeros((2, 32), np.float32), np.zeros((32, 2), np.float32))
    unknown = saved(model, tmp_path / "unknown", changes={"encoder.layer.9.output.dense": change})
    with pytest.raises(WeightsError, match=r"'encoder.layer.9.output.dense'.*no such layer"):
        opened(model, unknown, backend=backend)
    misshapen = saved(model, tmp_path / "misshapen", changes={"encoder.layer.0.intermediate.dense": change})
    with pytest.raises(WeightsError, match=r"has shape \(64, 32\) there"):
        opened(model, misshapen, backend=backend)


def test_layers_beyond_the_model_are_refused(tiny, tmp_path):
    folder = saved(tiny("bert"), tmp_path / "adapter", layers=(2, 9))
    with pytest.raises(LayerError, match="layer=9: this model has layers 0"):
        opened(tiny("bert"), folder)


def test_the_fake_encoder_has_nothing_to_adapt(adapted):
    with pytest.raises(SpecError, match="fake has no weights to adapt"):
        opened("fake", adapted[1])


def test_the_output_layer_is_a_sum_without_negative_weights():
    layer = OutputLayer((0.5, 0.5, 0.5), (0.1, 0.2, 0.5), (1.0, 0.0, 2.0), 0.25)
    assert layer(np.array([[0.6, 0.9, 0.0], [0.5, 0.5, 0.5]])).tolist() == pytest.approx([0.25 + 1 - 2, 0.25])


def test_percent_goes_from_what_unrelated_text_was_held_to_up_to_the_reference_itself():
    layer = OutputLayer((0.5, 0.5, 0.5), (0.1, 0.2, 0.5), (1.0, 0.0, 2.0), 0.25)
    texts = np.array([[1.0, 1.0, 1.0], [0.5, 0.5, 0.5], [0.0, 0.0, 0.0], [-1.0, -1.0, 0.0]])
    same = 0.25 + 5 + 2 + 2
    found = layer.percent(texts).tolist()
    assert found[:2] == pytest.approx([100, 100 * (0.25 + 2) / same])
    assert 10 > found[2] > found[3] > 0, "bent, not cut off: the worst keep their order"
