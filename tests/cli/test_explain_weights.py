"""`evalign explain` with IDF weights and rescaling: the numbers it writes out end in the metric's own score."""

import hashlib
import json
import math
import re

import numpy as np
import pytest

import evalign
from evalign.metrics.weighting import count_idf

PAIR = ("the cat sat, the cat ran.", "a cat sat by the mat.")
CORPUS = ["the cat sat.", "a dog ran by.", "the mat was red.", "no dog sat by the mat."]
BASE = ("LAYER,P,R,F\n3,0.251000,-0.120000,0.330000\n", (0.251, -0.12, 0.33))
ROW = re.compile(r"^   (\S+) +([\d,]*) +(\d+\.\d{4}) +(-?\d+\.\d{4})(?: +(-?\d+\.\d{4}))? *(.*)$")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """An IDF table of four texts, all of which have a full stop."""
    folder = tmp_path_factory.mktemp("idf")
    encoder = evalign.metric("bertscore(model=fake)").scorer().cache.encoder
    count_idf(encoder, CORPUS).save(folder / "idf.json")
    return folder / "idf.json"


def sections(shown):
    """Heading -> lines below it."""
    found, name = {}, ""
    for line in shown.splitlines():
        if line and not line.startswith(" "):
            name = line
        found.setdefault(name, []).append(line)
    return found


def section(shown, start):
    (lines,) = [lines for name, lines in sections(shown).items() if name.startswith(start)]
    return lines


def rows(lines):
    """(token, in texts, numbers, reason) of each line of a table of weights."""
    cells = [match.groups("") for match in map(ROW.match, lines) if match]
    return [(token, texts, [float(number) for number in numbers if number], reason.strip())
            for token, texts, *numbers, reason in cells]  # fmt: skip


@pytest.mark.parametrize(
    "metric",
    [
        "bertscore",
        "lisascore",
        "lisascore(denominator=max)",
        "lisascore(specials=drop)",
        "bertscore(compat=bert-score)",
    ],
)
def test_weights_times_similarities_are_precision_and_recall(run, table, metric):
    name, _, options = metric.rstrip(")").partition("(")
    spec = f'{name}(model=fake, idf="{table}"{options and f", {options}"})'
    shown = run("explain", *PAIR, "-m", spec).stdout
    report = evalign.metric(spec).score([PAIR[0]], [PAIR[1]])
    totals = {}
    for heading, field in (("Precision", "precision"), ("Recall", "recall")):
        lines = section(shown, heading)
        tokens = rows(lines)
        assert all(product == pytest.approx(weight * value, abs=2e-4) for _, _, (weight, value, product), _ in tokens)
        totals[field] = sum(numbers[0] for _, _, numbers, _ in tokens)
        added = sum(numbers[2] for _, _, numbers, _ in tokens)
        top, bottom, score = re.search(r"[PR] = (\S+) / (\S+).* = (\S+)", lines[-2]).groups()
        assert float(top) == pytest.approx(added, abs=1e-3)
        assert float(top) / float(bottom) == pytest.approx(float(score), abs=2e-4)
        assert float(score) == pytest.approx(report[field][0], abs=6e-5)
        assert float(bottom) == pytest.approx(totals[field], abs=1e-3) or "denominator" in metric
    assert "denominator=max" in shown or "denominator" not in metric
    assert "counts as 1" not in shown


def test_weights_follow_from_the_counts_and_every_zero_has_a_reason(run, table):
    shown = run("explain", *PAIR, "-m", f'bertscore(model=fake, idf="{table}")').stdout
    tokens = rows(section(shown, "Precision"))
    for _, texts, (weight, _, _), reason in tokens:
        if weight:
            assert weight == pytest.approx(math.log(5 / (int(texts) + 1)), abs=6e-5)
            assert (texts == "0") == ("not in the table" in reason)
        else:
            assert reason
    named = {token: (texts, reason) for token, texts, _, reason in tokens}
    assert named["cat"] == ("1", "")
    assert named["."] == ("4", "in every text")
    assert named[","] == ("0", "not in the table: the largest weight")
    assert ("", "special token") in named.values()
    assert "M = 4, from the table" in shown


def test_a_single_reference_is_no_collection(run):
    shown = run("explain", *PAIR, "-m", "bertscore(model=fake, idf=references)").stdout
    assert "With one text all its tokens" in shown
    assert "evalign fit idf" in shown
    recall = section(shown, "Recall")
    assert any("idf-zero" in line for line in recall)
    own = [numbers for _, texts, numbers, reason in rows(recall) if "counts as 1" in reason]
    score = evalign.metric("bertscore(model=fake, idf=references)").score([PAIR[0]], [PAIR[1]])["recall"][0]
    assert np.mean([value for _, value, _ in own]) == pytest.approx(score, abs=1e-4)


@pytest.mark.parametrize("metric", ["bertscore", "lisascore(denominator=min)"])
def test_the_linear_formula_is_filled_in(run, tmp_path, metric):
    (tmp_path / "base.tsv").write_text(BASE[0])
    spec = f'{metric.rstrip(")")}{", " if "(" in metric else "("}model=fake, layer=3, rescale="{tmp_path}/base.tsv")'
    shown = run("explain", *PAIR, "-m", spec).stdout
    report = evalign.metric(spec).score([PAIR[0]], [PAIR[1]])
    raw = evalign.metric(spec.partition(", rescale")[0] + ")").score([PAIR[0]], [PAIR[1]])
    lines = section(shown, "Rescaled")
    for line, field, base in zip(lines[1:4], ("precision", "recall", "f1"), BASE[1], strict=True):
        number = r"\(?(-?\d+\.\d{4})\)?"
        said = re.match(rf"   {field} = \({number} - {number}\) / \(1 - {number}\) = (-?\d+\.\d{{4}})$", line)
        value, b, again, scaled = map(float, said.groups())
        assert (b, again) == (base, base)
        assert value == pytest.approx(raw[field][0], abs=6e-5)
        assert (value - b) / (1 - b) == pytest.approx(scaled, abs=2e-4)
        assert scaled == pytest.approx(report[field][0], abs=6e-5)


def test_a_percentile_lies_between_its_neighbours(run, tmp_path):
    """Quantiles at shares 0, .5 and 1: precision is below all, recall above all, F1 between the last two."""
    (tmp_path / "base.tsv").write_text(BASE[0])
    notes = {
        "format": "evalign-baseline-1",
        "table_sha256": hashlib.sha256(BASE[0].encode()).hexdigest(),
        "provenance": {"pairs": 1200, "about": "nothing in particular"},
        "quantiles": {"3": [[0.98, 0.985, 0.99], [0.0, 0.01, 0.02], [0.0, 0.05, 1.0]]},
    }
    (tmp_path / "base.json").write_text(json.dumps(notes))
    spec = f'bertscore(model=fake, layer=3, rescale="{tmp_path}/base.tsv", scale=percentile)'
    shown = run("explain", *PAIR, "-m", spec).stdout
    report = evalign.metric(spec).score([PAIR[0]], [PAIR[1]])
    lines = section(shown, "Rescaled")
    assert lines[1].startswith("   precision = 0.0000: ")
    assert lines[2].startswith("   recall = 1.0000: ")
    assert (report["precision"][0], report["recall"][0]) == (0, 1)
    low, step, value, left, right, again, share = map(float, re.findall(r"\d+\.\d{4}", lines[3]))
    assert (low, step, left, right, again) == (0.5, 0.5, 0.05, 1.0, 0.05)
    assert low + step * (value - left) / (right - left) == pytest.approx(share, abs=2e-4)
    assert share == pytest.approx(report["f1"][0], abs=6e-5)
    assert "from 1,200 random pairs of: nothing in particular" in lines[4]


def test_masses_of_moverscore_are_shares_of_the_weights(run, table):
    shown = run(
        "explain", *PAIR, "-m", f'moverscore(model=fake, idf="{table}", stopwords=drop, punctuation=drop)'
    ).stdout
    for side in ("candidate", "reference"):
        tokens = rows(section(shown, f"Mass of each token of the {side}"))
        total = sum(weight for _, _, (weight, _), _ in tokens)
        assert sum(mass for _, _, (_, mass), _ in tokens) == pytest.approx(1, abs=5e-4)
        assert all(mass == pytest.approx(weight / total, abs=2e-4) for _, _, (weight, mass), _ in tokens)
        reasons = {token: reason for token, _, _, reason in tokens}
        assert (reasons["the"], reasons["."]) == ("stopwords=drop", "punctuation=drop")


def test_words_that_were_named_have_no_mass(run):
    shown = run("explain", *PAIR, "-m", "moverscore(model=fake, stopwords=cat+mat)").stdout
    reasons = {token: reason for token, _, _, reason in rows(section(shown, "Mass of each token of the reference"))}
    assert (reasons["cat"], reasons["the"]) == ("stopwords=cat+mat", "")


def test_options_that_leave_no_token_are_said(run):
    shown = run("explain", "the on", "a was", "-m", "moverscore(model=fake, stopwords=drop)").stdout
    assert shown.count("The options exclude all tokens") == 2


def test_ngrams_show_the_weights_of_their_tokens(run, table):
    shown = run("explain", *PAIR, "-m", f'moverscore(model=fake, idf="{table}", ngram=2)').stdout
    lines = section(shown, "Mass of each token of the candidate")
    assert any(re.match(r"   cat +1 +0\.9163 *$", line) for line in lines)
    assert any("2 neighbours with weight are one unit" in line for line in lines)


def test_sources_can_be_counted(run):
    spec = "bertscore(model=fake, idf=sources)"
    assert "from the sources" in run("explain", *PAIR, "--source-text", "the cat", "-m", spec).stdout
    missing = run("explain", *PAIR, "-m", spec)
    assert missing.returncode == 2
    assert "idf=sources counts sources: give --source" in missing.stderr
    assert run("explain", *PAIR, "-m", "sbert(model=fake, idf=references)").returncode == 0
