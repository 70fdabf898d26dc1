"""What the paper printed: Tables 3 and 4, its corpus and its models, to stand beside what is measured here."""

from __future__ import annotations

from evalign.studies.german.systems import BERTSCORE, TUNED, pooled, weighted

SBERT_TUNED, TUNED_IDF = pooled("mean", tuned=True), weighted(TUNED)
TABLE3_COLUMNS = (SBERT_TUNED, BERTSCORE, weighted(BERTSCORE), TUNED_IDF)
GERMAN = (
    "bert-base-german-cased",
    "dbmdz/bert-base-german-europeana-uncased",
    "dbmdz/bert-base-german-uncased",
    "severinsimmler/literary-german-bert",
    "severinsimmler/german-press-bert",
)
# The error of GermEval-2020 task 3, lower is better: by model, in the order of TABLE3_COLUMNS.
TABLE3 = dict(
    zip(
        (name.rpartition("/")[2] for name in GERMAN),
        (
            (37.2916, 35.6950, 35.3121, 31.9925),
            (35.2817, 32.9403, 32.2169, 32.0194),
            (42.7792, 34.1719, 33.4136, 40.5780),
            (36.5822, 44.7441, 43.2454, 35.5773),
            (36.5098, 33.1080, 32.2967, 35.3199),
        ),
        strict=True,
    )
)
TABLE4 = {"BLEU": 41.4299, "ROUGE-1": 42.6328, "ROUGE-2": 55.7044, "ROUGE-L": 43.7750, "METEOR": 48.0823}
ROWS, SOURCE_TEXTS = 216, 24  # of the task's own data
# Section 4.1, least, mean and greatest: characters of the sources; the other texts as a share of their source.
CORPUS = {
    "rows": "216",
    "sources": "24",
    "candidates to a source": "9",
    "characters of a source": "2,000 / 5,800 / 12,000",
    "characters of a reference": "–",
    "characters of a candidate": "–",
    "reference, share of its source": "3 / 6 / 13 %",
    "candidate, share of its source": "0.6 / 6 / 21 %",
    "texts in lower case": "100 %",
}


def published_error(model: str, system: str) -> float | None:
    """The paper's Table 3 for a model by its shown name, and a system by its name in our tables."""
    row = TABLE3.get(model.partition("@")[0].rpartition("/")[2])
    return None if row is None else dict(zip(TABLE3_COLUMNS, row, strict=True)).get(system)
