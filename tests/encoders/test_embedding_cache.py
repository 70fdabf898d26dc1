"""Token vectors kept on disk: the same bits come back, each in a place of its own, for every command."""

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import evalign
from evalign.cli.main import main
from evalign.encoders.base import BatchingEncoder, EncodeOptions
from evalign.encoders.fake import FakeEncoder
from evalign.encoders.loading import (
    EMBEDDINGS,
    EMBEDDINGS_BYTES,
    EncoderSpec,
    keep_embeddings,
    open_encoder,
)
from evalign.errors import FileFormatError, SpecError, TextTooLongError
from kept_embeddings import assert_same, cached, counting, forget, knowing, packs
from tiny_models import SENTENCES, edit_json, open_ort, open_torch

LONG = " ".join(SENTENCES)
TEXTS = [*SENTENCES, LONG, "", "   ", "  padded by space ", "no\ud800ne \udfff", "\ud83d\ude00", "\U0001f600", "\ufffd",
         "猫は座った。𠀋", "🜁 unknown ☃ signs", "a", "a", "line\nbreak\ttab\u2028"]  # fmt: skip


@pytest.fixture(autouse=True)
def no_choice(monkeypatch):
    """Whatever a test chooses ends with it."""
    monkeypatch.delenv(EMBEDDINGS, raising=False)
    monkeypatch.delenv(EMBEDDINGS_BYTES, raising=False)
    yield
    keep_embeddings(None)  # monkeypatch restores what was set before, but does not remove what was not
    forget()


READINGS = {
    "whole": {},
    "windows": {"max_length": 12},
    "truncated": {"max_length": 12, "overlong": "truncate"},
}


@pytest.mark.parametrize("reading", READINGS.values(), ids=READINGS)
@pytest.mark.parametrize(("family", "layers"), [("bert", None), ("roberta", (1,)), ("mpnet", (3, 0)), ("albert", (2,))])
def test_what_was_written_comes_back_bit_for_bit(tiny, tmp_path, family, layers, reading):
    encoder = open_ort(tiny(family), layers, **reading)
    plain = encoder.encode(TEXTS)
    first = cached(encoder, tmp_path)
    assert_same(first.encode(TEXTS), plain)
    first.folder.flush()
    again = knowing(encoder, tmp_path)
    assert_same(again.encode(TEXTS), plain)
    assert_same(again.encode(TEXTS[::-3]), plain[::-3])
    flags = {flag for one in plain for flag in one.tokens.counts}
    assert (
        flags
        >= {"whole": {"empty"}, "windows": {"windowed"}, "truncated": {"truncated"}}[
            next(name for name, options in READINGS.items() if options == reading)
        ]
    )


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_other_backends_and_precisions_too(tiny, tmp_path, precision):
    encoder = open_torch(tiny("bert"), (2,)) if precision == "fp32" else open_ort(tiny("bert"), (2,), precision)
    first = cached(encoder, tmp_path)
    plain = first.encode(TEXTS)
    first.folder.flush()
    assert_same(knowing(encoder, tmp_path).encode(TEXTS), plain)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(st.characters(), max_size=12), max_size=6))
def test_any_text_comes_back(tmp_path, texts):
    encoder = FakeEncoder(None)
    first = cached(encoder, tmp_path)
    assert_same(first.encode(texts), encoder.encode(texts))
    assert_same(first.encode(texts), encoder.encode(texts))  # from what waits to be written
    first.folder.flush()
    assert_same(knowing(encoder, tmp_path).encode(texts), encoder.encode(texts))


def test_only_texts_that_are_not_known_are_encoded(tiny, tmp_path):
    seen = []
    encoder = cached(counting(open_ort(tiny("bert"), (1,)), seen), tmp_path)
    encoder.encode(SENTENCES[:4])
    assert seen == SENTENCES[:4]
    encoder.folder.flush()
    encoder.encode([*SENTENCES[:6], SENTENCES[5]])
    assert seen == SENTENCES[:6]
    encoder.encode(SENTENCES[:6])  # two of them are not written yet
    assert seen == SENTENCES[:6]
    assert encoder.encode([]) == []


def test_padding_is_asked_of_the_model_itself(tiny, tmp_path):
    encoder = open_ort(tiny("bert"), (1,))
    wrapped = cached(encoder, tmp_path)
    assert_same(wrapped.encode(SENTENCES[:3], pad_to=60), encoder.encode(SENTENCES[:3], pad_to=60))
    wrapped.folder.flush()
    assert packs(tmp_path) == []


def test_a_text_that_is_too_long_is_the_same_error(tiny, tmp_path):
    encoder = cached(open_ort(tiny("bert"), (1,), overlong="error", max_length=12), tmp_path)
    with pytest.raises(TextTooLongError):
        encoder.encode(["a", LONG])
    assert len(encoder.encode(["a"])) == 1


def test_a_text_without_any_token(tmp_path):
    """A tokenizer that adds no special tokens makes none of an empty text."""

    class Bare(FakeEncoder):
        def tokenize(self, texts):
            return [tokens.keep(~tokens.special) for tokens in super().tokenize(texts)]

        def _vectors(self, tokens):
            return super()._vectors(tokens) if len(tokens) else np.zeros((len(self.layers), 0, 32), np.float32)

    encoder = Bare((0, 2))
    texts = ["", "two words"]
    for part in (texts[:1], texts):  # alone in its pack, too
        first = cached(encoder, tmp_path / str(len(part)))
        first.encode(part)
        first.folder.flush()
        found = knowing(encoder, tmp_path / str(len(part))).encode(part)
        assert_same(found, encoder.encode(part))
        assert found[0].vectors.shape == (2, 0, 32)


# What decides a vector


def folder_of(choice):
    open_encoder(choice).encode(["a text"])
    forget()
    root = Path(os.environ[EMBEDDINGS])
    return max(packs(root), key=lambda file: file.name).parent.name


def test_everything_that_decides_a_vector_has_a_folder_of_its_own(tiny, tmp_path):
    keep_embeddings(tmp_path / "kept")
    own = tmp_path / "own"
    shutil.copytree(tiny("bert"), own)
    choice = EncoderSpec(str(own), "1")
    others = [
        EncoderSpec(str(own), "2"),
        EncoderSpec(str(own), "1+2"),
        EncoderSpec(str(own), "all"),
        EncoderSpec(str(own), "1", arithmetic="int8"),
        EncoderSpec(str(own), "1", arithmetic="bf16"),
        EncoderSpec(str(own), "1", backend="torch"),
        EncoderSpec(str(own), "1", reading=EncodeOptions(overlong="truncate")),
        EncoderSpec(str(own), "1", reading=EncodeOptions(max_length=20)),
        EncoderSpec(str(own), "1", reading=EncodeOptions(token_budget=64)),
        EncoderSpec(str(tiny("bert", seed=5)), "1"),
        EncoderSpec("fake", "1"),
    ]
    names = [folder_of(one) for one in (choice, *others)]
    edit_json(own / "config.json", layer_norm_eps=1e-3)
    names.append(folder_of(choice))
    definition = json.loads((own / "tokenizer.json").read_text("utf-8"))
    definition["normalizer"] = None
    edit_json(own / "tokenizer.json", **definition)
    names.append(folder_of(choice))
    assert len(set(names)) == len(others) + 3


def test_threads_and_places_do_not_decide(tiny, tmp_path):
    keep_embeddings(tmp_path / "kept")
    shutil.copytree(tiny("bert"), tmp_path / "copy")
    first = open_encoder(EncoderSpec(str(tiny("bert")), "1")).encode(["a text"])
    forget()
    second = open_encoder(EncoderSpec(str(tmp_path / "copy"), "1", threads=1)).encode(["a text"])
    assert_same(second.values(), first.values())
    forget()
    assert len(packs(tmp_path / "kept")) == 1


# As it is used


def test_files_are_the_owners_alone_and_hold_no_text(tiny, tmp_path):
    keep_embeddings(tmp_path / "kept")
    open_encoder(EncoderSpec(str(tiny("bert")), "1")).encode(["committee bridge"])
    forget()
    [pack] = packs(tmp_path / "kept")
    assert stat.S_IMODE(pack.stat().st_mode) == 0o600
    assert stat.S_IMODE(pack.parent.stat().st_mode) == stat.S_IMODE((tmp_path / "kept").stat().st_mode) == 0o700
    assert not any(piece in pack.read_bytes() for piece in (b"committee", b"bridge"))


@pytest.mark.parametrize("spec", ["bertscore(model={})", "moverscore(model={}, idf=references)", "sbert(model={})"])
def test_scores_and_signatures_do_not_know_of_it(tiny, tmp_path, spec):
    metric = evalign.metric(spec.format(tiny("bert")))
    candidates, references = SENTENCES[:6], SENTENCES[6:]
    plain = metric.score(candidates, references)
    keep_embeddings(tmp_path / "kept")
    for _ in range(2):
        report = metric.score(candidates, references)
        assert report.to_dict() == plain.to_dict()
        forget()
    assert len(packs(tmp_path / "kept")) == 1
    keep_embeddings(None)
    shutil.rmtree(tmp_path / "kept")
    assert metric.score(candidates, references).to_dict() == plain.to_dict()
    assert not (tmp_path / "kept").exists()


COMMANDS = {
    "score": ["score", "rows.jsonl", "--format", "json", "--segments", "-"],
    "compare": ["compare", "rows.jsonl", "--resamples", "20", "--format", "json"],
    "agree": ["agree", "rows.jsonl", "--resamples", "20", "--format", "json"],
    "layers": ["fit", "layers", "rows.jsonl", "--resamples", "20", "--folds", "2"],
}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_the_second_run_of_a_command_encodes_nothing(tiny, tmp_path, monkeypatch, capsys, arguments):
    rows = [
        {"id": str(k // 2), "system": "ab"[k % 2], "candidate": text, "references": [SENTENCES[k // 2]], "human": k % 5}
        for k, text in enumerate(SENTENCES[::-1])
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    monkeypatch.chdir(tmp_path)
    spec = f"bertscore(model={tiny('bert')})"

    def output(*more):
        with pytest.raises(SystemExit) as ended:
            main([*arguments, "-m", spec, *more])
        assert ended.value.code == 0
        forget()
        assert EMBEDDINGS not in os.environ
        return capsys.readouterr().out

    plain = output()
    assert output("--embeddings", "kept") == plain
    run = BatchingEncoder._run
    monkeypatch.setattr(BatchingEncoder, "_run", lambda *_: pytest.fail("encoded again"))
    assert output("--embeddings", "kept") == plain
    monkeypatch.setattr(BatchingEncoder, "_run", run)
    assert len(packs(tmp_path / "kept")) == 1


def test_the_environment_chooses_it_for_processes_started_here(tmp_path):
    code = "import evalign; print(evalign.metric('bertscore(model=fake)').score(['a b'], ['a c']).to_json())"
    told = []
    for _ in range(2):
        keep_embeddings(tmp_path / "kept", max_bytes=10_000)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ))
        assert (done.returncode, done.stderr) == (0, "")
        told.append(done.stdout)
    assert told[0] == told[1]
    assert len(packs(tmp_path / "kept")) == 1


def test_a_server_keeps_nothing(tmp_path):
    pytest.importorskip("fastapi", reason="the server needs the extra 'web'")
    from evalign.server.app import Service
    from evalign.server.settings import Settings

    keep_embeddings(tmp_path / "kept")
    Service(Settings(models=("fake",))).load()
    forget()
    assert not (tmp_path / "kept").exists()


def test_bad_choices(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileFormatError, match="this is a file"):
        keep_embeddings(tmp_path / "file")
    with pytest.raises(SpecError, match="from 0"):
        keep_embeddings(tmp_path, max_bytes=-1)
    assert EMBEDDINGS not in os.environ
    keep_embeddings(tmp_path)
    monkeypatch.setenv(EMBEDDINGS_BYTES, "2GB")
    with pytest.raises(SpecError, match="EVALIGN_EMBEDDINGS_BYTES=2GB: expected a number"):
        open_encoder(EncoderSpec("fake"))
