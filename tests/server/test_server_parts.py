"""A corpus sent in parts: the last answer has the results of all rows. And specs, read by the server."""

from functools import reduce

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


SCORED = {
    "a": [0.61, 0.7, 0.58, 0.9, 0.4, 0.5],
    "b": [0.66, 0.7, 0.64, 0.8, 0.6, 0.7],
    "c": [0.1, 0.2, 0.3, 0.1, 0.2, 0.3],
}


def added(first, second):
    """Two answers of /api/resample, added up number by number, as its description says."""
    if isinstance(first, dict):
        return {key: added(value, second[key]) for key, value in first.items()}
    if isinstance(first, list):
        return [added(*both) for both in zip(first, second, strict=True)]
    return first if isinstance(first, str) else first + second


def summed(server, scores, cuts, rows=6):
    parts = []
    for start, stop in zip((0, *cuts), (*cuts, rows), strict=True):
        part = {
            name: {system: values[start:stop] for system, values in scores[name].items()}
            for name in ("values", "statistics") if name in scores
        }  # fmt: skip
        body = {"scores": {"metric": scores["metric"], **part}, "start": start, "rows": rows, "samples": 50}
        answer = server.post("/api/resample", json=body)
        assert answer.status_code == 200, answer.text
        parts.append(answer.json())
    return reduce(added, parts)


def pooled_scores(server):
    texts = {"a": "the cat sat on the mat today", "b": "the cat sat on a mat", "c": "a cat"}
    rows = [
        {"candidate": f"{text} {number % (2 + place)} of it", "references": [f"the cat sat on the mat {number} of it"],
         "system": name}
        for place, (name, text) in enumerate(texts.items()) for number in range(6)
    ]  # fmt: skip
    scored_rows = scored(server, rows, ["bleu"])["rows"]
    columns = {name: [row for row in scored_rows if row["system"] == name] for name in texts}
    return {
        "metric": "bleu",
        "values": {name: [row["scores"][0]["score"] for row in own] for name, own in columns.items()},
        "statistics": {name: [row["statistics"][0] for row in own] for name, own in columns.items()},
    }


@pytest.mark.parametrize("cuts", [(), (1,), (2, 5)])
@pytest.mark.parametrize("pooled", [False, True])
def test_a_comparison_of_parts_is_that_of_the_whole(fake_server, pooled, cuts):
    scores = pooled_scores(fake_server) if pooled else {"metric": "rougeL", "values": SCORED}
    whole = fake_server.post("/api/compare", json={"scores": [scores], "samples": 50}).json()["comparison"]
    sums = summed(fake_server, scores, cuts)
    found = fake_server.post("/api/compare", json={"sums": [sums], "samples": 50}).json()["comparison"]
    (ours,), (theirs,) = found.pop("results"), whole.pop("results")
    assert found == whole
    for system, same in zip(ours.pop("systems"), theirs.pop("systems"), strict=True):
        assert system.pop("p", None) == same.pop("p", None)
        assert system.pop("system") == same.pop("system")
        assert system.pop("flags") == same.pop("flags")
        assert system.pop("examples", None) == same.pop("examples", None)
        assert system == pytest.approx(same, rel=1e-12)
    assert ours == theirs


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"samples": 51}, "numbers for each of 51 samples"),
        ({"baseline": "b"}, "the baseline first"),
        ({"sums": lambda sums: [sums | {"pairs": sums["pairs"][1:]}]}, "every pair of the systems once"),
        ({"sums": lambda sums: [sums, sums | {"rows": 7}]}, "the same systems and rows under every metric"),
        ({"sums": lambda sums: [sums | {"metric": "bleu"}]}, "not sums of bleu statistics"),
        ({"scores": [{"metric": "rougeL", "values": SCORED}]}, "expected either rows and metrics, or scores, or sums"),
    ],
)
def test_sums_that_are_none_are_refused(fake_server, change, said):
    sums = summed(fake_server, {"metric": "rougeL", "values": SCORED}, (3,))
    body = {"sums": [sums], "samples": 50} | {
        name: value(sums) if callable(value) else value for name, value in change.items()
    }
    answer = fake_server.post("/api/compare", json=body)
    assert answer.status_code == 422
    assert said in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"start": 3}, "at most `rows`"),
        ({"scores": {"metric": "rougeL", "values": {"a": [0.1, None], "b": [0.2, 0.3]}}}, "leave out the other rows"),
        ({"scores": {"metric": "rougeL", "values": {"a": [0.1]}}}, "two or more systems"),
    ],
)
def test_parts_that_are_none_are_refused(fake_server, change, said):
    values = {"a": [0.1, 0.2], "b": [0.2, 0.3]}
    body = {"scores": {"metric": "rougeL", "values": values}, "start": 0, "rows": 4, "samples": 5} | change
    answer = fake_server.post("/api/resample", json=body)
    assert answer.status_code == 422
    assert said in answer.json()["error"]["message"]
