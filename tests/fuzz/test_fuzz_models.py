"""Folders of models and adapters: definitions of tokenizers, configs, and the other files next to the weights."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzzing import any_text, damaged, deep, dumped, examples, json_values, mutated, numbers, value_or_sentence
from hypothesis import given
from hypothesis import strategies as st

from evalign.encoders.adapter import INDEX, TENSORS, read_adapter
from evalign.encoders.loading import EncoderSpec, close_encoders, open_encoder
from evalign.encoders.tokenizer import Tokenizer
from evalign.encoders.weights import content_digest
from evalign.metrics.bertscore import BERTScore
from evalign.metrics.evalign import Evalign
from tiny_adapters import random_adapter, saved
from tiny_models import SENTENCES, read_json

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # transformers warns of what it finds odd

FAMILIES = ("bert", "roberta", "xlm-roberta", "mpnet", "albert", "distilbert")
families = st.sampled_from(FAMILIES)
TEXTS = [
    "The river rose overnight.",
    "",
    " naïve 漢字かな \U0001f600 \ud800",
    "x" * 400,
    "A cat ##s <s> [CLS] </s> slept",
]
SMALL_FILES = ("tokenizer_config.json", "special_tokens_map.json", "sentence_bert_config.json", "added_tokens.json")


@pytest.fixture(scope="module")
def model(tiny: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """`model("bert")`: the folder of a tiny model as it was written, with all changes undone."""
    folders: dict[str, Path] = {}

    def restored(family: str) -> Path:
        if family not in folders:
            folders[family] = tmp_path_factory.mktemp("fuzzed") / family
            shutil.copytree(tiny(family), folders[family])
        for name in {"tokenizer.json", "config.json", *SMALL_FILES}:
            original = tiny(family) / name
            if original.is_file():
                shutil.copyfile(original, folders[family] / name)
            else:
                (folders[family] / name).unlink(missing_ok=True)
        return folders[family]

    return restored


@pytest.fixture(autouse=True)
def no_models_stay() -> Iterator[None]:
    yield
    close_encoders()


def finite_scores_or_sentence(directory: Path, **options: Any) -> bool:
    """Return whether a model can be used; scores are finite then, and tokens lie within their texts."""
    metric = BERTScore(model=str(directory), **options)
    report = value_or_sentence(lambda: metric.score(TEXTS, TEXTS[::-1]))
    if report is None:
        return False
    for values in report:
        assert np.isfinite(values).all()
        assert (np.abs(values) <= 1 + 1e-6).all()
    for tokens in metric.scorer().cache.encoder.tokenize(TEXTS):
        for (start, stop), special in zip(tokens.offsets.tolist(), tokens.special, strict=True):
            assert special or 0 <= start <= stop <= len(tokens.text)
    return True


# Tokenizers ----------------------------------------------------------------------------------------------------

names = st.sampled_from(["a", "the", "##e", "▁", " ", "", "[UNK]", "[CLS]", "<s>", "<unk>", "\u0120the", "\ud800"])
patterns = st.one_of(
    st.fixed_dictionaries({"String": st.one_of(names, any_text)}),
    st.fixed_dictionaries({"Regex": st.sampled_from(["", " ", r"\w", "(a+)+$", "(", r"\p{L}+", "[^a", "^", "(?=a)"])}),
)
flags = st.one_of(st.booleans(), json_values)
schemes = st.sampled_from(["always", "first", "never"])
behaviors = st.sampled_from(["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous", "None"])
sizes = st.one_of(st.integers(0, 3), st.sampled_from([2**31, 2**32, 2**63, 2**64]), numbers)


def step(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"type": st.just(kind)}, optional=fields)


def complete(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"type": st.just(kind), **fields})


normalizers = st.one_of(
    *(step(kind) for kind in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel")),
    complete("Strip", strip_left=flags, strip_right=flags),
    complete("Prepend", prepend=st.one_of(names, any_text)),
    complete("Replace", pattern=patterns, content=st.one_of(names, any_text)),
    complete("Precompiled", precompiled_charsmap=st.one_of(any_text, st.sampled_from(["AAAA", "CAAAAAAEAAD/BwAA"]))),
    complete("BertNormalizer", clean_text=flags, handle_chinese_chars=flags, strip_accents=flags, lowercase=flags),
)
pre_tokenizers = st.one_of(
    *(step(kind) for kind in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit", "UnicodeScripts")),
    complete("ByteLevel", add_prefix_space=flags, trim_offsets=flags, use_regex=flags),
    complete("CharDelimiterSplit", delimiter=st.one_of(names, st.characters())),
    complete("Metaspace", replacement=st.one_of(names, st.characters()), prepend_scheme=schemes, split=flags),
    complete("Punctuation", behavior=behaviors),
    complete("Digits", individual_digits=flags),
    complete("Split", pattern=patterns, behavior=behaviors, invert=flags),
    complete("FixedLength", length=sizes),
)  # fmt: skip
pieces = st.one_of(
    st.fixed_dictionaries({"Sequence": st.fixed_dictionaries({"id": st.sampled_from("AB"), "type_id": sizes})}),
    st.fixed_dictionaries({"SpecialToken": st.fixed_dictionaries({"id": names, "type_id": sizes})}),
)
specials = st.fixed_dictionaries(
    {"id": names, "ids": st.lists(sizes, max_size=2), "tokens": st.lists(names, max_size=2)}
)
token_pairs = st.tuples(names, sizes)
post_processors = st.one_of(
    complete("BertProcessing", sep=token_pairs, cls=token_pairs),
    complete("RobertaProcessing", sep=token_pairs, cls=token_pairs, trim_offsets=flags, add_prefix_space=flags),
    complete("ByteLevel", add_prefix_space=flags, trim_offsets=flags, use_regex=flags),
    complete(
        "TemplateProcessing",
        single=st.lists(pieces, max_size=4),
        pair=st.lists(pieces, max_size=4),
        special_tokens=st.dictionaries(names, specials, max_size=3),
    ),
)
vocabularies = st.dictionaries(names, sizes, max_size=5)
merges = st.lists(st.tuples(names, names), max_size=3)
models = st.one_of(
    complete("WordLevel", vocab=vocabularies, unk_token=names),
    complete(
        "WordPiece",
        vocab=vocabularies,
        unk_token=names,
        continuing_subword_prefix=names,
        max_input_chars_per_word=sizes,
    ),
    complete("Unigram", vocab=st.lists(st.tuples(names, numbers), max_size=5), unk_id=sizes, byte_fallback=flags),
    complete("BPE", vocab=vocabularies, merges=merges, unk_token=names, byte_fallback=flags),
)
added_tokens = st.fixed_dictionaries(
    {"id": sizes, "content": st.one_of(names, any_text)}
    | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), flags)
)


def sequences(kind: str, steps: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), steps, complete("Sequence", **{kind: st.lists(steps, max_size=4)}))


parts = st.fixed_dictionaries(
    {},
    optional={
        "normalizer": sequences("normalizers", normalizers),
        "pre_tokenizer": sequences("pretokenizers", pre_tokenizers),
        "post_processor": sequences("processors", post_processors),
        "model": models,
        "added_tokens": st.lists(added_tokens, max_size=3),
        "truncation": json_values,
        "padding": json_values,
        "decoder": json_values,
    },
)
hostile_steps = st.one_of(normalizers, pre_tokenizers, post_processors, models, added_tokens, json_values)


@examples(0.3)
@given(families, st.data())
def test_mutated_tokenizers(model: Callable[[str], Path], family: str, data: st.DataObject) -> None:
    directory = model(family)
    definition = read_json(directory / "tokenizer.json")
    changed = data.draw(st.one_of(mutated(definition, hostile_steps), parts.map(lambda new: definition | new)))
    (directory / "tokenizer.json").write_text(dumped(changed), "utf-8")
    finite_scores_or_sentence(directory, layer="1")


usual_normalizers = st.sampled_from(
    [
        *({"type": kind} for kind in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt")),
        {"type": "Strip", "strip_left": True, "strip_right": True},
        {"type": "Replace", "pattern": {"String": "``"}, "content": '"'},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
    ]
)
usual_pre_tokenizers = st.sampled_from(
    [
        *({"type": kind} for kind in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit")),
        {"type": "Punctuation", "behavior": "Isolated"},
        {"type": "Digits", "individual_digits": True},
        {"type": "Split", "pattern": {"Regex": r"\s"}, "behavior": "Removed", "invert": False},
    ]
)


@examples(0.1)
@given(st.lists(usual_normalizers, max_size=4), st.lists(usual_pre_tokenizers, min_size=1, max_size=3))
def test_usual_tokenizers_are_accepted(
    model: Callable[[str], Path], normalizing: list[dict[str, Any]], splitting: list[dict[str, Any]]
) -> None:
    directory = model("bert")
    definition = read_json(directory / "tokenizer.json")
    definition["normalizer"] = {"type": "Sequence", "normalizers": normalizing}
    definition["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [*splitting, {"type": "WhitespaceSplit"}]}
    (directory / "tokenizer.json").write_text(json.dumps(definition), "utf-8")
    tokens = Tokenizer.from_directory(directory)(["the river rose"])[0]
    assert tokens.offsets[~tokens.special].tolist()[0][0] == 0
    assert finite_scores_or_sentence(directory, layer="1")


# Configs -------------------------------------------------------------------------------------------------------

hostile_settings = st.one_of(
    json_values,
    numbers,
    st.sampled_from([*FAMILIES, "t5", "gpt2", "bart", "xlnet", "no-model", "gelu", "gelu_new", "silu", "relative_key"]),
    st.sampled_from([2**24, 2**31, 2**63, 10**400, 1e-320]),
)


@examples(0.5)
@given(families, st.sampled_from(["auto", "auto", "torch"]), st.sampled_from(["", "1", "last", "3"]), st.data())
def test_mutated_configs(
    model: Callable[[str], Path], family: str, backend: str, layer: str, data: st.DataObject
) -> None:
    directory = model(family)
    config = data.draw(mutated(read_json(directory / "config.json"), hostile_settings))
    (directory / "config.json").write_text(dumped(config), "utf-8")
    finite_scores_or_sentence(directory, layer=layer, backend=backend)


@examples(0.5)
@given(families, st.sampled_from(SMALL_FILES), st.data())
def test_mutated_small_files(model: Callable[[str], Path], family: str, name: str, data: st.DataObject) -> None:
    directory = model(family)
    file = directory / name
    original = read_json(file) if file.is_file() else {"cls_token": "[CLS]", "max_seq_length": 64}
    content = data.draw(st.one_of(mutated(original).map(dumped), deep.map(dumped), any_text))
    file.write_bytes(content.encode("utf-8", "surrogatepass"))
    for compat in ("no", "bert-score"):
        finite_scores_or_sentence(directory, layer="1", compat=compat)


other_keys = st.from_regex(r"x_[a-z]{0,8}", fullmatch=True)


@examples(0.2)
@given(families, st.dictionaries(other_keys, json_values, max_size=4), st.randoms(use_true_random=False))
def test_configs_with_other_keys_are_accepted(
    model: Callable[[str], Path], family: str, added: dict[str, Any], random: Any
) -> None:
    directory = model(family)
    expected = open_encoder(EncoderSpec(str(directory), "2")).encoder.encode(SENTENCES[:2])
    entries = [*(read_json(directory / "config.json") | added).items()]
    random.shuffle(entries)
    (directory / "config.json").write_text(json.dumps(dict(entries), indent=random.choice([None, 1, 4])), "utf-8")
    found = open_encoder(EncoderSpec(str(directory), "2")).encoder.encode(SENTENCES[:2])
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one.vectors, other.vectors)


SENSIBLE: dict[str, list[Any]] = {
    "hidden_act": ["gelu", "gelu_new", "relu", "silu", "gelu_pytorch_tanh", "quick_gelu", "tanh"],
    "activation": ["gelu", "relu"],
    "layer_norm_eps": [1e-12, 1e-5, 0.1, 0],
    "num_attention_heads": [1, 2, 4, 8],
    "n_heads": [1, 2, 4, 8],
    "num_hidden_layers": [1, 2, 3, 4],
    "n_layers": [1, 2, 3, 4],
    "num_hidden_groups": [1, 2],
    "inner_group_num": [1, 2],
    "pad_token_id": [None, 0, 1, 2, 7],
    "type_vocab_size": [1, 2, 3],
    "max_position_embeddings": [100, 160, 162, 512],
    "position_embedding_type": ["absolute", "relative_key", "relative_key_query"],
    "is_decoder": [True, False],
    "sinusoidal_pos_embds": [True, False],
    "relative_attention_num_buckets": [16, 32],
    "embedding_size": [8, 16, 32],
    "intermediate_size": [32, 64],
    "dtype": ["float32", "float16", "bfloat16"],
    "torch_dtype": ["float32", "float16"],
    "hidden_dropout_prob": [0, 0.5],
    "chunk_size_feed_forward": [0, 1],
}


@examples(0.2)
@given(families, st.lists(st.sampled_from(sorted(SENSIBLE)), min_size=1, max_size=2, unique=True), st.data())
def test_a_config_is_read_as_transformers_reads_it(
    model: Callable[[str], Path], family: str, keys: list[str], data: st.DataObject
) -> None:
    directory = model(family)
    config = read_json(directory / "config.json") | {key: data.draw(st.sampled_from(SENSIBLE[key])) for key in keys}
    (directory / "config.json").write_text(json.dumps(config), "utf-8")
    encoded = [
        value_or_sentence(
            lambda backend=backend: open_encoder(EncoderSpec(str(directory), "last", backend=backend)).encoder.encode(
                SENTENCES[:2]
            )
        )
        for backend in ("ort", "torch")
    ]
    if None not in encoded:
        for one, other in zip(*encoded, strict=True):
            np.testing.assert_allclose(one.vectors, other.vectors, atol=2e-4)


# Adapters ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def adapter(tiny: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an adapter for the tiny BERT."""
    return saved(tiny("bert"), tmp_path_factory.mktemp("adapters") / "adapter")


@examples(0.5)
@given(st.sampled_from(["signed", "as it is", "tensors"]), st.data())
def test_mutated_adapters(tiny: Callable[..., Path], adapter: Path, kind: str, data: st.DataObject) -> None:
    """An index that does not fit its digest is refused; scores of one that fits are finite."""
    index, tensors = ((adapter / name).read_bytes() for name in (INDEX, TENSORS))
    plain = json.loads(index)
    try:
        if kind == "tensors":
            changed = data.draw(damaged(tensors))
            (adapter / TENSORS).write_bytes(changed)
            content = plain["content"] | {"tensors_sha256": hashlib.sha256(changed).hexdigest()}
        else:
            content = json.loads(json.dumps(data.draw(mutated(plain["content"]))))
        with suppress(ValueError):  # NaN has no digest
            plain["sha256"] = plain["sha256"] if kind == "as it is" else content_digest(content)
        (adapter / INDEX).write_text(json.dumps(plain | {"content": content}), "utf-8")
        metric = Evalign(model=str(tiny("bert")), adapter=str(adapter))
        report = value_or_sentence(lambda: metric.score(TEXTS, TEXTS[::-1]))
        assert report is None or np.isfinite(report["score"]).all()
        assert report is None or kind != "as it is" or content == json.loads(index)["content"]
    finally:
        (adapter / INDEX).write_bytes(index)
        (adapter / TENSORS).write_bytes(tensors)


@examples(0.2)
@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=4, unique=True),
    st.integers(1, 5),
    st.integers(0, 9),
    st.sampled_from([None, 0, 4]),
)
def test_good_adapters_are_read(
    tiny: Callable[..., Path], tmp_path: Path, layers: list[int], rank: int, seed: int, indent: int | None
) -> None:
    written = random_adapter(tiny("bert"), tuple(layers), rank, seed)
    written.save(tmp_path)
    index = json.loads((tmp_path / INDEX).read_text("utf-8"))
    (tmp_path / INDEX).write_text(json.dumps(index, indent=indent, sort_keys=bool(indent)), "utf-8")
    read = read_adapter(str(tmp_path))
    assert (read.layers, read.rank, read.output) == (tuple(layers), rank, written.output)
    for name, change in written.changes.items():
        np.testing.assert_array_equal(read.changes[name].up, change.up)
        np.testing.assert_array_equal(read.changes[name].down, change.down)
    report = Evalign(model=str(tiny("bert")), adapter=str(tmp_path)).score(TEXTS, TEXTS[::-1])
    assert np.isfinite(report["score"]).all()
