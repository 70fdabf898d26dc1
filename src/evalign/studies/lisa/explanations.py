"""Why padding and recursive assignment change the scores of true pairs and negatives: sentences from measured numbers.

In: a `LisaStudy`. Out: what pads that weigh 1 do under greedy matching (Fig. 6), what the recursive assignment as
published changes against that (Fig. 7), and in which direction over all models and widths.
"""

from __future__ import annotations

from collections.abc import Iterator

from evalign.studies.lisa.matchings import GREEDY, PUBLISHED
from evalign.studies.lisa.measured import Compared, LisaStudy
from evalign.studies.lisa.model_scores import NEGATIVE, POSITIVE, Key, ModelScores
from evalign.studies.lisa.padding import PARTS, PLAIN, Padding
from evalign.studies.wording import moved, number, percent


def what_pads_do(study: LisaStudy, name: str, model: ModelScores) -> Iterator[str]:
    """What unmasked pads with weight 1 do to greedy scores, from what text and padding tokens got."""
    plain = study.compare(model, study.main, GREEDY, PLAIN)
    for padding in study.paper_paddings[1:]:
        padded = study.compare(model, study.main, GREEDY, padding)
        if plain is None or padded is None:
            continue
        key = Key(study.main, POSITIVE, GREEDY, padding)
        good, bad = _parts(model, key)
        positives, negatives = zip(plain.means, padded.means, strict=True)
        gaps = plain.separation.difference, padded.separation.difference
        text, pads = _added(model, key)
        share = good["pad_share"]
        yield (
            f"{name}, {padding}: the mean of the true pairs {moved(*positives)}, that of the "
            f"negatives {moved(*negatives)}, and the difference between them {moved(*gaps)}. Why: {percent(share)} of "
            f"what is averaged are pads, and a pad finds a partner of mean similarity {number(good['pad_value'])} in "
            f"true pairs and {number(bad['pad_value'])} in negatives, a text token {number(good['text_value'])} and "
            f"{number(bad['text_value'])}. The mean of precision and recall differs by {number(text + pads)}: pads "
            f"make {number(pads)} of that, and the text {number(text)}, for it has only {percent(1 - share)} of the "
            f"weight. {percent(good['text_to_pad'])} of the text tokens of true pairs and "
            f"{percent(bad['text_to_pad'])} of those of negatives are matched with a pad."
        )


def against_greedy(study: LisaStudy, name: str, model: ModelScores) -> Iterator[str]:
    """What the recursive assignment changes against greedy matching, with the same padding."""
    for padding in study.paper_paddings:
        for before, after in _changes(study, model, padding):
            good, bad = zip(before.means, after.means, strict=True)
            old, new = before.separation, after.separation
            sentence = (
                f"{name}, {padding}: from greedy to recursive assignment as published the mean of the "
                f"true pairs {moved(*good)} and that of the negatives {moved(*bad)}; the difference "
                f"{moved(old.difference, new.difference)}"
            )
            if old.ratio is not None and new.ratio is not None:
                sentence += f", the ratio {moved(old.ratio, new.ratio)}"
            if old.cohens_d is not None and new.cohens_d is not None:
                sentence += f", Cohen's d {moved(old.cohens_d, new.cohens_d)}"
            yield f"{sentence}, AUC {moved(old.auc, new.auc)}.{_unmatched(study, model, padding)}"


def direction(study: LisaStudy) -> Iterator[str]:
    """The direction of the paper's comparison, counted over models and widths with its own padding."""
    changes = [
        change
        for model in study.models
        for padding in study.paper_paddings[1:]
        for change in _changes(study, model, padding)
    ]
    if not changes:
        return
    both_fall = (all(new < old for old, new in zip(b.means, a.means, strict=True)) for b, a in changes)
    pairs = [(before.separation, after.separation) for before, after in changes]
    counts = {
        "both means fall": sum(both_fall),
        "the ratio of the means rises": sum(_rises(b.ratio, a.ratio) for b, a in pairs),
        "the difference rises": sum(a.difference > b.difference for b, a in pairs),
        "Cohen's d rises": sum(_rises(b.cohens_d, a.cohens_d) for b, a in pairs),
        "AUC rises": sum(a.auc > b.auc for b, a in pairs),
    }
    counted = ", ".join(f"{what} in {count}" for what, count in counts.items())
    yield (
        "In the paper's setting (pads unmasked, weight 1), going from greedy matching (Fig. 6) to the recursive "
        f"assignment (Fig. 7), of {len(changes)} combinations of model and width: {counted}."
    )
    alone = sum(_rises(b.ratio, a.ratio) and not a.auc > b.auc for b, a in pairs)
    if alone:
        yield (
            f"In {alone} of them the ratio rises although AUC does not: a larger ratio of smaller means does not make "
            "true pairs easier to tell from false ones."
        )


def _rises(before: float | None, after: float | None) -> bool:
    """False if one of the numbers does not exist."""
    return before is not None and after is not None and after > before


def _changes(study: LisaStudy, model: ModelScores, padding: Padding) -> Iterator[tuple[Compared, Compared]]:
    """Greedy matching and recursive assignment as published, if both were measured."""
    before, after = (study.compare(model, study.main, algorithm, padding) for algorithm in (GREEDY, PUBLISHED))
    if before is not None and after is not None:
        yield before, after


def _unmatched(study: LisaStudy, model: ModelScores, padding: Padding) -> str:
    """Where the recursive assignment's lower scores come from."""
    key = Key(study.main, POSITIVE, PUBLISHED, padding)
    recursive, greedy = (model.scores[used].mean(axis=0) for used in (key, key._replace(algorithm=GREEDY)))
    changes = f" Precision {moved(greedy[0], recursive[0])}, recall {moved(greedy[1], recursive[1])}."
    if padding == PLAIN:
        return changes
    good, bad = _parts(model, key)
    return (
        f"{changes} A row that no column chose counts 0: of both sides' tokens these are "
        f"{percent(good['pad_unmatched'])} of the pads and {percent(good['text_unmatched'])} of the text in true "
        f"pairs, {percent(bad['pad_unmatched'])} and {percent(bad['text_unmatched'])} in negatives."
    )


def _added(model: ModelScores, key: Key) -> tuple[float, float]:
    """How much tokens of the text, and pads, add to the distance of true pairs from negatives."""
    sums = []
    for pairing in (POSITIVE, NEGATIVE):
        parts = dict(zip(PARTS, model.parts[key._replace(pairing=pairing)].T, strict=True))
        share = parts["pad_share"]
        sums.append([float(((1 - share) * parts["text_value"]).mean()), float((share * parts["pad_value"]).mean())])
    return sums[0][0] - sums[1][0], sums[0][1] - sums[1][1]


def _parts(model: ModelScores, key: Key) -> list[dict[str, float]]:
    """The means of `PARTS`, in true pairs and in negatives."""
    means = (model.parts[key._replace(pairing=pairing)].mean(axis=0) for pairing in (POSITIVE, NEGATIVE))
    return [dict(zip(PARTS, values.tolist(), strict=True)) for values in means]
