"""The German summaries study: its numbers against direct computation, its scale, its cache, its bad inputs."""

import csv
import json
import math
import shutil
import signal
import time
from dataclasses import replace

import numpy as np
import pytest
from german_rows import PLAN, RESAMPLING, command, example, library, rows, system
from started_studies import start_study

import evalign
from evalign.core import Row
from evalign.encoders.loading import EncoderSpec, open_encoder
from evalign.errors import InputError, SpecError
from evalign.io.rows import Columns
from evalign.metrics.bertscore import BERTScore
from evalign.research.studies.german import agreement, systems
from evalign.research.studies.german import study as tuning
from evalign.research.studies.german.agreement import (
    CORRELATIONS,
    ERRORS,
    FITTED_RMSE,
    MAE,
    RESCALED,
    RMSE,
    judge_systems,
)
from evalign.research.studies.german.data import RowChoice, judged_rows, read_judged, training_pairs
from evalign.research.studies.german.page import german_page
from evalign.research.studies.german.study import PAPER, named_models, run_german
from evalign.research.studies.german.systems import (
    GERMAN,
    LEXICAL,
    LISASCORE,
    MOVERSCORE,
    POOLINGS,
    Scored,
    System,
    pooled,
    score_systems,
)  # fmt: skip
from evalign.research.studies.inputs import Steps, model_pin
from evalign.research.studies.page import save_study, study_html
from evalign.stats.bootstrap import Resampling
from evalign.stats.correlation import correlation
from evalign.stats.levels import Rated
from evalign.stats.levels import agreement as level_agreement
from evalign.text.idf import FixedWeights
from evalign.training.trainee import Watch

pytest.importorskip("matplotlib", reason="figures need the extra 'plots'")

FILES = [f"{name}.{ending}" for name in ("table3", "pooling_error", "pooling_correlation", "table4_error",
         "table4_correlation", "scores") for ending in ("csv", "png", "svg")]  # fmt: skip
FILES += ["corpus.csv", "ledger.csv", "index.html", "report.md"]


@pytest.fixture(scope="module")
def model(tiny):
    return str(tiny("bert"))


@pytest.fixture(scope="module")
def study(model):
    return run_german([model], example(), PLAN, Steps(None))


@pytest.mark.parametrize("name", LEXICAL)
def test_metrics_of_words_are_the_librarys_own(study, name):
    spec = LEXICAL[name].format(language="de")
    expected = library(evalign.metric(spec), study.rows) / (100 if name == "BLEU" else 1)
    assert system(study, name).scores == pytest.approx(expected, abs=1e-12)
    assert expected.max() <= 1


@pytest.mark.parametrize("pooling", POOLINGS)
def test_sentence_bert_is_the_librarys_own(study, model, pooling):
    expected = library(evalign.metric(f'sbert(model="{model}", pooling={pooling})'), study.rows)
    assert system(study, pooled(pooling)).scores == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("name", "spec"),
    [("BERTScore", "bertscore"), (LISASCORE, "lisascore"), (MOVERSCORE, "moverscore")],
)
def test_token_metrics_are_the_librarys_own_of_the_last_layer(study, model, name, spec):
    expected = library(evalign.metric(f'{spec}(model="{model}", layer=last)'), study.rows)
    assert system(study, name).scores == pytest.approx(expected, abs=1e-5)


def scores_of(metric, judged):
    ((scored,), missing) = score_systems([System("x", "tiny", metric)], judged, Steps(None))
    assert not missing
    return scored.scores


def by_hand(encoder, texts):
    """log((M + 1) / (df + 1)) over distinct whole texts, from the tokenizer alone."""
    found = [set(one.ids.tolist()) for one in encoder.tokenize(sorted(set(texts)))]
    known = set().union(*found)
    weights = {token: math.log((len(found) + 1) / (sum(token in one for one in found) + 1)) for token in known}
    return FixedWeights(weights, math.log(len(found) + 1))


def test_idf_counts_every_source_once_and_whole(model):
    """The last word of each source lies far behind what the model reads at once."""
    words = ["fluss", "felder", "nacht", "unteren", "bridge", "old"]
    sources = [f"{'und ' * 300}{word}" for word in words[:3]]
    data = [
        Row(
            str(n), f"{words[n]} {words[(n + 1) % 6]} river", (f"{words[n]} rose {words[(n + 2) % 6]}",),
            sources[n % 3], human=n / 6,
        )
        for n in range(6)
    ]  # fmt: skip
    judged = judged_rows("long", data, RowChoice())
    metric = BERTScore(model=model, layer="2", idf="sources")
    encoder = open_encoder(EncoderSpec(model, "2")).encoder
    assert len(encoder.tokenize([sources[0]])[0]) > 2 * 160  # the model's positions
    found = scores_of(metric, judged)

    def expected(texts):
        scorer = metric.scorer(weights=by_hand(encoder, texts))
        return np.array([one.scores["f1"] for one in scorer.score(list(judged.rows))])

    assert found == pytest.approx(expected(sources), abs=1e-6)
    truncated = expected([source[:400] for source in sources])
    assert np.abs(found - truncated).max() > 1e-3


def test_a_document_counts_once_however_many_summaries_it_has(model):
    judged = example()
    assert len(judged.rows) == 20
    assert len(judged.counted_texts) == len({row.source for row in judged.rows}) == 5
    few = example(rows=4)
    assert (len(few.rows), len(few.counted_texts)) == (4, 5)  # IDF is about the data, not about what was drawn


def test_idf_over_references_when_asked(model):
    data = rows(source=None)
    judged = judged_rows("plain", data, RowChoice(idf="references"))
    encoder = open_encoder(EncoderSpec(model, "2")).encoder
    metric = BERTScore(model=model, layer="2", idf="references")
    found = scores_of(metric, judged)
    scorer = metric.scorer(weights=by_hand(encoder, [row.references[0] for row in data]))
    assert found == pytest.approx([one.scores["f1"] for one in scorer.score(list(judged.rows))], abs=1e-6)
    assert not judged.missing


def test_errors_by_hand(study):
    for one in study.verdict.systems:
        residuals = np.clip(one.scores, 0, 1) - study.rows.human / 4
        assert one.value(RMSE) == pytest.approx(100 * math.sqrt((residuals**2).mean()))
        assert one.value(MAE) == pytest.approx(100 * np.abs(residuals).mean())
        assert one.offset == pytest.approx(residuals.mean())
        assert one.offset_share == pytest.approx(residuals.mean() ** 2 / (residuals**2).mean())
        for name in ERRORS:
            estimate = one.estimates[name]
            assert estimate.low <= estimate.value <= estimate.high
        assert one.value(FITTED_RMSE) < 45  # no line is worse than a constant by much


def test_the_constant_predicts_the_mean_of_the_other_rows(study):
    ratings = study.rows.shares
    assert study.verdict.constant[RMSE].value == pytest.approx(100 * ratings.std(), rel=0.1)
    assert study.verdict.constant[RMSE].value > 100 * ratings.std()  # a row's own rating is not in its mean


def test_correlations_and_their_intervals_over_documents(study):
    documents = [row.source for row in study.rows.rows]
    for one in study.verdict.systems:
        for name in CORRELATIONS:
            rated = Rated(one.scores, study.rows.shares, documents)
            expected = level_agreement(rated, name, "segment", RESAMPLING)
            assert one.estimates[name] == expected
            assert expected.value == pytest.approx(correlation(name)(one.scores, study.rows.human))


def test_ratings_are_mapped_to_the_scale(model):
    penalties = [replace(row, human=-row.human) for row in rows()]
    mapped = judged_rows("mqm", penalties, RowChoice(low=-25, high=0))
    assert mapped.shares == pytest.approx([1, 0.96, 0.92, 0.88, 0.84, 0.8])
    assert "(rating + 25) / 25" in str(mapped.scale)
    assert judged_rows("mqm", penalties, RowChoice()).shares == pytest.approx([1, 0.8, 0.6, 0.4, 0.2, 0])
    assert judged_rows("plain", rows(), RowChoice(high=10)).shares == pytest.approx([0, 0.1, 0.2, 0.3, 0.4, 0.5])
    assert judged_rows("plain", rows(), RowChoice()).shares[-1] == 1
    named = [replace(row, human={"fluency": row.human, "other": 1}) for row in rows()]
    assert judged_rows("named", named, RowChoice(aspect="fluency")).shares[-1] == 1


BAD = [
    (rows(human=None), {}, "no row has a human score.*`human_field`"),
    (rows(2), {}, "at least 3 rated rows with a reference, found 2 of 2"),
    (rows(references=()), {}, "found 0 of 6"),
    (rows(), {"high": 4.0}, "row 5: its rating 5 lies outside the scale from 0 to 4.*`human_max`"),
    (rows(human="good"), {}, "expected a number"),
    (rows(human={"fluency": 1}), {}, "choose one of them with `aspect`"),
    (rows(human=0.0), {}, "`human_min` below `human_max`"),
    (rows(), {"rows": 2}, "`sample_rows=2`: the study needs at least 3 rows"),
    ([], {}, "there are no rows in it"),
]


@pytest.mark.parametrize(("data", "asked", "said"), BAD, ids=lambda value: value if isinstance(value, str) else "")
def test_data_that_cannot_be_judged(data, asked, said):
    with pytest.raises(InputError, match=said):
        judged_rows("data.jsonl", data, RowChoice(**asked))


def test_rows_without_rating_or_reference_are_left_out_and_counted():
    data = [*rows(), replace(rows()[0], human=None), replace(rows()[0], references=("  ",))]
    judged = judged_rows("data", data, RowChoice(rows=4))
    assert len(judged.rows) == 4
    assert judged.notes == ("1 rows left out: no human score", "1 rows left out: no reference",
                            "4 of 6 rated rows, drawn at random (seed 12345)")  # fmt: skip


def test_without_sources_only_idf_is_missing(model):
    study = run_german([model], judged_rows("plain", rows(source=None), RowChoice()), PLAN, Steps(None))
    names = {one.name for one in study.verdict.systems}
    assert names == {*LEXICAL, *map(pooled, POOLINGS), "BERTScore", RESCALED, LISASCORE, MOVERSCORE}
    assert len(study.missing) == 1
    assert "no row of the data has a source" in study.missing[0]


def test_a_model_that_is_not_found_leaves_the_others(model, tmp_path):
    study = run_german([str(tmp_path / "nowhere"), model], example(), PLAN, Steps(None))
    assert list(study.models) == ["tiny-bert"]
    assert {one.model for one in study.verdict.systems} == {"", "tiny-bert"}
    (said,) = study.missing
    assert "nowhere" in said
    assert "no such directory" in said


def test_models_are_told_apart_by_what_they_hold(model, tmp_path):
    """The same files under another name are one model; the same weights with another tokenizer are two."""
    again, other, last = (tmp_path / place / "tiny-bert" for place in "abc")
    for folder in (again, other, last):
        shutil.copytree(model, folder)
    renamed = again.rename(again.with_name("renamed"))
    for number, folder in enumerate((other, last)):
        with (folder / "tokenizer.json").open("a") as stream:
            stream.write(" " * (number + 1))
    models = [model, str(renamed), str(other), str(last)]
    study = run_german(models, example(), PLAN, Steps(None))
    assert study.notes == (f"{renamed} is the same model as {model}",)
    assert list(study.models) == [model_pin(name) for name in (model, str(other), str(last))]
    assert len(set(study.models)) == 3
    assert sum(one.name == "BERTScore" for one in study.verdict.systems) == 3


def test_constant_scores_have_errors_but_no_correlation():
    data = [replace(row, candidate="xyz") for row in rows()]
    study = run_german([], judged_rows("zero", data, RowChoice()), PLAN, Steps(None))
    rouge = system(study, "ROUGE-1")
    assert (rouge.value("pearson"), rouge.rank) == (None, None)
    assert rouge.value(RMSE) == pytest.approx(100 * math.sqrt((study.rows.shares**2).mean()))
    page = german_page(study)
    assert any("ROUGE-1, pearson: scores are constant" in note for note in page.notes)
    (plate,) = (plate for plate in page.plates if plate.name == "table4_correlation")
    assert plate.drawing is None
    assert "no metric has a correlation here" in plate.missing


def test_constant_ratings_leave_the_figures_of_errors(model, tmp_path):
    study = run_german([model], judged_rows("same", rows(human=3.0), RowChoice(high=4.0)), PLAN, Steps(None))
    save_study(german_page(study), tmp_path / "out")  # an empty figure would warn
    made = {file.stem for file in (tmp_path / "out").glob("*.png")}
    assert made == {"table3", "pooling_error", "table4_error", "scores"}
    lacking = german_page(study).lacking
    assert [said.partition(": no metric")[0] for said in lacking] == [
        "Table 4: all metrics, correlation with people",
        "Pooling of Sentence-BERT, correlation with people",
    ]


def test_one_text_has_no_intervals_and_few_say_so():
    together = judged_rows("one", rows(source="Der Fluss."), RowChoice())
    study = run_german([], together, PLAN, Steps(None))
    for one in (*(one.estimates for one in study.verdict.systems), study.verdict.constant):
        assert {(estimate.low, estimate.high) for estimate in one.values()} == {(None, None)}
    assert "of one text, so there are no intervals" in german_page(study).about[1]
    apart = run_german([], judged_rows("six", rows(), RowChoice()), PLAN, Steps(None))
    assert system(apart, "ROUGE-1").estimates[RMSE].low is not None
    assert "6 different texts; so few give intervals that are too narrow" in german_page(apart).about[1]


def test_rows_with_blank_sources_are_about_their_references():
    judged = judged_rows("blank", rows(source=" "), RowChoice())
    assert judged.documents == [row.references[0] for row in judged.rows]


def test_some_rows_without_a_source_are_counted():
    data = [replace(row, source=None) if number < 2 else row for number, row in enumerate(rows())]
    judged = judged_rows("some", data, RowChoice())
    assert "2 of 6 rows have no source; IDF was counted over those of the others" in judged.notes
    assert len(judged.counted_texts) == 4


def test_models_by_preset_and_by_comma():
    assert named_models(["german", "minilm,./x", "minilm"]) == [*GERMAN, "minilm", "./x"]
    assert len(GERMAN) == 5


def test_training_pairs_share_no_text_with_judged_rows(tmp_path):
    judged = example()
    taken = judged.rows[0].candidate
    lines = [("Ein neuer Satz.", "Noch einer.", 4), (f" {taken.upper()} ", "Etwas anderes.", 1), ("Drei.", "Vier.", 2)]
    file = tmp_path / "pairs.jsonl"
    file.write_text("".join(json.dumps({"candidate": a, "reference": b, "human": c}) + "\n" for a, b, c in lines))
    pairs = training_pairs(str(file), "opusparcus", judged)
    assert [pair.similarity for pair in pairs.pairs] == [0.85, 0.2]
    assert pairs.left_out == {"a text of theirs is judged here": 1}
    file.write_text(json.dumps({"candidate": taken, "reference": "x", "human": 4}) + "\n"
                    + json.dumps({"candidate": taken, "reference": "y", "human": 1}) + "\n")  # fmt: skip
    with pytest.raises(InputError, match="0 of 2 pairs share no text with the judged rows"):
        training_pairs(str(file), "opusparcus", judged)
    file.write_text((json.dumps({"candidate": "a", "reference": "b", "human": 4.75}) + "\n") * 2)
    with pytest.raises(InputError, match=r"`train=pairs.jsonl`: row 1: rating 4.75 is not in the mapping.*`mapping`"):
        training_pairs(str(file), "opusparcus", judged)


def test_finetune_must_name_a_model(model):
    with pytest.raises(SpecError, match="`finetune=other` is none of the models"):
        run_german([model], example(), replace(PLAN, finetune=("other",)), Steps(None))


@pytest.fixture(scope="module")
def tuned_plan():
    pairs = training_pairs(None, "opusparcus", example())
    return replace(PLAN, pairs=pairs, training=replace(PAPER, epochs=2, rate=1e-3, threads=1))


@pytest.mark.slow
def test_a_tuned_encoder_is_scored_with_the_same_layer(model, tuned_plan, tmp_path, monkeypatch):
    steps = Steps(tmp_path)
    study = run_german([model], example(), tuned_plan, steps)
    tuned = study.tuned["tiny-bert"]
    assert len(tuned.epochs) == 3  # the start, and two epochs
    layers = {str(one.metric.layer) for one in study.verdict.systems if one.name.startswith("BERTScore")}
    assert layers == {"last"}
    for name, metric in (
        ("Sentence-BERT, mean, fine-tuned", evalign.metric(f'sbert(model="{tuned.directory}")')),
        ("BERTScore, fine-tuned", BERTScore(model=str(tuned.directory), layer="3")),
    ):
        found = system(study, name).scores
        assert found == pytest.approx(library(metric, study.rows), abs=1e-5)
        before = system(study, name.replace(", fine-tuned", "")).scores
        assert np.abs(found - before).max() > 1e-3
    assert system(study, "BERTScore, fine-tuned + IDF")

    monkeypatch.setattr("evalign.metrics.token_metric.open_encoder", refuse)  # a second run opens and trains nothing
    monkeypatch.setattr("evalign.metrics.token_metric.open_encoder", refuse)
    monkeypatch.setattr(tuning, "import_module", refuse)
    again = run_german([model], example(), tuned_plan, steps)
    assert study_html(german_page(again)) == study_html(german_page(study))


@pytest.mark.parametrize(
    "damage",
    [
        "weights changed",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("weights cut short", "no weights", "no record", "record")
        ),
    ],
)
def test_a_damaged_tuned_encoder_is_trained_anew(model, tuned_plan, tmp_path, damage):
    plan = replace(tuned_plan.training, epochs=1)

    def tune():
        return tuning.fine_tune(model, tuned_plan.pairs, plan, tmp_path, Watch())

    first = tune()
    weights, record = first.directory / "model.safetensors", first.directory / "training.json"
    whole = weights.read_bytes()
    if damage == "record":
        record.write_text("{}")
    elif damage in ("no record", "no weights"):
        (record if damage == "no record" else weights).unlink()
    else:
        weights.write_bytes(whole[: len(whole) // 2] if "short" in damage else whole[:-1] + bytes([whole[-1] ^ 1]))
    assert tune() == first
    assert weights.read_bytes() == whole
    assert [file.name for file in tmp_path.iterdir()] == [first.directory.name]


def refuse(*_, **__):
    raise AssertionError("this was measured before")


@pytest.mark.slow
def test_with_and_without_cache_the_same(study, model, tmp_path):
    cached = run_german([model], example(), PLAN, Steps(tmp_path))
    assert study_html(german_page(cached)) == study_html(german_page(study))
    for file in sorted(tmp_path.glob("*.json"))[::3]:
        file.write_bytes(b"{damaged")
    assert study_html(german_page(run_german([model], example(), PLAN, Steps(tmp_path)))) == study_html(
        german_page(study)
    )


def test_other_ratings_use_the_same_scores_and_other_numbers(model, tmp_path, monkeypatch):
    steps = Steps(tmp_path)
    first = run_german([model], judged_rows("a", rows(), RowChoice()), PLAN, steps)
    monkeypatch.setattr("evalign.metrics.token_metric.open_encoder", refuse)
    turned = [replace(row, human=5 - row.human) for row in rows()]
    second = run_german([model], judged_rows("a", turned, RowChoice()), PLAN, steps)
    for one, other in zip(first.verdict.systems, second.verdict.systems, strict=True):
        assert one.scores.tolist() == other.scores.tolist()
        if one.value("pearson") is not None:
            assert other.value("pearson") == pytest.approx(-one.value("pearson"))


def test_going_on_with_some_blocks_gives_the_same_bits(model, tmp_path, monkeypatch):
    """References come again in later blocks: what a text was encoded with must not depend on what was kept."""
    monkeypatch.setattr(systems, "ROWS_PER_STEP", 3)
    judged = example(rows=11)
    whole = run_german([model], judged, PLAN, Steps(tmp_path))
    for number, file in enumerate(sorted(tmp_path.glob("*.json"))):
        if number % 2:
            file.unlink()
    again = run_german([model], judged, PLAN, Steps(tmp_path))
    for one, other in zip(whole.verdict.systems, again.verdict.systems, strict=True):
        assert one.scores.tolist() == other.scores.tolist()


def test_systems_keep_their_order_in_the_numbers(study):
    """Numbers are stored in a list: a system must get its own."""
    scored = ("name", "model", "metric", "signature", "scores", "flags")
    backwards = [Scored(*(getattr(one, field) for field in scored)) for one in study.verdict.systems[::-1]]
    verdict = judge_systems(backwards, study.rows, RESAMPLING, Steps(None))
    for one, other in zip(verdict.systems, study.verdict.systems[::-1], strict=True):
        assert one.name == other.name
        assert one.estimates == other.estimates
        assert one.rank == other.rank


def test_swaps_are_drawn_once_for_all_pairs_of_systems(monkeypatch):
    """Holm's correction needs thousands of swaps, and systems make hundreds of pairs."""
    drawn = []
    generator = Resampling.generator
    monkeypatch.setattr(Resampling, "generator", lambda self, sample: drawn.append(sample) or generator(self, sample))
    rng = np.random.default_rng(3)
    judged = judged_rows("many", rows(12), RowChoice())
    scores = [judged.shares + rng.normal(size=12) for _ in range(5)]
    found = agreement._better(scores, judged, Resampling(samples=60, seed=987))
    assert len(drawn) == agreement.permutations(5, Resampling(samples=60)) == 400
    monkeypatch.undo()
    assert (found == agreement._better(scores, judged, Resampling(samples=60, seed=987))).all()


@pytest.mark.slow
def test_the_command_as_it_is(capsys, tmp_path, model):
    code, out, err = command(capsys, tmp_path / "out", "--model", model, "--epochs", "1")
    assert (code, err) == (0, "")
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == sorted(FILES)
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    for said in ("organisers of GermEval did not publish", "one person wrote and rated", "41.4299", "fine-tuned on 28"):
        assert said in page
    assert "http" not in page.replace("http://www.w3.org", "")
    assert "BERTScore, fine-tuned + IDF" in out
    with (tmp_path / "out" / "table4_error.csv").open(encoding="utf-8") as stream:
        told = {(line["metric"], line["measure"]): line for line in csv.DictReader(stream)}
    judged = example()
    bleu = library(evalign.metric("bleu"), judged) / 100
    assert float(told["BLEU", "RMSE"]["value"]) == pytest.approx(
        100 * math.sqrt(((bleu - judged.human / 4) ** 2).mean()), rel=1e-5
    )
    assert float(told["BLEU", "RMSE"]["low"]) < float(told["BLEU", "RMSE"]["high"])


@pytest.mark.slow
def test_what_is_missing_is_said_and_the_exit_code_is_3(capsys, tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps({"candidate": row.candidate, "references": list(row.references),
                                        "human": row.human}) + "\n" for row in rows()))  # fmt: skip
    code, out, err = command(capsys, tmp_path / "out", "--data", str(file), "--model", "fake,./nowhere")
    assert code == 3
    assert err.count("missing: ") == 2
    assert "missing: BERTScore + IDF: no row of the data has a source" in err
    assert "missing: model ./nowhere: " in err
    assert "Nothing was fine-tuned: no rated paraphrases were given (`train`)" in out
    assert (tmp_path / "out" / "table4_error.png").is_file()


def test_errors_of_the_command(capsys, tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"candidate": "a", "references": ["b"]}) + "\n")
    for arguments, said in (
        (("--data", str(file)), "no row has a human score"),
        (("--data", str(tmp_path / "none.jsonl")), "none.jsonl"),
        (("--train", str(file), "--model", "fake"), "--train rows.jsonl"),
        (("--model", "fake", "--finetune", "minilm"), "--finetune minilm is none of the models"),
        (("--lang", "xx", "--model", "fake"), "language=xx"),
    ):
        code, _, err = command(capsys, tmp_path / "out", *arguments)
        assert code == 2, err
        assert said in err
        assert err.count("\n") == 1
        assert not (tmp_path / "out").exists()


def test_finetune_of_own_data_needs_pairs(capsys, tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps({"candidate": row.candidate, "references": list(row.references),
                                        "human": row.human}) + "\n" for row in rows()))  # fmt: skip
    code, _, err = command(capsys, tmp_path / "out", "--data", str(file), "--model", "fake", "--finetune", "fake")
    assert (code, "give --train FILE" in err) == (2, True)


def test_known_stand_ins_say_what_they_are(tmp_path):
    """A file is known by its name; its ratings are MQM's, 0 and below."""
    lines = [json.dumps({"id": row.id, "system": "A", "source": row.source, "references": list(row.references),
                         "candidate": row.candidate, "human": -row.human}) for row in rows(8)]  # fmt: skip
    file = tmp_path / "ted21_ende_mqm.jsonl"
    file.write_text("\n".join(lines) + "\n", "utf-8")
    judged = read_judged(str(file), Columns(), None, RowChoice())
    assert (judged.scale.low, judged.scale.high) == (-25, 0)
    assert judged.shares.min() >= 0
    page = german_page(run_german([], judged, PLAN, Steps(None)))
    assert "stands in for the rated summaries" in page.about[1]


@pytest.mark.slow
def test_killed_in_the_middle_of_training_the_next_run_gives_the_same_numbers(tmp_path, model):
    def start(cache, out):
        return start_study(tmp_path / cache, tmp_path / out, "german", "--model", model, "--epochs", "60")

    for attempt in range(10):  # a training may end before this process gets to kill it
        cache, resumed = f"killed{attempt}", f"resumed{attempt}"
        home = tmp_path / cache / "studies" / "german"
        killed = start(cache, resumed)
        while killed.poll() is None and not list(home.glob("tuned/*.training/checkpoint.json")):
            time.sleep(0.01)
        killed.kill()
        assert killed.wait() in (-signal.SIGKILL, 0)
        if list(home.glob("tuned/*.training/checkpoint.json")):
            break
    assert list(home.glob("tuned/*.training/checkpoint.json"))
    assert not (tmp_path / resumed / "index.html").exists()
    done = {file.name: file.stat().st_mtime_ns for file in home.glob("*.json")}
    assert done
    assert start(cache, resumed).wait() == 0
    assert start("fresh", "whole").wait() == 0
    contents = [{file.name: file.read_bytes() for file in (tmp_path / out).iterdir()} for out in (resumed, "whole")]
    assert contents[0] == contents[1]
    assert all((home / name).stat().st_mtime_ns == when for name, when in done.items())  # not made again
    assert not list(home.glob("tuned/*.training"))
