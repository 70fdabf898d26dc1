"""BARTScore against its definition, recomputed token by token from the logits of plain transformers models."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import evalign
from evalign.encoders.likelihood import MIN_LOG_PROB, Passage, close_likelihoods, open_likelihood, plan_pairs
from evalign.encoders.torch_hf import torch_threads
from evalign.errors import (
    LengthMismatchError,
    ModelError,
    ModelNotFoundError,
    SpecError,
    TextTooLongError,
    UnsupportedModelError,
    WeightsError,
)
from evalign.metrics.bartscore import BARTScore
from evalign.testing import check_metric
from tiny_models import SENTENCES, edit_json
from tiny_torch_models import CAUSAL, SEQ2SEQ, build

TOLERANCE = 1e-5
LANGUAGES = {"m2m_100": {"lang": "fr", "source_lang": "en"}}
LABELS = {"bart": "start+end", "t5": "end", "marian": "end", "m2m_100": "start+end", "gpt2": "none", "llama": "none"}
PAIRS = [(SENTENCES[i], SENTENCES[(5 * i + 3) % 12]) for i in range(8)]
PAIRS += [
    ("a", " ".join(SENTENCES[:2])),
    (" ".join(SENTENCES[3:5]), "the"),
    ("🙂 naïve, 漢字", "Le café 漢 était fermé"),
]


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    with torch_threads(1):
        yield
    close_likelihoods()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    built: dict[str, Path] = {}

    def directory(family: str) -> Path:
        if family not in built:
            built[family] = build(family, tmp_path_factory.mktemp("tiny") / f"tiny-{family}", generates=True)
        return built[family]

    return directory


@pytest.fixture
def bartscore(model) -> Callable[..., BARTScore]:
    def metric(family: str, **options: Any) -> BARTScore:
        return BARTScore(model=str(model(family)), **LANGUAGES.get(family, {}) | options)

    return metric


def parts(directory: Path, kind: Any) -> tuple[Any, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind.from_pretrained(directory).eval(), transformers.AutoTokenizer.from_pretrained(directory)


def definition(directory: Path, source: str, target: str, languages: tuple[str, str] = ("", "")) -> list[float]:
    """One pair, unpadded, the model's own shifting of labels: log softmax of the logits at every label."""
    model, tokenizer = parts(directory, transformers.AutoModelForSeq2SeqLM)
    if languages[0]:
        tokenizer.src_lang, tokenizer.tgt_lang = languages
    read, labels = tokenizer(source, return_tensors="pt"), tokenizer(text_target=target, return_tensors="pt").input_ids
    with torch.inference_mode():
        logits = model(input_ids=read.input_ids, attention_mask=read.attention_mask, labels=labels).logits[0]
    return torch.log_softmax(logits, dim=-1)[torch.arange(len(logits)), labels[0]].tolist()


def causal_definition(directory: Path, context: str, target: str) -> list[float]:
    """The whole text tokenised at once: what follows the context is scored."""
    model, tokenizer = parts(directory, transformers.AutoModelForCausalLM)
    ids = tokenizer(f"{context} {target}", return_tensors="pt").input_ids
    start = len(tokenizer(context).input_ids)
    with torch.inference_mode():
        logs = torch.log_softmax(model(ids).logits[0], dim=-1)
    return [logs[place - 1, ids[0, place]].item() for place in range(start, ids.shape[1])]


def assert_causal_definition(metric: BARTScore, directory: Path, asked: list[Passage], scores: np.ndarray) -> None:
    """Every token, in batches with padding, and the mean of each pair."""
    for passage, one, score in zip(asked, metric.scorer().model(asked), scores, strict=True):
        expected = causal_definition(directory, passage.source, passage.target)
        assert len(one.log_probs) == len(one.target) == len(expected)
        np.testing.assert_allclose(one.log_probs, expected, atol=TOLERANCE, rtol=0)
        assert score == pytest.approx(np.mean(expected), abs=TOLERANCE)


@pytest.mark.parametrize("family", SEQ2SEQ)
def test_every_token_equals_the_definition(bartscore, model, family):
    metric = bartscore(family, direction="source-to-candidate", token_budget=400)
    languages = ("en", "fr") if family == "m2m_100" else ("", "")
    found = metric.scorer().model([Passage(source, target, *languages) for source, target in PAIRS])
    for (source, target), one in zip(PAIRS, found, strict=True):
        expected = definition(model(family), source, target, languages)
        assert len(one.log_probs) == len(one.target) == len(expected)
        np.testing.assert_allclose(one.log_probs, expected, atol=TOLERANCE, rtol=0)
    scores = metric.score([target for _, target in PAIRS], sources=[source for source, _ in PAIRS])
    assert scores["score"] == pytest.approx([one.log_probs.mean() for one in found], abs=1e-9)
    assert f"|labels:{LABELS[family]}|" in scores.signature


@pytest.mark.parametrize("family", CAUSAL)
@pytest.mark.parametrize("prompt", ["", "In other words,"])
def test_a_causal_model_scores_what_follows_the_prompt(bartscore, model, family, prompt):
    metric = bartscore(family, direction="source-to-candidate", prompt=prompt, token_budget=400)
    report = metric.score([target for _, target in PAIRS], sources=[source for source, _ in PAIRS])
    asked = [Passage(f"{source} {prompt}".strip(), target) for source, target in PAIRS]
    assert_causal_definition(metric, model(family), asked, report["score"])
    assert "|kind:causal|" in report.signature
    assert "|labels:none|" in report.signature


def test_the_three_directions_and_their_mean(bartscore, model):
    candidate, reference, source = SENTENCES[:3]
    expected = {
        "reference-to-candidate": np.mean(definition(model("bart"), reference, candidate)),
        "candidate-to-reference": np.mean(definition(model("bart"), candidate, reference)),
        "source-to-candidate": np.mean(definition(model("bart"), source, candidate)),
    }
    expected["f"] = (expected["reference-to-candidate"] + expected["candidate-to-reference"]) / 2
    for direction, value in expected.items():
        metric = bartscore("bart", direction=direction)
        references = None if direction.startswith("source") else [reference]
        sources = [source] if direction.startswith("source") else None
        assert metric.score([candidate], references, sources)["score"][0] == pytest.approx(value, abs=TOLERANCE)
    assert bartscore("bart").direction == "f"


def test_several_references(bartscore):
    candidate, references = SENTENCES[0], SENTENCES[1:4]
    single = [bartscore("t5").score([candidate], [one])["score"][0] for one in references]
    for multiref, value in (("mean", np.mean(single)), ("best", max(single))):
        metric = bartscore("t5", multiref=multiref)
        assert metric.score([candidate], [references])["score"][0] == pytest.approx(value, abs=TOLERANCE)
        beside_nothing = metric.score([candidate], [[*references, " "]])
        assert beside_nothing["score"][0] == pytest.approx(value, abs=TOLERANCE), "an empty reference says nothing"
        assert beside_nothing.flags == {"empty": 1}


@pytest.mark.parametrize(
    ("options", "source", "target"),
    [
        ({"prompt": "that is to say"}, f"{SENTENCES[0]} that is to say", SENTENCES[1]),
        ({"prompt": "summarize: {text}"}, f"summarize: {SENTENCES[0]}", SENTENCES[1]),
        ({"prompt": "i.e.,", "prompt_side": "target"}, SENTENCES[0], f"i.e., {SENTENCES[1]}"),
        ({"prompt": "({text})", "prompt_side": "target"}, SENTENCES[0], f"({SENTENCES[1]})"),
    ],
)
def test_prompts(bartscore, model, options, source, target):
    metric = bartscore("bart", direction="reference-to-candidate", **options)
    report = metric.score([f" {SENTENCES[1]}\n"], [f"{SENTENCES[0]} "])
    assert report["score"][0] == pytest.approx(np.mean(definition(model("bart"), source, target)), abs=TOLERANCE)
    assert evalign.Signature.parse(report.signature).settings["prompt"] == options["prompt"]
    assert metric.score([""], [SENTENCES[0]])["score"][0] == MIN_LOG_PROB, "a prompt does not fill up an empty text"


@pytest.mark.parametrize("family", [*SEQ2SEQ, *CAUSAL])
def test_a_score_does_not_depend_on_batch_order_or_padding_side(bartscore, model, tmp_path, family):
    metric = bartscore(family)
    candidates, references = zip(*PAIRS, strict=True)
    usual = metric.score(candidates, references)["score"]
    for budget in (1, 300, 100_000):
        again = replace(metric, token_budget=budget).score(candidates[::-1], references[::-1])["score"][::-1]
        np.testing.assert_allclose(again, usual, atol=TOLERANCE, rtol=0)
    other = shutil.copytree(model(family), tmp_path / "model")
    for side in ("left", "right"):
        edit_json(other / "tokenizer_config.json", padding_side=side)
        turned = replace(metric, model=str(other)).score(candidates, references)["score"]
        np.testing.assert_allclose(turned, usual, atol=TOLERANCE, rtol=0)


def slow_case(family, options):
    return pytest.param(family, options, marks=pytest.mark.slow)


# No other text being likelier than the text itself is a property of trained models, at best.
@pytest.mark.parametrize(
    ("family", "options"),
    [
        slow_case("bart", {}),
        slow_case("bart", {"direction": "source-to-candidate", "prompt": "that is"}),
        slow_case("t5", {"multiref": "best", "direction": "candidate-to-reference"}),
        slow_case("gpt2", {"prompt": "In other words,", "direction": "reference-to-candidate"}),
    ],
)
def test_laws(bartscore, family, options):
    check_metric(bartscore(family, **options), skip=("identity",), long_text=3000)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["marian", "m2m_100"])
def test_laws_with_tokenizers_written_in_python(bartscore, family):
    check_metric(bartscore(family), skip=("identity", "padding", "row-order", "other-rows"), long_text=2000)


def test_tokens_carry_their_places_and_log_probabilities(bartscore):
    candidate, reference = f"  {SENTENCES[5]} ", SENTENCES[4]
    metric = bartscore("bart")
    found = metric.tokens(candidate, reference)
    assert list(found) == ["reference-to-candidate", "candidate-to-reference"]
    one = found["reference-to-candidate"]
    assert one.target.text == candidate
    covered = "".join(candidate[start:stop] for start, stop in one.target.offsets)
    assert covered.replace(" ", "") == candidate.replace(" ", "")
    assert one.target.special.tolist() == [True] + [False] * (len(one.target) - 2) + [True]
    mean = np.mean([one.score for one in found.values()])
    assert metric.score([candidate], [reference])["score"][0] == pytest.approx(mean, abs=1e-6)
    assert len(one.log_probs) == len(one.target.pieces) == len(one.target.offsets)
    assert one.score == pytest.approx(np.mean(one.log_probs), abs=1e-5)


def test_explained_on_one_screen(bartscore):
    from rich.console import Console

    from evalign.render.explain.terms import explain_bartscore

    metric, pair = bartscore("bart"), ("the river", "a river [b]")
    console = Console(width=100, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(explain_bartscore(metric, *pair))
    console.file.close()
    shown = console.export_text()
    found = metric.tokens(*pair)
    for direction, one in found.items():
        assert direction in shown
        assert f"mean of {len(one.log_probs)} tokens = {one.score:.4f}" in shown
        assert all(f"{value:.4f}" in shown for value in one.log_probs)
    assert f"/ 2 = {sum(one.score for one in found.values()) / 2:.4f}" in shown


@pytest.mark.parametrize("family", ["marian", "m2m_100", "gpt2"])
def test_places_of_tokens(bartscore, family):
    """Without help from a fast tokenizer, and behind a space that joins prompt and target."""
    (one,) = bartscore(family, direction="reference-to-candidate").tokens("The old bridge", "a bridge").values()
    words = ["".join("The old bridge"[start:stop]).strip() for start, stop in one.target.offsets]
    assert "".join(words) == "Theoldbridge"


def test_languages_decide_the_score_and_are_asked_for(bartscore, model):
    pair = [SENTENCES[0]], [SENTENCES[1]]
    french, german = (bartscore("m2m_100", lang=lang).score(*pair)["score"][0] for lang in ("fr", "de"))
    assert abs(french - german) > 1e-3
    with pytest.raises(SpecError, match="needs languages: give lang="):
        bartscore("m2m_100", lang="", source_lang="").score(*pair)
    with pytest.raises(SpecError, match="lang=xx: not a language of this model"):
        bartscore("m2m_100", lang="xx").score(*pair)
    with pytest.raises(SpecError, match="lang=fr: this model has no language tokens"):
        bartscore("bart", lang="fr").score(*pair)


def test_overlong_texts_are_cut_before_the_prompt_and_flagged_or_refused(bartscore):
    long = " ".join(SENTENCES * 3)
    metric = bartscore("bart", direction="reference-to-candidate", max_length=30, prompt="that is")
    (one,) = metric.tokens("the river", long).values()
    assert len(one.source) == 30
    assert one.source.surface(28) == "is", "the prompt is kept"
    assert one.counts["truncated"] == one.source.dropped > 100
    report = metric.score([long, "the"], [long, "the river"])
    assert report.flags == {"truncated": 1}
    assert "|max:30|" in report.signature
    with pytest.raises(TextTooLongError, match="the model reads 30"):
        replace(metric, overlong="error").score(["the"], [long])
    with pytest.raises(ModelError, match="leaves no room"):
        replace(metric, max_length=3).score(["the"], [long])


def test_a_causal_model_cuts_source_and_target_within_one_limit(bartscore):
    long = " ".join(SENTENCES * 3)
    metric = bartscore("gpt2", direction="reference-to-candidate", max_length=40)
    for candidate, reference in ((long, long), ("the river", long), (long, "the river")):
        (one,) = metric.tokens(candidate, reference).values()
        assert len(one.source) + len(one.target) == 40
        assert one.counts["truncated"] == one.source.dropped + one.target.dropped


def test_empty_texts_have_the_worst_score_and_the_flag(bartscore):
    report = bartscore("bart").score(["", "a", " \n", "a"], ["a", "", "", "a"])
    assert report["score"][:3].tolist() == [BARTScore.worst] * 3 == [MIN_LOG_PROB] * 3
    assert [segment.flags for segment in report.segments] == [("empty",)] * 3 + [()]
    assert np.isfinite(MIN_LOG_PROB)


def test_no_infinity_leaves(bartscore, monkeypatch):
    metric = bartscore("bart", direction="reference-to-candidate")
    monkeypatch.setattr(
        metric.scorer().model, "forward", lambda batch: [np.full(len(target), -np.inf) for _, target in batch]
    )
    report = metric.score(["the river"], ["a"])
    assert report["score"].tolist() == [MIN_LOG_PROB]
    (segment,) = report.segments
    assert segment.counts["impossible-token"] == len(metric.tokens("the river", "a")["reference-to-candidate"].target)
    monkeypatch.setattr(metric.scorer().model, "forward", lambda batch: [np.full(len(t), np.nan) for _, t in batch])
    with pytest.raises(ModelError, match="gave NaN"):
        metric.score(["the river"], ["a"])


def test_out_of_memory_halves_the_batches_and_goes_on(bartscore, monkeypatch):
    metric = bartscore("bart", token_budget=100_000)
    candidates, references = zip(*PAIRS, strict=True)
    expected = metric.score(candidates, references)["score"]
    loaded = open_likelihood(metric.choice())
    run, sizes = loaded.forward, []

    def forward(batch):
        sizes.append(len(batch))
        if len(batch) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")
        return run(batch)

    monkeypatch.setattr(loaded, "forward", forward)
    np.testing.assert_allclose(metric.score(candidates, references)["score"], expected, atol=TOLERANCE, rtol=0)
    assert sizes[0] == 2 * len(PAIRS)
    assert loaded.token_budget < 100_000
    monkeypatch.setattr(loaded, "forward", lambda batch: (_ for _ in ()).throw(MemoryError()))
    with pytest.raises(ModelError, match=r"out of memory on cpu with one pair of \d+ and \d+ tokens; lower max_length"):
        metric.score(candidates, references)
    monkeypatch.setattr(loaded, "forward", lambda batch: (_ for _ in ()).throw(RuntimeError("shapes differ")))
    with pytest.raises(RuntimeError, match="shapes differ"):
        metric.score(candidates, references)
    close_likelihoods()


def test_the_published_number_of_bart_large_cnn():
    """From the README of the original program: how likely "This is fun." is after "This is interesting."."""
    try:
        metric = evalign.metric("bartscore(direction=reference-to-candidate)")
        value = metric.score(["This is fun."], ["This is interesting."])["score"][0]
    except ModelNotFoundError:
        pytest.skip("facebook/bart-large-cnn is not in the Hugging Face cache of this machine")
    assert value == pytest.approx(-2.510652780532837, abs=1e-4)


def test_batches_hold_every_pair_once_within_the_budget_and_keep_a_source_together():
    rng = np.random.default_rng(0)
    sources = [tuple(range(n)) for n in rng.integers(1, 60, 12).tolist()]
    pairs = [(sources[rng.integers(12)], tuple(range(int(rng.integers(1, 60))))) for _ in range(200)]
    for budget in (1, 200, 2000, 10**6):
        batches = plan_pairs(pairs, budget)
        assert sorted(place for batch in batches for place in batch) == list(range(200))
        for batch in batches:
            widest = [max(len(pairs[place][side]) for place in batch) for side in (0, 1)]
            assert len(batch) == 1 or len(batch) * sum(widest) <= budget
    runs = [pairs[place][0] for batch in plan_pairs(pairs, 2000) for place in batch]
    assert sum(one != other for one, other in pairwise(runs)) == len({*runs}) - 1


def test_each_source_of_a_batch_is_encoded_once(bartscore):
    loaded = bartscore("bart", direction="reference-to-candidate", token_budget=100_000).scorer().model
    before = loaded.real_tokens
    found = loaded([Passage(SENTENCES[0], target) for target in SENTENCES[1:5]])
    assert loaded.real_tokens - before == len(found[0].source) + sum(len(one.target) for one in found)


def test_needs_depend_on_the_direction(bartscore):
    with pytest.raises(LengthMismatchError, match="needs a source"):
        bartscore("bart", direction="source-to-candidate").score(["a"], ["b"])
    with pytest.raises(LengthMismatchError, match="needs references"):
        bartscore("bart").score(["a"], sources=["b"])


def test_spec_signature_and_bad_options(bartscore, model, monkeypatch):
    metric = bartscore("bart", direction="candidate-to-reference", prompt="that is", max_length=50, multiref="best")
    assert evalign.metric(str(metric)) == metric
    signature = str(metric.scorer().signature)
    monkeypatch.chdir(model("bart").parent)  # found by its label
    assert evalign.metric(signature) == replace(metric, model=model("bart").name)
    with pytest.raises(SpecError, match="the signature pins"):
        evalign.metric(signature.replace("tiny-bart@", "tiny-bart@0"))
    for options in ({"direction": "sideways"}, {"multiref": "max"}, {"prompt_side": "left"}, {"arithmetic": "int8"}):
        with pytest.raises(SpecError):
            bartscore("bart", **options)
    for prompt in ("{text}{text}", "{text}, that is, {text}"):
        with pytest.raises(SpecError, match=r"expected \{text\} at most once"):
            bartscore("bart", prompt=prompt)
    with pytest.raises(SpecError, match="token_budget from 1"):
        bartscore("bart", token_budget=0).scorer()


def test_the_default_model_is_named_with_a_way_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelNotFoundError, match=r"model=DIRECTORY.*hf download facebook/bart-large-cnn"):
        evalign.metric("bartscore").scorer()


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_half_precision_stays_near(bartscore, precision):
    pair = [SENTENCES[0]], [SENTENCES[1]]
    full, half = (bartscore("bart", arithmetic=one).score(*pair)["score"][0] for one in ("fp32", precision))
    assert 0 < abs(full - half) < 0.3


@pytest.mark.parametrize(("family", "plain"), [("bart", True), ("marian", True), ("t5", True), ("gpt2", True)])
def test_the_short_way_through_the_output_layer_is_taken_where_it_is_the_same(bartscore, family, plain):
    loaded = bartscore(family).scorer().model
    loaded([Passage(*PAIRS[0])])
    assert loaded._head._plain is plain


def test_a_model_that_caps_its_logits_takes_the_long_way(model, tmp_path):
    directory = shutil.copytree(model("gpt2"), tmp_path / "gemma2")
    config = transformers.Gemma2Config(
        vocab_size=400, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, head_dim=8,
        num_key_value_heads=2, max_position_embeddings=160, final_logit_softcapping=2.0, sliding_window=32,
        pad_token_id=0, bos_token_id=0, eos_token_id=0, initializer_range=0.5,
    )  # fmt: skip
    transformers.Gemma2ForCausalLM(config).save_pretrained(directory)
    metric = BARTScore(model=str(directory), direction="source-to-candidate")
    report = metric.score([target for _, target in PAIRS], sources=[source for source, _ in PAIRS])
    assert metric.scorer().model._head._plain is False
    assert_causal_definition(metric, directory, [Passage(*pair) for pair in PAIRS], report["score"])


def spoilt(directory: Path, place: Path) -> Path:
    return shutil.copytree(directory, place / "model")


def test_an_unknown_architecture_is_said(model, tmp_path):
    directory = spoilt(model("bart"), tmp_path)
    edit_json(directory / "config.json", model_type="mystery", architectures=["MysteryModel"])
    with pytest.raises(UnsupportedModelError, match=r"transformers cannot load this.*mystery"):
        BARTScore(model=str(directory)).scorer()


def test_a_model_that_predicts_no_tokens_is_said(tiny):
    with pytest.raises((UnsupportedModelError, WeightsError)):
        BARTScore(model=str(tiny("mpnet"))).scorer()


def test_pickled_weights_only_are_refused(model, tmp_path):
    directory = spoilt(model("bart"), tmp_path)
    (directory / "model.safetensors").rename(directory / "pytorch_model.bin")
    with pytest.raises(WeightsError, match="pickled weights are never loaded"):
        BARTScore(model=str(directory)).scorer()


def test_no_tokenizer_is_said(model, tmp_path):
    directory = spoilt(model("bart"), tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (directory / name).unlink()
    with pytest.raises(ModelError, match=r"no tokenizer\.json there, nor any other vocabulary"):
        BARTScore(model=str(directory)).scorer()


def test_marian_does_not_depend_on_an_optional_package(bartscore):
    """Its tokenizer would normalise punctuation where sacremoses is installed, and only there."""
    assert bartscore("marian").scorer().model.tokenizer.punc_normalizer("« a »") == "« a »"


@pytest.mark.parametrize("model", ["bart.pth", "runs/best.ckpt"])
def test_a_checkpoint_file_says_how_to_make_a_directory(model):
    with pytest.raises(SpecError, match=r"load_state_dict.*save_pretrained\(DIR\)"):
        evalign.BARTScore(model=model).scorer()
