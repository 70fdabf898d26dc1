"""Tokenizer definitions that make the tokenizers library panic, abort, loop or fill the memory: one sentence each."""

import json
import shutil
import subprocess

import pytest

from evalign.encoders import tokenizer_checks
from evalign.encoders.tokenizer import Tokenizer
from evalign.encoders.weights import KNOWN, local_directory
from evalign.errors import ModelError
from tiny_models import FAMILIES, SENTENCES, read_json

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
TEXT, FIRST = {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[CLS]", "type_id": 0}}
FRAME = {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]}}
UNEVEN = {"[CLS]": FRAME["[CLS]"] | {"tokens": ["[CLS]", "[CLS]"]}}


def replaced(pattern, content):
    return {"type": "Replace", "pattern": pattern, "content": content}


def normalizers(*steps):
    return {"normalizer": {"type": "Sequence", "normalizers": list(steps)}}


def charsmap(content):
    return {"normalizer": {"type": "Precompiled", "precompiled_charsmap": content}}


def added(tokens):
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False) | {"special": True}
    return {"added_tokens": [{"id": 10_000 + number, "content": token} | flags for number, token in enumerate(tokens)]}


def template(single, special_tokens=FRAME):
    definition = {"type": "TemplateProcessing", "single": single, "pair": [TEXT], "special_tokens": special_tokens}
    return {"post_processor": definition}


EXPLODING = {
    "eightfold twelve times": normalizers(*[replaced({"String": "a"}, "a" * 8)] * 12),
    "between all letters": normalizers(*[replaced({"Regex": ""}, "x" * 50)] * 3),
    "bytes of bytes": normalizers(*[{"type": "ByteLevel"}] * 30),
    "bytes of bytes of pieces": {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [BYTE_LEVEL] * 30}},
    "sequences inside sequences": normalizers(*[normalizers(replaced("a", "a" * 40))["normalizer"]] * 3),
    "a long prefix": normalizers({"type": "Prepend", "prepend": "x" * 10**6}),
    "a hundred thousand tokens": added(f"<{number}>" * 20 for number in range(30_000)),
    "the text many times": template([TEXT] * 1000),
    "no text": template([FIRST]),
    "one id for two pieces": template([FIRST, TEXT], UNEVEN),  # all pieces after it were of other tokens
}
PANICKING = {
    "charsmap that is none": charsmap("AAAA"),
    "charsmap of 16 GB": charsmap("/////wAAAAA="),  # aborted
    "charsmap that ends early": charsmap("CAAAAAAEAAD/BwAAAGFhAA=="),
    "pieces of no length": {"pre_tokenizer": {"type": "FixedLength", "length": 0}},
    "unknown id beyond the vocabulary": {"model": {"type": "Unigram", "unk_id": 5, "vocab": [["a", 0.0]]}},
    "special token that is not listed": template([FIRST, TEXT], {}),
    "no unknown token": {"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "none"}},
    "nothing at all": {"model": {"type": "WordLevel", "vocab": {}, "unk_token": "none"}},
}


def write(tiny, folder, change, family="bert"):
    directory = shutil.copytree(tiny(family), folder / "model")
    definition = read_json(directory / "tokenizer.json") | change
    (directory / "tokenizer.json").write_text(json.dumps(definition))
    return directory


@pytest.mark.parametrize("change", [*EXPLODING.values(), *PANICKING.values()], ids=[*EXPLODING, *PANICKING])
def test_a_definition_that_cannot_be_loaded_is_one_sentence(tiny, tmp_path, capfd, change):
    directory = write(tiny, tmp_path, change)
    capfd.readouterr()  # of transformers, which may have written the model just now
    with pytest.raises(ModelError, match=r"tokenizer\.json: not a tokenizer definition \(") as raised:
        Tokenizer.from_directory(directory)
    assert "\n" not in str(raised.value)
    assert capfd.readouterr() == ("", "")  # the library writes where it panicked, in the child process


@pytest.mark.parametrize(
    "change",
    [
        normalizers(replaced({"String": " "}, "▁"), {"type": "Prepend", "prepend": "▁"}, {"type": "NFKC"}),
        normalizers(replaced({"Regex": " {2,}"}, "▁"), replaced({"String": "``"}, '"')),
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, BYTE_LEVEL]}},
        {"post_processor": None},
        added(f"<extra_id_{number}>" for number in range(20_000)),
    ],
    ids=["sentencepiece", "regular expression", "byte level", "no special tokens", "many added tokens"],
)
def test_usual_steps_are_accepted(tiny, tmp_path, change):
    tokens = Tokenizer.from_directory(write(tiny, tmp_path, change))(["the river rose"])[0]
    assert len(tokens) >= 3


@pytest.mark.parametrize("dropout", [0.5, 1e-9, "0.1"])
def test_a_definition_that_leaves_out_merges_at_random_is_refused(tiny, tmp_path, dropout):
    directory = shutil.copytree(tiny("roberta"), tmp_path / "model")
    definition = read_json(directory / "tokenizer.json")
    definition["model"]["dropout"] = dropout
    (directory / "tokenizer.json").write_text(json.dumps(definition))
    with pytest.raises(ModelError, match="set dropout to null"):
        Tokenizer.from_directory(directory)


@pytest.mark.parametrize("dropout", [None, 0.0])
def test_no_dropout_is_accepted(tiny, tmp_path, dropout):
    directory = shutil.copytree(tiny("roberta"), tmp_path / "model")
    definition = read_json(directory / "tokenizer.json")
    definition["model"]["dropout"] = dropout
    (directory / "tokenizer.json").write_text(json.dumps(definition))
    ours, theirs = Tokenizer.from_directory(directory)(SENTENCES), Tokenizer.from_directory(tiny("roberta"))(SENTENCES)
    assert [tokens.pieces for tokens in ours] == [tokens.pieces for tokens in theirs]


@pytest.mark.parametrize("family", FAMILIES)
def test_tokenizers_of_every_family_are_accepted(tiny, family):
    assert not Tokenizer.from_directory(tiny(family))(SENTENCES[:1])[0].empty


def test_what_fails_with_some_texts_only_is_one_sentence(tiny, tmp_path):
    """A regular expression that backtracks without end on this text: the library panics after ten million steps."""
    splitter = {"type": "Split", "pattern": {"Regex": "(z+)+$"}, "behavior": "Isolated", "invert": False}
    tokenizer = Tokenizer.from_directory(write(tiny, tmp_path, {"pre_tokenizer": splitter}))
    assert not tokenizer(["the river rose"])[0].empty
    with pytest.raises(ModelError, match=r"cannot encode one of the texts .*retry-limit") as raised:
        tokenizer(["z" * 50 + "!"])
    assert "\n" not in str(raised.value)


def test_a_definition_is_checked_once(tiny, tmp_path, monkeypatch):
    directory, runs = write(tiny, tmp_path, {"version": "2.0"}), []
    (directory / "tokenizer.json").write_text((directory / "tokenizer.json").read_text().replace("2.0", "1.0"))
    monkeypatch.setattr(tokenizer_checks, "_usable", set())
    original = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: runs.append(args) or original(*args, **options))
    for _ in range(3):
        Tokenizer.from_directory(directory)
    assert len(runs) == 1


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_model_needs_no_child_process(name, monkeypatch):
    directory = local_directory(KNOWN[name])
    if directory is None:
        pytest.skip(f"the {name} weights are not on this machine: evalign models get {name}")
    monkeypatch.setattr(tokenizer_checks, "_usable", set())
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("a child process was started"))
    for prefix_space in (True, False):
        assert Tokenizer.from_directory(directory, prefix_space).fingerprint == tokenizer_checks.KNOWN[name]


@pytest.mark.parametrize("limit", ["many", -1, 0, True, [512], float("nan")], ids=str)
def test_a_limit_that_is_no_number_of_tokens_is_one_sentence(tiny, tmp_path, limit):
    directory = write(tiny, tmp_path, {})
    (directory / "tokenizer_config.json").write_text(json.dumps({"model_max_length": limit}))
    with pytest.raises(ModelError, match=r"tokenizer_config\.json: model_max_length is"):
        Tokenizer.from_directory(directory)
