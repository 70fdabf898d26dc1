"""The page of the German summaries study: what was compared, Tables 3 and 4, figures, and how it was made."""

from __future__ import annotations

from evalign.render.study.page import StudyPage
from evalign.studies.german import tables
from evalign.studies.german.bertscore_forms import PAIRS, RESCALED
from evalign.studies.german.claims import findings
from evalign.studies.german.data import SOURCES
from evalign.studies.german.layers import layers_plate
from evalign.studies.german.study import GermanStudy
from evalign.studies.german.systems import ALL, BLOCK, LAST, LSTM_NAME, TUNED_LAYER
from evalign.studies.german.task_data import corpus_plate, formula_plate
from evalign.studies.ledger import ledger
from evalign.studies.wording import listed
from evalign.version import __version__

TITLE = "The German summaries study, repeated"
QUESTION = (
    "Paraschiv and Cercel (UPB at GermEval-2020 task 3) asked which metric rates German summaries as people do: "
    "Sentence-BERT, BERTScore, BERTScore with IDF from the source texts, or that on an encoder fine-tuned with "
    "paraphrases, beside BLEU, ROUGE and METEOR. These are their Tables 3 and 4, made anew."
)
FORMULA = (
    "Error: root mean square (RMSE) of the metric's raw score, clipped to 0 and 1, minus the rating between 0 and 1, "
    "times 100. The organisers of GermEval did not publish their own formula, so published figures and these may not "
    "be the same thing. Fitted: the same after a straight line from score to rating, fitted on the other nine tenths "
    "of the rows."
)
FEW_DOCUMENTS = 20  # below which a bootstrap over texts is too sure of itself


def german_page(study: GermanStudy) -> StudyPage:
    """Everything that is shown."""
    rows = study.rows
    about = (
        QUESTION,
        f"Data: {rows.name}: {rows.about} {len(rows.rows)} rows {_about_documents(len(set(rows.documents)))}",
        _about_models(study),
        FORMULA,
    )
    plates = (
        corpus_plate(rows),
        tables.table3(study),
        *([layers_plate(study)] if study.layers else []),
        tables.errors(study),
        tables.agreement(study),
        formula_plate(study.verdict, rows),
        tables.pooling_errors(study),
        tables.pooling_agreement(study),
        tables.raw_scores(study),
    )
    claims = ledger(findings(study))
    return StudyPage(TITLE, about, tables.summary(study), plates, _notes(study), study.missing, claims)


def _about_documents(count: int) -> str:
    if count == 1:
        return "of one text, so there are no intervals: how another text would do cannot be told."
    few = "; so few give intervals that are too narrow" if count < FEW_DOCUMENTS else ""
    return f"of {count} different texts{few}."


def _about_models(study: GermanStudy) -> str:
    said = f"Models: {listed(list(study.models))}." if study.models else "Models: none could be used."
    if study.stand_ins:
        verb = "was made for English and stands in for a German model" if len(study.stand_ins) == 1 else (
            "were made for English and stand in for German models")  # fmt: skip
        said += (
            f" {listed(study.stand_ins)} {verb}: how metrics compare can be seen so, not how good a German model "
            "would be."
        )
    return f"{said} {_about_tuning(study)}"


def _about_tuning(study: GermanStudy) -> str:
    pairs, plan = study.plan.pairs, study.plan.training
    if pairs is None:
        return "Nothing was fine-tuned: no rated paraphrases were given (--train)."
    lstm = (
        " The LSTM, a bidirectional one over words as before there were transformers, was trained on the same pairs."
        if study.verdict.find(LSTM_NAME) is not None
        else ""
    )
    names = list(study.tuned)
    if not names:
        return f"Nothing could be fine-tuned on {len(pairs.pairs)} rated pairs.{lstm}"
    shared = sum(count for why, count in pairs.left_out.items() if "judged" in why)
    apart = f"; {shared} more were left out because a text of theirs is judged here" if shared else ""
    return (
        f"{listed(names)} {'was' if len(names) == 1 else 'were'} also fine-tuned on {len(pairs.pairs)} rated pairs "
        f"({plan.loss}, {plan.epochs} epochs), none of whose texts is judged here{apart}.{lstm}"
    )


def _layer(layer: str) -> str:
    named = {LAST: "too, as the paper does", ALL: "too, as the paper does", TUNED_LAYER: "the one that evalign takes"}
    return named.get(layer, f"layer {layer}")


def _notes(study: GermanStudy) -> tuple[str, ...]:
    rows, plan = study.rows, study.plan
    counted = "whole source texts, nothing cut" if rows.idf == SOURCES else "references"
    training = plan.training
    losses = [
        f"Fine-tuning of {name}: mean loss by epoch {', '.join(f'{epoch.loss:.4f}' for epoch in tuned.epochs[1:])}; "
        f"ratings mapped by {plan.pairs.mapping}, batches of {training.batch}, highest rate {training.rate:g}, seed "
        f"{training.seed}; the layer that is matched stays the same."
        for name, tuned in study.tuned.items()
        if plan.pairs is not None
    ]
    flagged = [
        f"{system.label}: {flag} in {count} rows."
        for system in study.verdict.systems
        for flag, count in system.flags.items()
    ]
    undefined = [
        f"{system.label}, {name}: {flag}."
        for system in study.verdict.systems
        for name, estimate in system.estimates.items()
        for flag in estimate.flags
    ]
    return (
        f"Data: {rows.name}; {len(rows.rows)} rows, sha256 {rows.digest[:16]}.",
        *(f"Data: {note}." for note in rows.notes),
        f"Ratings between 0 and 1: {rows.scale}.",
        f"Intervals: {plan.resampling.confidence:.0%} of {plan.resampling.samples} bootstrap resamples (seed "
        f"{plan.resampling.seed}) of whole texts: rows with the same source (or first reference) are drawn together.",
        "Ranks and p: paired permutation tests of Pearson, one-sided in the direction that was seen, as many "
        "permutations as Holm's correction over all comparisons needs; metrics of the same rank are not told apart.",
        *([f"IDF: counted over {len(rows.counted_texts)} different {counted}."] if rows.counted else []),
        "Several references: as each metric does by default (the best one).",
        "Models: "
        + (", ".join(study.models.values()) or "none")
        + f"; Sentence-BERT reads the last layer, BERTScore, LiSAScore and MoverScore {_layer(plan.options.layer)}; "
        f"fp32, blocks of {BLOCK} rows.",
        f"{RESCALED}: (F1 - b) / (1 - b), b being the mean F1 of up to {PAIRS} unrelated pairs of this data's "
        "references, which are not rated.",
        *(f"{note}." for note in study.notes),
        *losses,
        *flagged,
        *undefined,
        *(f"{system.label}: {system.signature}" for system in study.verdict.systems),
        f"evalign {__version__}.",
    )
