"""Values of clauses are the weighted means of their tokens, and make up precision and recall."""

import numpy as np
import pytest

import evalign
from evalign.encoders.fake import FakeEncoder
from evalign.metrics.all_matchings import align_all
from evalign.text.idf import IDFTable
from evalign.text.sentences import clause_of_tokens

CANDIDATE = "The council approved the new tram line, and the mayor promised free rides for everyone."
REFERENCE = "The council approved the new tram line. Nobody was against it; the vote took an hour."


@pytest.mark.parametrize("matching", ["greedy", "exact"])
def test_values_of_clauses_make_up_the_scores(matching):
    table = IDFTable.count("fake", [one.ids for one in FakeEncoder().tokenize([CANDIDATE, REFERENCE, "The mayor."])])
    metric = evalign.metric(f"bertscore(model=fake, specials=drop, matching={matching})")
    alignment = align_all(metric, CANDIDATE, REFERENCE, table, only_first=True).first
    document = alignment.to_dict()
    [matched] = document["matchings"]
    for side, field in (("candidate", "precision"), ("reference", "recall")):
        spans = [tuple(span) for span in document[side]["clauses"]]
        assert len(spans) == {"candidate": 2, "reference": 3}[side]
        places = np.array(clause_of_tokens(getattr(alignment, side), spans))
        assert (places >= 0).all()
        weights = np.array(document[side]["weights"])
        shares = [weights[places == number].sum() / weights.sum() for number in range(len(spans))]
        whole = np.dot(shares, matched["clause_values"][side])
        assert whole == pytest.approx(alignment.scores[field], abs=1e-6)


def test_an_extra_clause_has_the_lower_precision(minilm):
    document = evalign.metric("bertscore").align(CANDIDATE, "The council approved the new tram line.").to_dict()
    kept, extra = document["matchings"][0]["clause_values"]["candidate"]
    loose = document["similarity_bounds"][1]
    assert extra < loose < kept


def test_empty_texts_have_no_clauses():
    document = evalign.metric("bertscore(model=fake)").align("", "a b c").to_dict()
    assert document["candidate"]["clauses"] == document["matchings"][0]["clause_values"]["candidate"] == []
