"""Figures that others published on the rated data: the same metric on the same rows gives the same agreement."""

import re

import numpy as np
import pytest

import evalign
from evalign.stats.levels import Rated, agreement, agreement_by

ASPECTS = ("coherence", "consistency", "fluency", "relevance")


def test_rouge1_on_summeval(real_rows):
    """Fabbri et al. 2021: F, Porter stems, mean over 11 references, Spearman per document."""
    rows = real_rows("summeval")
    metric = evalign.metric("rouge1(tokens=ascii, stem=nltk-porter, multiref=mean)")
    scores = metric.score([row["candidate"] for row in rows], [row["references"] for row in rows])["f1"]
    documents = [row["doc"] for row in rows]
    found = [
        agreement(Rated(scores, [row["human"][aspect] for row in rows], documents), "spearman", "summary").value
        for aspect in ASPECTS
    ]
    assert found == pytest.approx([0.169, 0.160, 0.116, 0.328], abs=0.005)


@pytest.mark.slow
@pytest.mark.parametrize(("spec", "cs", "de"), [("bleu", 0.557, 0.454), ("chrf", 0.657, 0.469)])
def test_sentence_scores_on_wmt16(real_rows, spec, cs, de):
    rows = real_rows("wmt16_daseg")
    scores = evalign.metric(spec).score([row["candidate"] for row in rows], [row["references"] for row in rows])[
        "score"
    ]
    found = agreement_by(Rated(scores, [row["human"] for row in rows]), [row["lp"] for row in rows]).groups
    assert [found["cs-en"].value, found["de-en"].value] == pytest.approx([cs, de], abs=0.01)


@pytest.mark.slow
def test_rouge_on_realsumm(real_rows):
    """The authors ran ROUGE-1.5.5 with -m on sentences marked <t>; some texts were published otherwise than scored."""
    rows = real_rows("realsumm_author_scores")
    candidates = [_sentences(row["candidate"]) for row in rows]
    references = [[_sentences(text) for text in row["references"]] for row in rows]
    for name, theirs, equal, apart in (("rouge1", "rouge_1", 0.88, 0.002), ("rouge2", "rouge_2", 0.88, 0.002),
                                       ("rougeL", "rouge_l", 0.74, 0.012)):  # fmt: skip
        ours = evalign.metric(f"{name}(mode=rouge155, stem=true)").score(candidates, references)["f1"]
        difference = np.abs(ours - [row["scores"][f"{theirs}_f_score"] for row in rows])
        assert (difference < 1.1e-5).mean() > equal, name
        assert difference.mean() < apart, name


def _sentences(text: str) -> str:
    marked = [part.strip() for part in re.findall(r"<t>(.*?)</t>", text, re.S)]
    return "\n".join(marked) if marked else text
