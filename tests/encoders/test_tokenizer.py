"""Text -> Tokens: offsets into the original text, no built-in truncation or padding, one id per word."""

import json
import shutil

import pytest

from evalign.encoders.tokenizer import Tokenizer
from evalign.errors import ModelError
from tiny_models import FAMILIES, SENTENCES, build_tokenizer, edit_json, open_ort


@pytest.fixture(scope="module")
def tokenizers(tiny):
    return {family: Tokenizer.from_directory(tiny(family)) for family in FAMILIES}


def surfaces(tokens):
    return [tokens.text[start:stop] for start, stop in tokens.offsets[~tokens.special].tolist()]


@pytest.mark.parametrize("family", FAMILIES)
def test_ids_are_those_of_transformers(tokenizers, tiny, family):
    theirs = build_tokenizer(family)
    for text in SENTENCES:
        # bert_score asks its RoBERTa tokenizer for a prefix space; here the space is written out
        expected = theirs.encode(f" {text}" if family == "roberta" else text)
        assert tokenizers[family]([text])[0].ids.tolist() == expected, text


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("pad", ["", " ", "\n\t  ", "\u3000\u00a0"], ids=repr)
def test_offsets_point_into_the_original_text(tokenizers, family, pad):
    text = f"{pad}The river, rose.{pad}"
    tokens = tokenizers[family]([text])[0]
    assert "".join(surfaces(tokens)).replace(" ", "") == "Theriver,rose."
    assert all(surface == surface.strip() for surface in surfaces(tokens))
    assert tokens.text == text
    assert tokens.offsets[tokens.special].tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("  \U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 river", "river"),  # a family joined by ZWJ
        ("nai\u0308ve cafe\u0301 river", "river"),  # combining marks
        ("漢字かな river", "river"),
        ("\ud800 a\udfff river", "river"),  # lone surrogates
        ("a\x00b \x00 river", "river"),
        ("\ufeff\u200briver river", "river"),
        ("İ ﬁ ẞ river", "river"),  # grow or shrink when lower-cased or decomposed
        ("river", "river"),
    ],
    ids=ascii,
)
def test_offsets_behind_difficult_characters(tokenizers, family, text, word):
    tokens = tokenizers[family]([text])[0]
    start = text.rindex(word)
    behind = [place for place in tokens.offsets[~tokens.special].tolist() if place[0] >= start]
    assert text[behind[0][0] : behind[-1][1]] == word
    assert all(0 <= first <= last <= len(text) for first, last in tokens.offsets.tolist())


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("text", ["", " ", "\n", "\t \r\n", "\u00a0", "\u3000\u2003"], ids=ascii)
def test_white_space_is_empty(tokenizers, family, text):
    tokens = tokenizers[family]([text])[0]
    assert tokens.empty
    assert len(tokens) == tokenizers[family].frame_length == 2
    assert not tokenizers[family](["a"])[0].empty


def test_roberta_spells_a_word_alike_at_the_start_and_after_a_space(tokenizers):
    start, inside = tokenizers["roberta"](["The river", "a The river"])
    own = start.ids[1:-1].tolist()
    assert inside.ids.tolist()[-1 - len(own) : -1] == own


@pytest.mark.parametrize("family", ["bert", "roberta", "albert"])
def test_truncation_and_padding_of_the_file_are_ignored(tiny, tokenizers, family):
    settings = json.loads((tiny(family) / "tokenizer.json").read_text("utf-8"))
    settings["truncation"] = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
    settings["padding"] = {
        "strategy": {"Fixed": 128}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0,
        "pad_token": "[PAD]",
    }  # fmt: skip
    changed = Tokenizer(json.dumps(settings))
    assert [t.pieces for t in changed(SENTENCES)] == [t.pieces for t in tokenizers[family](SENTENCES)]
    assert changed.fingerprint == tokenizers[family].fingerprint


@pytest.mark.parametrize(("written", "limit"), [(1e30, 160), (10**30, 160), (None, 160), (64, 64), (4096, 160)])
def test_the_limit_is_the_smaller_of_tokenizer_and_position_table(tmp_path, tiny, written, limit):
    for family in ("bert", "roberta", "mpnet"):
        directory = shutil.copytree(tiny(family), tmp_path / f"{family}-{written}")
        edit_json(directory / "tokenizer_config.json", model_max_length=written)
        encoder = open_ort(directory)
        assert encoder.reading.max_length == limit, family
        assert encoder.encode(["a b c " * 100])[0].tokens.windows > 1  # the last position is one the table has


def test_a_special_token_spelled_out_in_a_text_is_not_one_of_the_frame(tokenizers):
    tokens = tokenizers["bert"](["a [SEP] b"])[0]
    assert tokens.special.tolist() == [True, False, False, False, True]
    assert tokens.ids[2] in tokenizers["bert"].special_ids


def test_unknown_tokens_are_counted(tokenizers):
    strange, known = tokenizers["bert"](["river 漢字 ж", "river"])
    assert [strange.surface(place) for place in strange.unknown] == ["漢", "字", "ж"]
    assert known.unknown == ()
    assert tokenizers["albert"](["river 漢"])[0].counts == {"unknown-token": 1}


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"model": {}}'])
def test_a_broken_definition_is_a_model_error(tmp_path, content):
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(ModelError, match="not a tokenizer definition"):
        Tokenizer.from_directory(tmp_path)


def test_a_missing_definition_says_how_to_write_one(tmp_path):
    with pytest.raises(ModelError, match="save_pretrained"):
        Tokenizer.from_directory(tmp_path)
