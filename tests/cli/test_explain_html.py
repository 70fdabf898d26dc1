"""`evalign explain --html`: bartscore's log-probabilities as one file; other metrics are refused with the way to go."""

import json
import re

import jsonschema
import numpy as np
import pytest

import evalign
from evalign.render.documents import schema
from evalign.research.lstm.encoder import demonstration_file
from evalign.research.lstm.metric import LSTM

PAIR = ("the cat sat", "a cat was here")


def test_the_file_holds_the_metrics_own_numbers(run, tmp_path):
    build = pytest.importorskip("tiny_torch_models", reason="needs the extra torch").build
    spec = f'bartscore(model="{build("bart", tmp_path / "tiny-bart", generates=True)}")'
    file = tmp_path / "b.html"
    done = run("explain", *PAIR, "-m", spec, "--html", str(file), "--threads", "1")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr.strip() == f"{file}: written"
    document = json.loads(re.search(r'id="evalign-document">(.*?)</script>', file.read_text("utf-8"), re.DOTALL)[1])
    jsonschema.validate(document, schema("likelihood"), cls=jsonschema.Draft202012Validator)
    metric = evalign.metric(spec)
    assert document["scores"]["score"] == pytest.approx(metric.score([PAIR[0]], [PAIR[1]])["score"][0], abs=1e-6)
    tokens = metric.tokens(*PAIR)
    assert [one["name"] for one in document["directions"]] == list(tokens)
    for one in document["directions"]:
        assert one["log_probs"] == pytest.approx(tokens[one["name"]].log_probs, abs=1e-5)


@pytest.mark.parametrize("spec", ["bertscore(model=fake)", "rougeL"])
def test_other_metrics_are_refused_with_the_command_that_draws(run, tmp_path, spec):
    done = run("explain", *PAIR, "-m", spec, "--html", str(tmp_path / "x.html"))
    assert done.returncode == 2
    assert f"{spec.partition('(')[0]} has none" in done.stderr
    assert "evalign align --html FILE" in done.stderr
    assert not (tmp_path / "x.html").exists()


def test_a_trace_of_an_lstm_is_written_as_a_page(run, tmp_path):
    file = tmp_path / "x.html"
    done = run("explain", "the film was not good", "-m", "lstm", "--html", str(file))
    assert (done.returncode, done.stdout, done.stderr.strip()) == (0, "", f"{file}: written")
    document = json.loads(re.search(r'id="evalign-document">(.*?)</script>', file.read_text("utf-8"), re.DOTALL)[1])
    jsonschema.validate(document, schema("lstm"), cls=jsonschema.Draft202012Validator)
    trace = LSTM(str(demonstration_file())).trace("the film was not good")
    for direction in document["directions"]:
        for word, own in zip(direction["words"], trace.directions[direction["name"]], strict=True):
            assert (word["word"], word["known"]) == (own.word, own.known)
            assert np.mean(word["forget"]) == pytest.approx(own.forget, abs=1e-5)
            assert np.linalg.norm(word["cell"]) == pytest.approx(own.cell, abs=1e-5)
            assert np.linalg.norm(word["hidden"]) == pytest.approx(own.hidden, abs=1e-5)
