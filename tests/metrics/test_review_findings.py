"""What an independent review found, pinned so that it stays mended."""

import json

import numpy as np
import pytest

import evalign
from evalign.atomic_files import whole_file
from evalign.encoders.base import BatchingEncoder
from evalign.encoders.loading import EncoderChoice, open_encoder
from evalign.errors import FileFormatError, ModelError, SpecError, WeightsError


def test_a_model_that_gives_nan_is_refused(tiny, monkeypatch):
    metric = evalign.BERTScore(model=str(tiny("bert")), layer=2)
    encoder = metric.scorer().memory.encoder
    assert isinstance(encoder, BatchingEncoder)
    forward = encoder.forward
    monkeypatch.setattr(
        encoder, "forward", lambda ids, mask: np.where(ids[None, :, :, None] > 5, np.nan, forward(ids, mask))
    )
    with pytest.raises(ModelError, match="NaN or infinite"):
        metric.score(["the river runs"], ["a boat"])


def test_a_checkpoint_written_anew_is_another_model(tiny, tmp_path):
    import shutil

    directory = shutil.copytree(tiny("bert"), tmp_path / "checkpoint")
    before = open_encoder(EncoderChoice(str(directory), "2"))
    assert open_encoder(EncoderChoice(str(directory), "2")) is before
    shutil.copy(tiny("bert", hidden_act="relu", initializer_range=0.5) / "model.safetensors", directory)
    after = open_encoder(EncoderChoice(str(directory), "2"))
    assert after is not before
    assert after.encoder.name != before.encoder.name


def test_layer_all_is_not_a_spec():
    with pytest.raises(SpecError, match="score_layers"):
        evalign.metric("bertscore(model=fake, layer=all)")


def test_denominator_min_keeps_its_bounds_with_idf():
    references = ["strange philosophy thought", *["the of and", "a the of"] * 4]
    candidates = ["unusual philosophical contemplation", *references[1:]]
    for denominator in ("own", "min", "max"):
        metric = evalign.LiSAScore(model="fake", idf="references", denominator=denominator)
        assert all((field <= 1 + 1e-9).all() for field in metric.score(candidates, references))


@pytest.mark.parametrize(
    "spec", ["endtoken(model=fake, specials=drop)", "sbert(model=fake, pooling=cls, specials=drop)"]
)
def test_a_word_never_stands_in_for_a_special_token(spec):
    with pytest.raises(SpecError, match="specials=keep"):
        evalign.metric(spec).score(["w x"], ["q z"])


@pytest.mark.parametrize(
    "spec",
    [
        "bertscore(model=fake, matching=recursive-argmax)",
        "bertscore(model=fake, matching=auction)",
        "lisascore(model=fake, method=auction, eps=0.0123456789)",
        "lisascore(model=fake, method=recursive-topk, preset=authors, strict=true, denominator=max)",
        "moverscore(model=fake, transport=partial, fraction=0.75, ngram=2)",
        "sbert(model=fake, pooling=max)",
        "endtoken(model=fake, token=cls)",
    ],
)
def test_a_signature_rebuilds_its_metric(spec):
    pairs = ["a b c", "d"], ["a c", "d e"]
    report = evalign.metric(spec).score(*pairs)
    again = evalign.metric(report.signature).score(*pairs)
    assert again.signature == report.signature
    assert all((one == other).all() for one, other in zip(report, again, strict=True))


def test_unmatched_tokens_of_a_plan_are_those_without_mass():
    plan = evalign.MoverScore(model="fake").align("one two three four", "two three")
    own = [index for index in plan.unmatched_reference if not plan.reference.special[index]]
    assert own == [], "all mass moves, so every token is met"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"num_hidden_layers": "3"}, "wrong kind"),
        ({"num_attention_heads": 0}, "0 heads"),
        ({"pad_token_id": "x"}, "pad_token_id"),
    ],
)
def test_a_config_of_the_wrong_kind(tiny, tmp_path, change, said):
    import shutil

    directory = shutil.copytree(tiny("bert"), tmp_path / "model")
    config = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(WeightsError, match=said):
        evalign.BERTScore(model=str(directory), layer=1).scorer()


def test_whole_file_keeps_links_and_refuses_directories(tmp_path):
    target, link = tmp_path / "real.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    with whole_file(link) as stream:
        stream.write("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    with pytest.raises(FileFormatError, match="directory"), whole_file(tmp_path):
        pass


def test_whole_file_appears_only_when_it_is_whole(tmp_path):
    target = tmp_path / "out.txt"

    def fails_half_way():
        with whole_file(target) as stream:
            stream.write("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails_half_way()
    assert list(tmp_path.iterdir()) == []
