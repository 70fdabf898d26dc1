"""Table 3, corpus, layers, error formulas and claims of the German summaries study, recomputed by other ways."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from german_rows import PLAN, command, example, library, rows, system

from evalign.cli.main import main
from evalign.errors import LayerError, ModelError
from evalign.metrics.bertscore import BERTScore
from evalign.research.studies.german import study as german_study
from evalign.research.studies.german.agreement import RESCALED, RMSE, Verdict, error_contrast
from evalign.research.studies.german.data import RowChoice, judged_rows, training_pairs
from evalign.research.studies.german.page import german_page
from evalign.research.studies.german.study import run_german
from evalign.research.studies.german.systems import (
    GERMAN,
    TABLE3,
    TABLE3_COLUMNS,
    TABLE4,
    MetricOptions,
    matched_layer,
    published_error,
)
from evalign.research.studies.german.task_data import FORMULAS, describe, formula_plate, scales, try_formulas
from evalign.research.studies.inputs import Steps
from evalign.research.studies.page import FAILS, HOLDS, UNTESTED, save_study
from evalign.stats.effect import rating_residuals
from evalign.training.baselines import fit_baseline

pytest.importorskip("matplotlib", reason="figures need the extra 'plots'")


@pytest.fixture(scope="module")
def every_layer():
    return run_german(["fake"], example(), replace(PLAN, options=MetricOptions(layer="all")), Steps(None))


def plate(study, name):
    return next(one for one in german_page(study).plates if one.name == name)


def test_rescaled_is_the_librarys_rescaling_by_unrelated_references(every_layer, tmp_path):
    judged = every_layer.rows
    texts = {text for row in judged.rows for text in row.references}
    fit_baseline(BERTScore(model="fake"), texts, 1000).save(tmp_path / "baseline.tsv")
    expected = library(BERTScore(model="fake", layer="last", rescale=str(tmp_path / "baseline.tsv")), judged)
    assert system(every_layer, RESCALED).scores == pytest.approx(expected, abs=1e-5)
    plain, moved = (system(every_layer, name) for name in ("BERTScore", RESCALED))
    assert moved.pearson == pytest.approx(plain.pearson)
    assert moved.value(RMSE) != pytest.approx(plain.value(RMSE), abs=0.5)


def test_all_layers_are_the_librarys_own(every_layer):
    scores = every_layer.layers["fake"].scores
    assert len(scores) == 5
    for layer in (0, 2, 4):
        assert scores[layer] == pytest.approx(library(BERTScore(model="fake", layer=layer), every_layer.rows), abs=1e-6)
    assert scores[-1] == pytest.approx(system(every_layer, "BERTScore").scores, abs=1e-6)
    (table,) = plate(every_layer, "layers").tables
    assert [line[:2] for line in table.lines] == [("fake", str(layer)) for layer in range(5)]


def test_the_layer_that_is_read():
    assert [matched_layer("fake", MetricOptions(layer=layer)) for layer in ("last", "tuned", "all", "1+3")] == [
        "last", "2", "last", "1+3",
    ]  # fmt: skip
    with pytest.raises(LayerError, match=r"layers 0 .* to 4"):
        matched_layer("fake", MetricOptions(layer="5"))
    with pytest.raises(LayerError, match="`layer=middle`: expected last, tuned, all"):
        MetricOptions(layer="middle")


def test_published_values_stand_beside_a_model_of_the_paper(every_layer, monkeypatch):
    monkeypatch.setitem(TABLE3, "fake", TABLE3["bert-base-german-cased"])
    measured, _, alone = plate(every_layer, "table3").tables
    (line,) = measured.lines
    assert measured.columns[1::2] == TABLE3_COLUMNS
    assert line[2::2] == ("37.2916", "35.6950", "35.3121", "31.9925")
    assert line[1] == "–"  # nothing was fine-tuned
    assert line[3].startswith(f"{system(every_layer, 'BERTScore').value(RMSE):.1f} [")
    assert "not measured here" in alone.caption
    assert (len(alone.lines) - 1) * len(TABLE3_COLUMNS) == 20


def test_published_values_stand_apart_from_other_models(every_layer):
    measured, _, alone = plate(every_layer, "table3").tables
    assert measured.columns == ("model", *TABLE3_COLUMNS)
    assert [line[0] for line in alone.lines] == list(TABLE3)
    assert published_error("german-press-bert", "BERTScore + IDF") == 32.2967
    assert published_error("fake", "BERTScore") is None
    assert {name.rpartition("/")[2] for name in GERMAN} == set(TABLE3)


def test_corpus_by_hand():
    data = [replace(row, source=("s" if int(row.id) < 4 else "T") * 100)
            for row in rows(candidate="x" * 5, references=("y" * 10, "z" * 20))]  # fmt: skip
    corpus = describe(judged_rows("made", data, RowChoice()))
    assert (corpus.rows, corpus.sources) == (6, 2)
    assert corpus.spreads["candidates to a source"] == (2, 3, 4)
    assert corpus.spreads["characters of a source"] == (100, 100, 100)
    assert corpus.spreads["reference, share of its source"] == (0.1, pytest.approx(0.15), 0.2)
    assert corpus.spreads["candidate, share of its source"] == (0.05, pytest.approx(0.05), 0.05)
    assert corpus.lower == 4 / 5  # x, y, z and s, but not T
    assert not corpus.of_the_task
    without = describe(judged_rows("none", rows(source=None), RowChoice()))
    assert set(without.spreads) == {"characters of a reference", "characters of a candidate"}


def task_like():
    """216 rows of 24 sources, rated from 1 to 5."""
    made = rows(216)
    data = [replace(row, human=1.0 + int(row.id) * 7 % 5, source=f"quelle {int(row.id) // 9}") for row in made]
    return judged_rows("task", data, RowChoice(rows=216, low=1.0, high=5.0))


def test_the_error_formula_is_looked_for_on_the_tasks_own_data_only(every_layer):
    assert plate(every_layer, "error_formula").sentences[0].startswith("Cannot be tested here")
    study = run_german([], task_like(), PLAN, Steps(None))
    tried = try_formulas(study.verdict, study.rows)
    assert set(scales(study.rows)) == {"rating from 1 to 5", "rating / 5"}
    assert len(tried) == 2 * len(FORMULAS)
    by_name = {(one.formula, one.scale): one for one in tried}
    rmse = by_name["RMSE", "rating from 1 to 5"]
    bleu = system(study, "BLEU")
    assert rmse.errors["BLEU"] == pytest.approx(bleu.value(RMSE))
    score, rated = np.clip(bleu.scores, 0, 1), study.rows.human / 5
    assert by_name["mean percent of the rating", "rating / 5"].errors["BLEU"] == pytest.approx(
        100 * np.mean(np.abs(score - rated) / rated)
    )
    assert rmse.distance == pytest.approx(np.mean([abs(rmse.errors[name] - TABLE4[name]) for name in TABLE4]))
    assert [one.distance for one in tried] == sorted(one.distance for one in tried)
    said = formula_plate(study.verdict, study.rows).sentences[0]
    assert f"{tried[0].formula}, {tried[0].scale}" in said


def verdict_of(lines):
    """The rule of the ledger, by hand."""
    if any(line["low"] == "" for line in lines):
        return UNTESTED
    inside = [
        (not line["above"] or float(line["low"]) > float(line["above"]))
        and (not line["below"] or float(line["high"]) < float(line["below"]))
        for line in lines
    ]
    elsewhere = [
        (line["above"] and float(line["high"]) <= float(line["above"]))
        or (line["below"] and float(line["low"]) >= float(line["below"]))
        for line in lines
    ]
    return FAILS if any(elsewhere) else HOLDS if all(inside) else UNTESTED


@pytest.mark.slow
def test_verdicts_follow_from_the_csv_files(every_layer, tmp_path):
    """Differences of errors from scores.csv, verdicts from the intervals and bounds of ledger.csv."""
    save_study(german_page(every_layer), tmp_path / "out")

    def read(name):
        with (tmp_path / "out" / name).open(encoding="utf-8") as stream:
            return list(csv.DictReader(stream))

    scores = {}
    for line in read("scores.csv"):
        scores.setdefault((line["metric"], line["model"]), []).append(float(line["score"]))
    people = np.array(scores["people", ""])

    def error(name, model=""):
        return 100 * np.sqrt(((np.clip(scores[name, model], 0, 1) - people) ** 2).mean())

    claims = {}
    for line in read("ledger.csv"):
        claims.setdefault(line["claim"], []).append(line)
    assert list(claims) == ["G1", "G2", "G3", "G4", "G5", "G6", "G7", "G8", "G9a", "G9b"]
    others = ("ROUGE-1", "ROUGE-2", "ROUGE-L", "METEOR")
    expected = {f"BLEU minus {name}": error("BLEU") - error(name) for name in others}
    assert {line["what"]: float(line["measured"]) for line in claims["G9b"]} == pytest.approx(expected, abs=1e-3)
    (idf,) = claims["G3"]
    assert float(idf["measured"]) == pytest.approx(
        error("BERTScore + IDF", "fake") - error("BERTScore", "fake"), abs=1e-3
    )
    for claim in ("G1", "G2", "G3", "G4", "G7", "G9a", "G9b"):
        assert {line["verdict"] for line in claims[claim]} == {verdict_of(claims[claim])}
    assert {claims[claim][0]["verdict"] for claim in ("G5", "G6", "G8")} == {UNTESTED}


def test_an_error_contrast_is_a_difference_of_errors_with_its_own_interval(every_layer):
    first, second = (system(every_layer, name) for name in ("BLEU", "ROUGE-1"))
    terms = [(1.0, first.scores), (-1.0, second.scores)]
    found = error_contrast(terms, every_layer.rows, PLAN.resampling)
    assert found.value == pytest.approx(first.value(RMSE) - second.value(RMSE))
    assert found.low < found.value < found.high
    widths = [one.estimates[RMSE].high - one.estimates[RMSE].low for one in (first, second)]
    assert found.high - found.low < sum(widths)  # the same draws for both
    raw, _ = rating_residuals(first.scores, every_layer.rows.shares)
    assert first.value(RMSE) == pytest.approx(100 * np.sqrt((raw**2).mean()))


@pytest.mark.parametrize(("first", "tuned"), [(False, 2), (True, 1)])
def test_all_models_are_tuned_unless_only_the_first_is_asked_for(tiny, monkeypatch, first, tuned):
    tried = []

    def fail(model, *_):
        tried.append(model)
        raise ModelError("no training here")

    monkeypatch.setattr(german_study, "fine_tune", fail)
    monkeypatch.setattr(german_study, "train_lstm", fail)
    monkeypatch.setattr(german_study, "judge_systems", lambda *_: Verdict((), {}, {}))  # thousands of permutations
    judged = judged_rows("a", rows(), RowChoice())
    plan = replace(PLAN, pairs=training_pairs(None, "opusparcus", judged), tune_first=first)
    models = [str(tiny("bert")), "fake"]
    study = run_german(models, judged, plan, Steps(None))
    assert tried == [*models[:tuned], models[0]]  # the LSTM starts from the first
    assert sum(said.startswith("fine-tuning of ") for said in study.missing) == tuned


def test_bad_options_get_one_sentence(capsys, tmp_path):
    data = tmp_path / "rows.jsonl"
    rated = '{"candidate": "a", "references": ["b"], "human": %d}\n'
    data.write_text("".join(rated % number for number in range(4)))
    for arguments, said in (
        (("--layer", "middle"), "--layer middle: expected last, tuned, all, a layer from 0 up"),
        (("--layer", "40"), "layer=40: this model has layers 0 (the embeddings) to 4"),
        (("--tune-first", "--finetune", "fake"), "--tune-first and --finetune both name"),
        (("--tune-first", "--data", str(data)), "--tune-first needs rated paraphrases to learn from: give --train"),
    ):
        code, _, err = command(capsys, tmp_path / "out", "--model", "fake", *arguments)
        assert (code, err.count("\n")) == (2, 1), err
        assert said in err
        assert not (tmp_path / "out").exists()


def test_opusparcus_files_without_a_header_train_the_study(tmp_path):
    file = tmp_path / "opusparcus_de.tsv"
    file.write_text('d1\t"Ja" , sagte er .\tEr sagte ja .\t4.0\nd2\tKomm mit .\tGeh weg .\t1.5\n', "utf-8")
    pairs = training_pairs(str(file), "opusparcus", example())
    assert [(pair.row, pair.first, pair.similarity) for pair in pairs.pairs] == [
        ("d1", '"Ja" , sagte er .', 0.85),
        ("d2", "Komm mit .", 0.1),
    ]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.tsv", "d1\tJa .\tNein .\tgut\n", "four columns without a header (id, text, text, rating); its first line"),
        ("b.tsv", "d1\tJa .\tNein .\t4\nd2\tJa .\tSo .\n", "record 2: expected id, text, text, rating as in the first"),
        ("c.csv", "d1,Ja,Nein,4\nd2,Ja,So,gut\n", "record 2: expected id, text, text, rating as in the first, found 4"),
        ("d.tsv", "Ja .\tNein .\t4\n", "its first line has 3 fields"),
    ],
)
def test_wrong_files_to_train_on_get_one_sentence(capsys, tmp_path, name, content, said):
    (tmp_path / name).write_text(content, "utf-8")
    with pytest.raises(SystemExit) as done:
        main(["train", "encoder", str(tmp_path / name), "-o", str(tmp_path / "tuned"), "--mapping", "opusparcus"])
    err = capsys.readouterr().err
    assert done.value.code == 2
    assert said in err
    assert err.count("\n") == 1
    code, _, err = command(capsys, tmp_path / "out", "--model", "fake", "--train", str(tmp_path / name))
    assert (code, said in err, err.count("\n")) == (2, True, 1)
