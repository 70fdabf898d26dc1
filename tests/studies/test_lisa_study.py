"""The LiSAScore study: its numbers against the library's own metrics and plain numpy, its cache, its bad inputs."""

import csv
import json
import signal
import time

import numpy as np
import pytest
from started_studies import start_study

import evalign
from evalign.cli.main import main
from evalign.core import Row
from evalign.encoders.base import EncodeOptions
from evalign.encoders.loading import EncoderSpec, open_encoder
from evalign.errors import InputError, ModelError
from evalign.io.rows import Columns
from evalign.matching.base import solve_all
from evalign.matching.registry import METHODS
from evalign.research.studies.german.study import named_models
from evalign.research.studies.inputs import CROSS, WITHIN, Steps, choose, read_rows, sides
from evalign.research.studies.lisa import model_scores
from evalign.research.studies.lisa.figures import TABLE_1
from evalign.research.studies.lisa.measured import Resamples
from evalign.research.studies.lisa.model_scores import IDENTICAL, NEGATIVE, POSITIVE, Key, LisaPlan, measure
from evalign.research.studies.lisa.pair_scores import (
    ALGORITHMS,
    EXACT,
    GREEDY,
    MASKED,
    NAMES,
    PARTS,
    PLAIN,
    PUBLISHED,
    RECURSIVE,
    ROUND_FIELDS,
    TARGETS,
    Padding,
    published_cells,
    shares,
)
from evalign.research.studies.lisa.separation import _added, _ranked, _rises
from evalign.research.studies.lisa.study import PAPER_MODELS, PRESETS, lisa_page, run_lisa
from evalign.research.studies.page import listed, moved, percent, save_study
from evalign.stats.effect import derangement, eta_squared, peaks, separation

pytest.importorskip("matplotlib", reason="figures need the extra 'plots'")

WIDTH = 64
WEIGHED = Padding(WIDTH, TARGETS, 1)
PLAN = LisaPlan(widths=(WIDTH,), block=4, published=2, threads=1)
FIGURES = [*(f"figure{number}" for number in range(1, 6)), "figure6-7", "rounds", "separation"]


def example(count=200, seed=12345):
    return choose(*read_rows(None, Columns()), count, seed)


@pytest.fixture(scope="module")
def model(tiny):
    return str(tiny("bert"))


@pytest.fixture(scope="module")
def measured(model):
    """Two blocks of four pairs."""
    return measure(model, example(8), PLAN, Steps(None), lambda _: None)


def blocks(rows):
    return [rows[:4], rows[4:]]


def library(model, algorithm, firsts, seconds):
    """(pairs, 3) by the metric that a user would call."""
    method, _, preset = algorithm.partition(", ")
    shared = {"model": model, "layer": "last", "threads": 1}
    metric = (
        evalign.BERTScore(**shared)
        if method == GREEDY
        else evalign.LiSAScore(**shared, method=method, preset=preset or "paper")
    )
    return np.stack(list(metric.score(firsts, seconds)), axis=1)


@pytest.mark.parametrize("algorithm", NAMES)
def test_scores_without_padding_are_the_metrics(model, measured, algorithm):
    for pair_type in (CROSS, WITHIN):
        firsts, seconds = sides(example(8).rows, pair_type)
        expected = library(model, algorithm, firsts, seconds)
        np.testing.assert_allclose(measured.scores[Key(pair_type, POSITIVE, algorithm)], expected, atol=1e-6)
        halves = (sides(part, pair_type) for part in blocks(example(8).rows))
        wrong = [half[1][place] for number, half in enumerate(halves)
                 for place in derangement(4, PLAN.seed + number)]  # fmt: skip
        expected = library(model, algorithm, firsts, wrong)
        np.testing.assert_allclose(measured.scores[Key(pair_type, NEGATIVE, algorithm)], expected, atol=1e-6)


def test_every_matching_and_preset_is_there():
    assert PUBLISHED in ALGORITHMS
    assert {matching.key for matching in ALGORITHMS.values()} == {GREEDY, *METHODS}
    assert len(NAMES) == len(set(NAMES)) == 13


def test_end_tokens_are_the_metrics(model, measured):
    for pair_type in (CROSS, WITHIN):
        expected = evalign.EndToken(model=model, threads=1).score(*sides(example(8).rows, pair_type))["score"]
        np.testing.assert_allclose(measured.end_tokens[pair_type, POSITIVE], expected, atol=1e-6)


def padded_matrices(model):
    """Cosines of padded source/reference pairs in plain numpy, with the weights of text and of pads."""
    encoder = open_encoder(
        EncoderSpec(model, "last", reading=EncodeOptions("truncate", max_length=WIDTH), threads=1)
    ).encoder
    found = []
    for texts in zip(*sides(example(8).rows, CROSS), strict=True):
        lengths = [len(tokens) for tokens in encoder.tokenize(texts)]
        embedded = encoder.encode(texts, pad_to=WIDTH)
        one, other = (part.matrix / np.linalg.norm(part.matrix, axis=1, keepdims=True) for part in embedded)
        text = [
            (np.arange(WIDTH) < length) & ~part.tokens.special for part, length in zip(embedded, lengths, strict=True)
        ]
        pads = [np.arange(WIDTH) >= length for length in lengths]
        found.append((one.astype(np.float64) @ other.T, text, pads))
    return found


@pytest.mark.parametrize("weight", [0, 1])
def test_padded_greedy_scores_in_plain_numpy(model, measured, weight):
    got = measured.scores[Key(CROSS, POSITIVE, GREEDY, Padding(WIDTH, TARGETS, weight))]
    for place, (matrix, text, pads) in enumerate(padded_matrices(model)):
        weights = [one + weight * other for one, other in zip(text, pads, strict=True)]
        precision = (matrix.max(axis=1) * weights[0]).sum() / weights[0].sum()
        recall = (matrix.max(axis=0) * weights[1]).sum() / weights[1].sum()
        np.testing.assert_allclose(got[place, :2], [precision, recall], atol=1e-5)


@pytest.mark.parametrize("weight", [0, 1])
def test_padded_published_scores_in_plain_numpy(model, measured, weight):
    """Every column takes its best row; a row nobody took is worth 0."""
    got = measured.scores[Key(CROSS, POSITIVE, PUBLISHED, Padding(WIDTH, TARGETS, weight))]
    for place, (matrix, text, pads) in enumerate(padded_matrices(model)):
        weights = [one + weight * other for one, other in zip(text, pads, strict=True)]
        taken = matrix.argmax(axis=0)
        rows = np.array([matrix[row, taken == row].max() if (taken == row).any() else 0 for row in range(WIDTH)])
        precision = (rows * weights[0]).sum() / weights[0].sum()
        recall = (matrix.max(axis=0) * weights[1]).sum() / weights[1].sum()
        np.testing.assert_allclose(got[place, :2], [precision, recall], atol=1e-5)


def test_what_pads_did_in_plain_numpy(model, measured):
    got = measured.parts[Key(CROSS, POSITIVE, PUBLISHED, WEIGHED)]
    for place, (matrix, text, pads) in enumerate(padded_matrices(model)):
        taken = matrix.argmax(axis=0)
        alone = ~np.isin(np.arange(WIDTH), taken)  # every column has a row
        expected = {
            "pad_unmatched": (alone & pads[0]).sum() / (pads[0].sum() + pads[1].sum()),
            "text_unmatched": (alone & text[0]).sum() / (text[0].sum() + text[1].sum()),
            "pad_share": sum(map(np.sum, pads)) / sum(map(np.sum, (*pads, *text))),
        }
        found = dict(zip(PARTS, got[place], strict=True))
        assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_what_pads_and_text_add_is_the_whole_distance(measured):
    """Both sides are padded to one width, so their tokens' mean is the mean of precision and recall."""
    key = Key(CROSS, POSITIVE, GREEDY, WEIGHED)
    added = sum(_added(measured, key))
    good, bad = (measured.scores[key._replace(pairing=pairing)][:, :2] for pairing in (POSITIVE, NEGATIVE))
    assert added == pytest.approx(good.mean() - bad.mean(), abs=1e-9)


def test_matchings_are_told_apart_on_the_same_resamples():
    """A small advantage on every pair is certain, however wide the intervals of both are."""
    rng = np.random.default_rng(0)
    good, bad = rng.normal(1, 1, 40), rng.normal(0, 1, 40)
    better = np.where(np.arange(40) % 4 == 0, good + 0.8, good)
    draws = Resamples.of(40, 1)
    drawn = {"view": {one: draws.auc(scores, bad)[1:] for one, scores in ((GREEDY, good), ("other", better))}}
    values = {one: {"view": (*np.quantile(auc, [0.025]), auc.mean(), *np.quantile(auc, [0.975]))}
              for one, auc in drawn["view"].items()}  # fmt: skip
    assert values[GREEDY]["view"][2] > values["other"]["view"][1]  # their intervals overlap
    assert "highest is other" in _ranked(values, drawn)
    assert "0 of the other 1 are not told apart" in _ranked(values, drawn)
    same = {"view": {GREEDY: drawn["view"][GREEDY], "other": drawn["view"][GREEDY]}}
    assert "1 of the other 1 are not told apart" in _ranked(values, same)
    wins = np.mean([[1.0 if one > other else 0.0 for other in bad] for one in good])
    assert drawn["view"][GREEDY].mean() == pytest.approx(wins, abs=0.02)


@pytest.mark.parametrize(
    ("before", "after", "rises"), [(1.0, 2.0, True), (2.0, 1.0, False), (None, 2.0, False), (1.0, None, False)]
)
def test_a_number_that_is_not_there_does_not_rise(before, after, rises):
    assert _rises(before, after) is rises


def test_masked_padding_changes_nothing(measured):
    for key, scores in measured.scores.items():
        if key.padding == Padding(WIDTH, MASKED):
            np.testing.assert_allclose(scores, measured.scores[key._replace(padding=PLAIN)], atol=1e-5)


def test_a_text_meets_itself_with_greedy_and_exact(measured):
    for padding in (PLAIN, Padding(WIDTH, MASKED), Padding(WIDTH, TARGETS, 0), WEIGHED):
        for algorithm in (GREEDY, "exact"):
            np.testing.assert_allclose(measured.scores[Key(CROSS, IDENTICAL, algorithm, padding)], 1, atol=1e-5)


@pytest.mark.parametrize("size", [2, 5, 40])
def test_the_published_program_is_column_argmax_on_square_input(size):
    matrix = np.random.default_rng(size).uniform(-1, 1, (size, size))
    cells = published_cells(matrix)
    assert cells.sum() == size
    assert (cells.argmax(axis=0) == matrix.argmax(axis=0)).all()
    assert (cells == ALGORITHMS[PUBLISHED].solve(matrix).cells).all()


def test_shares_count_cells():
    matrix = np.array([[0.9, 0.8, 0.1], [0.2, 0.3, 0.1], [0.1, 0.2, 0.0]])  # columns take rows 0, 0, and 0 of a tie
    found = shares([matrix])
    assert found["every column's best row"] == 1
    exact = ALGORITHMS[EXACT].solve(matrix).cells
    assert found["exact"] == (exact & published_cells(matrix)).sum() / 3


def test_matrices_of_all_sizes_keep_their_order():
    rng = np.random.default_rng(0)
    matrices = [rng.uniform(-1, 1, shape) for shape in ((3, 9), (400, 400), (2, 2), (7, 1), (400, 400), (5, 5))]
    for name in (GREEDY, "row-mask"):
        for matrix, found in zip(matrices, solve_all(ALGORITHMS[name], matrices), strict=True):
            alone = ALGORITHMS[name].solve(matrix)
            assert (found.cells == alone.cells).all()
            assert found.candidate_values.tolist() == alone.candidate_values.tolist()


def test_pairs_are_distinct_and_drawn_by_the_seed():
    rows = [Row(str(place), f"c{place}", (f"r{place // 2}",), f"s{place // 2}") for place in range(40)]
    chosen = choose("data", [*rows, Row("e", " ", ("x",), "y")], 10, 1)
    assert len({row.references for row in chosen.rows}) == 10
    assert choose("data", rows, 10, 1).rows == chosen.rows != choose("data", rows, 10, 2).rows
    assert [note.split(" rows")[0] for note in chosen.notes] == ["20", "1"]
    for lacking in (Row("e", " ", ("x",)), Row("e", "c", (" ",), "y")):
        with pytest.raises(InputError, match="no pairs to study"):
            choose("data", [lacking], 10, 1)


@pytest.fixture(scope="module")
def finished(model, tmp_path_factory):
    """A study of eight pairs, and the folder with its files."""
    study = run_lisa([model], example(8), PLAN, Steps(None))
    folder = tmp_path_factory.mktemp("lisa") / "out"
    save_study(lisa_page(study), folder)
    return study, folder


def numbers(folder, name):
    with (folder / f"{name}.csv").open() as stream:
        return list(csv.DictReader(stream))


def test_numbers_in_files_are_the_measured_ones(finished):
    study, folder = finished
    lines = numbers(folder, "separation")
    (one,) = study.models
    assert len(lines) == 3 * 13  # no padding, padding that weighs 1, candidates
    for line in lines:
        padding = PLAIN if line["padding"] == "no padding" else WEIGHED
        good, bad = (one.f1(Key(line["pair"], pairing, line["algorithm"], padding)) for pairing in (POSITIVE, NEGATIVE))
        apart = separation(good, bad)
        expected = [good.mean(), bad.mean(), apart.difference, apart.cohens_d, apart.auc, apart.overlap]
        columns = ("positives", "negatives", "difference", "cohens_d", "auc", "overlap")
        assert [float(line[name]) for name in columns] == pytest.approx(expected, rel=1e-4, abs=1e-5)
        assert float(line["auc_low"]) <= float(line["auc"]) <= float(line["auc_high"])
    for name in FIGURES:
        assert (folder / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
        assert (folder / f"{name}.svg").read_text("utf-8").startswith("<?xml")
    page = (folder / "index.html").read_text("utf-8")
    assert page.count("<svg") == len(FIGURES)
    assert "<script" not in page
    assert "src=" not in page
    assert all(row.references[0] not in page for row in study.pairs.rows)  # numbers, no texts


def test_verdicts_follow_from_the_numbers_in_the_files(finished):
    _, folder = finished
    ledger = numbers(folder, "ledger")
    assert list(dict.fromkeys(line["claim"] for line in ledger)) == [f"L{number}" for number in range(1, 17)]
    for claim in dict.fromkeys(line["claim"] for line in ledger):
        lines = [line for line in ledger if line["claim"] == claim]
        lies = [
            (not line["above"] or float(line["low"]) > float(line["above"]))
            and (not line["below"] or float(line["high"]) < float(line["below"]))
            for line in lines
            if line["low"]
        ]
        elsewhere = [
            (line["above"] and float(line["high"]) <= float(line["above"]))
            or (line["below"] and float(line["low"]) >= float(line["below"]))
            for line in lines
            if line["low"]
        ]
        verdict = "does not hold" if any(elsewhere) else "holds" if lies and all(lies) else "cannot be tested here"
        assert {line["verdict"] for line in lines} == {verdict}

    def measured(claim):
        return [float(line["measured"]) for line in ledger if line["claim"] == claim]

    lengths = [line for line in numbers(folder, "figure1") if line["pair"] == CROSS]
    short = [int(line[side]) < WIDTH for line in lengths for side in ("first_tokens", "second_tokens")]
    assert measured("L1") == pytest.approx([np.mean(short)] * 2)
    scores = numbers(folder, "figure6-7")

    def means(algorithm, side):
        padded = [line for line in scores if line["algorithm"] == algorithm and line["padding"] == str(WEIGHED)]
        return np.mean([float(line[side]) for line in padded])

    good, bad, lower_good, lower_bad = (
        means(algorithm, side) for algorithm in (GREEDY, PUBLISHED) for side in ("positive", "negative")
    )
    changes = [lower_good - good, lower_bad - bad, (lower_good - lower_bad) - (good - bad),
               lower_good / lower_bad - good / bad]  # fmt: skip
    assert measured("L9") == pytest.approx(changes, abs=1e-4)
    best = []
    for pair_type, padding in ((CROSS, PLAIN), (CROSS, WEIGHED), (WITHIN, PLAIN)):
        lines = [line for line in numbers(folder, "rounds") if line["algorithm"] == RECURSIVE
                 and (line["pair"], line["padding"], line["what"]) == (pair_type, str(padding), "total")]  # fmt: skip
        assert [int(line["rounds"]) for line in lines] == list(range(21))
        best.append(max(lines, key=lambda line: float(line["value"]))["value"])
    totals = {(line["pair"], line["padding"], int(line["rounds"])): line["value"] for line in numbers(folder, "rounds")
              if line["algorithm"] == RECURSIVE and line["what"] == "total"}  # fmt: skip
    settings = ((CROSS, PLAIN), (CROSS, WEIGHED), (WITHIN, PLAIN))
    claimed = zip(settings, measured("L11"), strict=True)
    assert [totals[pair_type, str(padding), int(rounds)] for (pair_type, padding), rounds in claimed] == best


def test_rounds_are_the_metrics(model, measured):
    firsts, seconds = sides(example(8).rows, CROSS)
    for rounds in (0, 3, 20):
        metric = evalign.LiSAScore(model=model, layer="last", threads=1, method="recursive-argmax", rounds=rounds)
        f1 = measured.rounds[Key(CROSS, POSITIVE, RECURSIVE)][:, rounds, ROUND_FIELDS.index("f1")]
        np.testing.assert_allclose(f1, metric.score(firsts, seconds)["f1"], atol=1e-6)


def test_the_papers_methods_are_found_as_its_table_says(finished):
    pytest.importorskip("torch", reason="the extra 'torch' is not installed")
    found = {line["name"]: line for line in numbers(finished[1], "table1")}
    assert set(found) == set(METHODS)
    for name, printed in TABLE_1.items():
        assert int(found[name]["found_accelerator"]) == printed.accelerator, name
        assert (float(found[name]["found_gradient_share"]) > 0) == printed.gradient, name


def test_the_first_draw_is_the_sample():
    rng = np.random.default_rng(3)
    good, bad = rng.normal(1, 1, 30), rng.normal(0, 2, 30)
    draws, apart = Resamples.of(30, 1), separation(good, bad)
    assert draws.mean(good)[0] == pytest.approx(good.mean())
    assert draws.auc(good, bad)[0] == pytest.approx(apart.auc)
    assert draws.cohens_d(good, bad)[0] == pytest.approx(apart.cohens_d)
    assert draws.eta_squared([good, bad])[0] == pytest.approx(eta_squared([good, bad]))
    for bandwidth in (0.1, 0.3, 1):
        assert draws.peaks([good, bad], bandwidth)[0] == peaks(np.concatenate([good, bad]), bandwidth)
    assert draws.mean(good)[1:].std() == pytest.approx(good.std() / np.sqrt(30), rel=0.1)


def command(*arguments, folder):
    with pytest.raises(SystemExit) as ended:
        main(["study", "lisa", "--threads", "1", "-o", str(folder), *arguments])
    return ended.value.code


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EVALIGN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "studies" / "lisa"


@pytest.mark.slow
def test_a_second_run_reads_no_text_and_writes_the_same_bytes(model, tmp_path, cache, monkeypatch, capsys):
    assert command("--model", model, "--sample-rows", "4", folder=tmp_path / "one") == 3  # 384 is too wide for it
    assert "padding to 384" in capsys.readouterr().err
    with monkeypatch.context() as patch:
        patch.setattr(model_scores, "open_encoder", lambda choice: pytest.fail("a model was opened"))
        command("--model", model, "--sample-rows", "4", folder=tmp_path / "two")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    for file in cache.iterdir():
        file.write_bytes(file.read_bytes()[:100])
    command("--model", model, "--sample-rows", "4", folder=tmp_path / "three")
    assert contents(tmp_path / "one") == contents(tmp_path / "three")
    kept = sorted(cache.iterdir())
    command("--model", model, "--sample-rows", "4", "--no-cache", folder=tmp_path / "four")
    assert contents(tmp_path / "one") == contents(tmp_path / "four")
    assert sorted(cache.iterdir()) == kept


@pytest.mark.slow
def test_a_model_that_is_not_found_is_named_and_the_rest_is_made(tmp_path, cache, capsys):
    assert command("--model", "fake", "--model", "no/such-model", "--sample-rows", "6", folder=tmp_path / "out") == 3
    told = capsys.readouterr()
    assert "missing: model no/such-model" in told.err
    assert "fake" in told.out
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert "model no/such-model" in page
    assert all((tmp_path / "out" / f"{name}.png").is_file() for name in FIGURES)


def test_the_papers_models_are_its_six(tmp_path, cache, capsys):
    assert named_models(["paper", "fake"], PRESETS) == [*PAPER_MODELS, "fake"]
    assert len(PAPER_MODELS) == 6


def test_without_any_model_there_is_no_study(tmp_path, cache, capsys):
    assert command("--model", "no/such-model", folder=tmp_path / "out") == 2
    assert "no model can be used" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    with pytest.raises(ModelError, match="no model can be used"):
        run_lisa(["no/such-model"], example(4), PLAN, Steps(None))


def rows_file(path, count, source=True):
    lines = []
    for place in range(count):
        row = {"candidate": f"The {place} apples are red.", "reference": f"There are {place} red apples in the river."}
        lines.append(row | ({"source": f"Es gibt {place} rote Felder im Fluss."} if source else {}))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


@pytest.mark.slow
def test_data_without_sources(tmp_path, cache, capsys):
    data = rows_file(tmp_path / "plain.jsonl", 6, source=False)
    assert command("--model", "fake", "--data", data, folder=tmp_path / "out") == 3
    assert "no row of the data has a source" in capsys.readouterr().err
    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert "plain.jsonl, 6 rows as candidate/reference pairs" in report
    assert all((tmp_path / "out" / f"{name}.png").is_file() for name in FIGURES)


@pytest.mark.parametrize("count", [1, 2])
def test_fewer_pairs_than_a_figure_needs(tmp_path, cache, capsys, count):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "figure5.png").write_text("of an earlier run")
    data = rows_file(tmp_path / "few.jsonl", count)
    assert command("--model", "fake", "--data", data, folder=tmp_path / "out") == 3
    assert f"needs at least 3 pairs, and there are {count}" in capsys.readouterr().err
    made = {file.stem for file in (tmp_path / "out").glob("*.png")}
    assert made == {"figure1", "figure2"}
    assert "Fig. 5: F1 by matching" in (tmp_path / "out" / "index.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--data", "nope.jsonl"], "nope.jsonl: no such file"),
        (["--layer", "99"], "layer=99"),
        (["--layer", "x"], "layer=x"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, cache, capsys, arguments, told):
    assert command("--model", "fake", *arguments, folder=tmp_path / "out") == 2
    assert told in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_said_before_the_work(tmp_path, cache, capsys):
    assert command("--model", "fake", folder=tmp_path / "no" / "out") == 2
    assert "does not exist" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert command("--model", "fake", folder=tmp_path / "file") == 2
    assert command("--model", "fake", folder=tmp_path / ("x" * 300)) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert not cache.exists()
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


@pytest.mark.slow
def test_pairs_of_source_and_reference_alone(tmp_path, cache, capsys):
    data = tmp_path / "bitext.jsonl"
    rows_file(data, 6)
    rows = [json.loads(line) for line in data.read_text("utf-8").splitlines()]
    data.write_text("".join(json.dumps(row | {"candidate": ""}) + "\n" for row in rows))
    assert command("--model", "fake", "--data", str(data), folder=tmp_path / "out") == 3
    assert "missing: candidate/reference pairs: no row of the data has a candidate" in capsys.readouterr().err
    assert "6 rows as source/reference pairs" in (tmp_path / "out" / "report.md").read_text("utf-8")
    assert all((tmp_path / "out" / f"{name}.png").is_file() for name in FIGURES)


@pytest.mark.slow
def test_the_same_model_under_two_names_is_one(model, tmp_path, cache, capsys):
    link = tmp_path / "again"
    link.symlink_to(model)
    folder = tmp_path / "out"
    assert command("--model", f"{model}, {link}", "--sample-rows", "4", folder=folder) == 3  # 384 is too wide for it
    assert "missing: model" not in capsys.readouterr().err
    report = (folder / "report.md").read_text("utf-8")
    assert "Models: tiny-bert. " in report
    assert f"{link} is the same model as {model}." in report.replace("\\", "")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (0.1, 0.2, "rises from 0.100 to 0.200"),
        (0.2, 0.1, "falls from 0.200 to 0.100"),
        (0.2, 0.2001, "stays at 0.200"),
        (0.5714, 0.5707, "stays at 0.571"),
    ],
)
def test_sentences_follow_the_numbers(before, after, said):
    assert moved(before, after) == said


def test_words():
    assert listed(["a", "b, c", "d"]) == "a, “b, c” and d"
    assert [percent(share) for share in (0, 0.001, 0.5, 0.999, 1)] == ["0 %", "0.1 %", "50 %", "99.9 %", "100 %"]


@pytest.mark.slow
def test_killed_in_the_middle_the_next_run_gives_the_same_numbers(tmp_path, model):
    data = rows_file(tmp_path / "rows.jsonl", 75)  # three steps

    def start(cache, out):
        return start_study(tmp_path / cache, tmp_path / out, "lisa", "--model", model, "--data", data)

    for attempt in range(10):  # a run may end before this process gets to kill it
        cache, out = f"killed{attempt}", f"resumed{attempt}"
        steps = tmp_path / cache / "studies" / "lisa"
        killed = start(cache, out)
        while killed.poll() is None and not any(steps.glob("*.npz")):
            time.sleep(0.01)
        killed.kill()
        assert killed.wait() in (-signal.SIGKILL, 3)
        done = {file.name: file.stat().st_mtime_ns for file in steps.glob("*.npz")}
        if len(done) < 3:
            break
    assert 1 <= len(done) < 3
    assert not (tmp_path / out / "index.html").exists()
    assert start(cache, out).wait() == 3  # 384 is too wide for this model
    assert start("other", "whole").wait() == 3
    assert contents(tmp_path / out) == contents(tmp_path / "whole")
    assert all((steps / name).stat().st_mtime_ns == when for name, when in done.items())  # not made again
