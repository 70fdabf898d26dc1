"""The versioned documents: they fit their schemas whatever the texts are, and hold the library's own numbers."""

import base64
import json

import jsonschema
import numpy as np
import pytest

import evalign
from evalign.core import Tokens
from evalign.errors import SpecError
from evalign.matching.registry import all_matchings
from evalign.metrics.all_matchings import align_all
from evalign.metrics.baseline import shipped
from evalign.render.documents import alignment_document, matching_name, report_document, schema
from evalign.text.words import word_numbers

HOSTILE = [
    ("</script><img src=x onerror=alert(1)>", "<!-- <script>"),
    ("\u202egnirts\u202c \x00 tail", "string \u2028 tail"),
    ("lone \ud800 half", "half \udfff lone"),
    ("السلام عليكم", "سلام"),
    ("孩子们昨天", "昨天孩子"),
    ("👩‍👩‍👧 family", "the family 👩‍👩‍👧"),
]


@pytest.fixture(scope="module", params=["alignment", "corpus", "likelihood", "lstm"])
def written(request):
    return schema(request.param)


def test_schemas_are_schemas(written):
    jsonschema.Draft202012Validator.check_schema(written)


def fits(document):
    text = json.dumps(document, allow_nan=False, ensure_ascii=False)
    text.encode("utf-8")  # no lone surrogate leaves
    name = document["format"].removeprefix("evalign.")
    jsonschema.validate(json.loads(text), schema(name), cls=jsonschema.Draft202012Validator)
    assert json.loads(text) == document
    return document


@pytest.mark.parametrize(("candidate", "reference"), [("the cat sat", "a cat was sitting"), ("", "a cat"), *HOSTILE])
@pytest.mark.parametrize("packed", [True, False])
def test_alignment_documents_fit_their_schema(candidate, reference, packed):
    every = align_all(evalign.metric("bertscore"), candidate, reference)
    document = fits(alignment_document(every.alignments, every.skipped, packed=packed))
    assert [one["name"] for one in document["matchings"]] == list(all_matchings())
    assert document["candidate"]["text"] == candidate.replace("\ud800", "\ufffd")


def test_numbers_are_those_of_the_metrics():
    texts = "the storm closed two schools", "two schools were shut by a storm"
    document = alignment_document(align_all(evalign.metric("bertscore(layer=5)"), *texts).alignments)
    for one in document["matchings"]:
        spec = "moverscore(layer=5)" if one["name"] == "transport" else f"bertscore(layer=5, matching={one['name']})"
        alone = evalign.metric(spec).align(*texts)
        assert one["scores"] == pytest.approx(dict(alone.scores), abs=1e-12)
        assert one["cells"] == alone.cells.tolist()
        assert one["signature"] == alone.signature
        assert matching_name(alone) == one["name"]


def test_the_first_matching_is_the_one_asked_for():
    specs = {"lisascore(method=row-mask)": "row-mask", "moverscore": "transport", "bertscore": "greedy"}
    for spec, name in specs.items():
        found = align_all(evalign.metric(spec), "one cat", "a cat")
        assert next(iter(found.alignments)) == name
        assert set(found.alignments) == set(all_matchings())


def test_what_cannot_be_rescaled_is_skipped_with_the_reason():
    found = align_all(evalign.metric("bertscore(rescale=true)"), "one cat", "a cat")
    assert {"greedy", "exact", "transport"} <= set(found.alignments)
    assert "no baseline ships" in found.skipped["row-mask"]


def test_ngrams_stand_alone():
    found = align_all(evalign.metric("moverscore(ngram=2)"), "one small cat sat", "a cat sat")
    assert list(found.alignments) == ["transport"]
    assert "n-grams" in found.skipped["greedy"]
    fits(alignment_document(found.alignments, found.skipped))


def test_a_metric_without_tokens_is_refused():
    with pytest.raises(SpecError, match="does not match tokens"):
        align_all(evalign.metric("sbert"), "a", "b")


def test_packed_matrix_is_right_to_five_digits():
    alignment = evalign.metric("bertscore").align("the storm closed two schools", "two schools were shut")
    packed = alignment_document({"greedy": alignment}, packed=True)["similarity"]
    steps = np.frombuffer(base64.b64decode(packed["uint16"]), dtype="<u2").reshape(packed["rows"], packed["columns"])
    found = packed["low"] + steps / 65535 * (packed["high"] - packed["low"])
    assert np.abs(found - alignment.similarity).max() < 1.6e-5


def test_levels_divide_the_way_from_what_unrelated_text_reaches():
    fitted = evalign.metric("bertscore").align("one cat", "a cat").to_dict()
    assert "unrelated sentences" in fitted["baseline"]["from"]
    weak = shipped()["all-MiniLM-L6-v2@40bc2228", "greedy", "keep"].by_layer["4"][2]
    assert fitted["baseline"]["value"] == pytest.approx(weak, abs=1e-6)
    steps = [weak + (1 - weak) * step / 3 for step in (2, 1, 0)]
    assert fitted["similarity_bounds"] == pytest.approx(steps, abs=1e-6)


def test_without_a_baseline_levels_follow_the_pairs_own_matrix():
    own = evalign.metric("bertscore(model=fake)").align("one cat sat", "a cat sat")
    best = {(i, int(j)) for i, j in enumerate(own.similarity.argmax(1))}
    best |= {(int(i), j) for j, i in enumerate(own.similarity.argmax(0))}
    others = [value for place, value in np.ndenumerate(own.similarity) if place not in best]
    document = own.to_dict()
    assert document["baseline"]["value"] == pytest.approx(np.quantile(others, 0.9), abs=1e-6)
    assert document["similarity_bounds"][-1] == document["baseline"]["value"]
    assert "no baseline" in document["baseline"]["from"]


def test_windows_unknown_and_dropped_tokens_stand_in_their_places():
    text = "river " * 30 + "☃"
    one = evalign.metric("bertscore(max_length=16)").align(text, "river").to_dict()["candidate"]
    assert one["windows"]
    assert one["flags"]["windowed"] == len(one["windows"]) + 1
    assert [one["pieces"][place] for place in one["unknown"]] == ["[UNK]"]
    cut = evalign.metric("bertscore(max_length=16, overlong=truncate)").align(text, "river").to_dict()["candidate"]
    assert cut["dropped"] == 31 - 14
    assert cut["unknown"] == []


def test_specials_dropped_places_move_with_their_tokens():
    text = "river " * 30 + "☃"
    kept, dropped = (
        evalign.metric(f"bertscore(max_length=16, specials={how})").align(text, "river").to_dict()["candidate"]
        for how in ("keep", "drop")
    )
    assert dropped["windows"] == [place - 1 for place in kept["windows"]]
    assert dropped["unknown"] == [place - 1 for place in kept["unknown"]]


def tokens(text, places, special=()):
    marked = np.array([place in special for place in range(len(places))])
    return Tokens(text, tuple(text[a:b] for a, b in places), np.arange(len(places)), np.array(places), marked)


@pytest.mark.parametrize(
    ("text", "places", "expected"),
    [
        ("unbelievable cat", [(0, 2), (2, 6), (6, 12), (13, 16)], [0, 0, 0, 1]),
        ("end. Next", [(0, 3), (3, 4), (5, 9)], [0, 1, 2]),
        ("昨天去", [(0, 1), (1, 2), (2, 3)], [0, 1, 2]),
        ("नमस्ते", [(0, 2), (2, 4), (4, 6)], [0, 0, 0]),
        ("a b", [(0, 1), (1, 1), (2, 3)], [0, 0, 1]),
    ],
)
def test_words_are_told_from_places(text, places, expected):
    assert word_numbers(tokens(text, places)) == expected


def test_special_tokens_belong_to_no_word():
    assert word_numbers(tokens("a b", [(0, 0), (0, 1), (2, 3), (0, 0)], special=(0, 3))) == [-1, 0, 1, -1]


@pytest.mark.parametrize("spec", ["bertscore", "bleu", "ter", "fkgl", "rouge1"])
def test_report_documents_fit_their_schema(spec):
    report = evalign.metric(spec).score(["one cat </b>", "two \ud800 dogs"], ["a cat", "two dogs"], ids=["x", "y"])
    document = fits(report_document(report))
    assert [row["id"] for row in document["rows"]] == ["x", "y"]
    main = document["metrics"][0]["main"]
    assert [row["scores"][0][main] for row in document["rows"]] == report[main].tolist()
    assert document["metrics"][0]["higher_is_better"] is evalign.metric(spec).higher_is_better
    assert document["rows"][0]["candidate"] == "one cat </b>"
    assert document["results"][0]["scores"] == {name: report.mean(name) for name in report.fields}
