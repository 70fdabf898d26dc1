"""A corpus sent in parts: the last answer has the results of all rows. And specs, read by the server."""

import jsonschema
import pytest

from evalign.render.documents import schema

ROWS = [
    {"candidate": "the cat sat", "references": ["a cat was sitting"], "system": "one"},
    {"candidate": "", "references": ["something", "else"], "system": "one"},
    {"candidate": "it rains", "references": ["it is raining"], "system": "two"},
    {"candidate": "a dog barked", "references": [], "system": "one"},  # fails: nothing to compare with
    {"candidate": "a dog barked", "references": ["the dog was barking"], "system": "three"},
]
METRICS = ["bertscore(model=fake)", "bleu", "chrf", "ter", "rougeL"]


def scored(server, rows, metrics=METRICS, earlier=()):
    answer = server.post("/api/score", json={"rows": rows, "metrics": metrics, "earlier": list(earlier)})
    assert answer.status_code == 200, answer.text
    jsonschema.validate(answer.json(), schema("corpus"))
    return answer.json()


@pytest.mark.parametrize("cuts", [(1,), (2, 4), (1, 2, 4)])
def test_results_of_parts_are_those_of_the_whole(fake_server, cuts):
    whole = scored(fake_server, ROWS)
    part = {"results": []}
    for start, stop in zip((0, *cuts), (*cuts, len(ROWS)), strict=True):
        part = scored(fake_server, ROWS[start:stop], earlier=part["results"])
    assert [(entry["metric"], entry["signature"]) for entry in part["metrics"]] == [
        (entry["metric"], entry["signature"]) for entry in whole["metrics"]
    ]
    assert "nrefs:var" in part["metrics"][1]["signature"]
    assert part["systems"] == whole["systems"] == ["one", "two", "three"]
    ours = {(one["system"], one["metric"]): one for one in part["results"]}
    for result in whole["results"]:
        found = ours.pop((result["system"], result["metric"]))
        for name in ("n", "flags", "signature"):
            assert found[name] == result[name]
        assert found.get("failed") == result.get("failed")
        assert found["scores"] == pytest.approx(result["scores"], rel=1e-14)
        assert found.get("corpus", {}) == pytest.approx(result.get("corpus", {}), rel=1e-12)
    assert ours == {}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"metric": "rouge1"}, "rouge1 is not among the metrics"),
        ({"signature": "bleu|case:lc"}, "all results of a metric have its signature"),
        ({"sums": {"scores": {"other": 1.0}}}, "have sums of score"),
        ({"sums": {"scores": {"score": 1.0}, "statistics": [1.0]}}, "equally many"),
        ({"n": -1}, "n"),
        ({"own": 1}, "own"),
    ],
)
def test_results_that_are_none_are_refused_in_a_sentence(fake_server, change, said):
    [result] = scored(fake_server, ROWS[:1], ["bleu"])["results"]
    body = {"rows": ROWS[:1], "metrics": ["bleu"], "earlier": [result | change]}
    answer = fake_server.post("/api/score", json=body)
    assert answer.status_code == 422
    assert said in answer.json()["error"]["message"]


def test_specs_are_read_without_scoring(fake_server):
    specs = ["chrf(char_order=6)", "chrf()", "bertscore(model=fake, idf=sources)", "rougeL"]
    found = fake_server.post("/api/specs", json={"metrics": specs}).json()["metrics"]
    assert [(one["metric"], one["main"], one["idf"], one["model"]) for one in found] == [
        ("chrf", "score", None, None),
        ("bertscore(model=fake, idf=sources)", "f1", "sources", "fake"),
        ("rougeL", "f1", None, None),
    ]
    refused = fake_server.post("/api/specs", json={"metrics": ["bertscor"]})
    assert refused.status_code == 422
    assert "unknown metric 'bertscor'" in refused.json()["error"]["message"]
