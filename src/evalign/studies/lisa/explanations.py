"""Why padding and recursive assignment move the scores of true pairs and negatives: sentences from measured numbers.

In: a `LisaStudy`. Out: what pads that weigh 1 do under greedy matching (Fig. 6), what the recursive assignment as
published changes against that (Fig. 7), and in which direction over all models and widths.
"""

from __future__ import annotations

from collections.abc import Iterator

from evalign.stats.effect import Separation
from evalign.studies.lisa.matchings import GREEDY, PUBLISHED
from evalign.studies.lisa.measured import LisaStudy
from evalign.studies.lisa.model_scores import NEGATIVE, POSITIVE, Key, ModelScores
from evalign.studies.lisa.padding import PARTS, PLAIN, Setting
from evalign.studies.wording import moved, number, percent

Change = tuple[tuple[tuple[float, float], tuple[float, float]], tuple[Separation, Separation]]


def what_pads_do(study: LisaStudy, model: ModelScores) -> Iterator[str]:
    """What unmasked pads with weight 1 do to greedy scores, from what text and padding tokens got."""
    plain = study.both(model, study.main, GREEDY, PLAIN)
    for setting in study.paper_settings[1:]:
        padded = study.both(model, study.main, GREEDY, setting)
        if plain is None or padded is None:
            continue
        good, bad = (_parts(model, study.main, pairing, GREEDY, setting) for pairing in (POSITIVE, NEGATIVE))
        means = [(float(before.mean()), float(after.mean())) for before, after in zip(plain, padded, strict=True)]
        gaps = means[0][0] - means[1][0], means[0][1] - means[1][1]
        text, pads = (_added(model, study.main, setting, part) for part in ("text_value", "pad_value"))
        share = good["pad_share"]
        yield (
            f"{study.names[model.model]}, {setting}: the mean of the true pairs {moved(*means[0])}, that of the "
            f"negatives {moved(*means[1])}, and the difference between them {moved(*gaps)}. Why: {percent(share)} of "
            f"what is averaged are pads, and a pad finds a partner of mean similarity {number(good['pad_value'])} in "
            f"true pairs and {number(bad['pad_value'])} in negatives, a text token {number(good['text_value'])} and "
            f"{number(bad['text_value'])}. The mean of precision and recall differs by {number(text + pads)}: pads "
            f"make {number(pads)} of that, and the text {number(text)}, for it has only {percent(1 - share)} of the "
            f"weight. {percent(good['text_to_pad'])} of the text tokens of true pairs and "
            f"{percent(bad['text_to_pad'])} of those of negatives are matched with a pad."
        )


def against_greedy(study: LisaStudy, model: ModelScores) -> Iterator[str]:
    """What the recursive assignment changes against greedy matching, in the same setting."""
    for setting in study.paper_settings:
        change = _change(study, model, setting)
        if change is None:
            continue
        (good, bad), (before, after) = change
        sentence = (
            f"{study.names[model.model]}, {setting}: from greedy to recursive assignment as published the mean of the "
            f"true pairs {moved(*good)} and that of the negatives {moved(*bad)}; the difference "
            f"{moved(before.difference, after.difference)}"
        )
        if before.ratio is not None and after.ratio is not None:
            sentence += f", the ratio {moved(before.ratio, after.ratio)}"
        if before.cohens_d is not None and after.cohens_d is not None:
            sentence += f", Cohen's d {moved(before.cohens_d, after.cohens_d)}"
        yield f"{sentence}, AUC {moved(before.auc, after.auc)}.{_left_alone(study, model, setting)}"


def direction(study: LisaStudy) -> Iterator[str]:
    """The direction of the paper's comparison, counted over models and widths in its own setting."""
    found = [
        change
        for model in study.models
        for setting in study.paper_settings[1:]
        if (change := _change(study, model, setting)) is not None
    ]
    if not found:
        return
    counts = {
        "both means fall": sum(good[1] < good[0] and bad[1] < bad[0] for (good, bad), _ in found),
        "the ratio of the means rises": sum(_rises(b.ratio, a.ratio) for _, (b, a) in found),
        "the difference rises": sum(a.difference > b.difference for _, (b, a) in found),
        "Cohen's d rises": sum(_rises(b.cohens_d, a.cohens_d) for _, (b, a) in found),
        "AUC rises": sum(a.auc > b.auc for _, (b, a) in found),
    }
    told = ", ".join(f"{what} in {count}" for what, count in counts.items())
    yield (
        "In the paper's setting (pads unmasked, weight 1), going from greedy matching (Fig. 6) to the recursive "
        f"assignment (Fig. 7), of {len(found)} combinations of model and width: {told}."
    )
    alone = sum(_rises(b.ratio, a.ratio) and not a.auc > b.auc for _, (b, a) in found)
    if alone:
        yield (
            f"In {alone} of them the ratio rises although AUC does not: a larger ratio of smaller means does not make "
            "true pairs easier to tell from false ones."
        )


def _rises(before: float | None, after: float | None) -> bool:
    """Nothing can be said to rise from or to a number that does not exist."""
    return before is not None and after is not None and after > before


def _change(study: LisaStudy, model: ModelScores, setting: Setting) -> Change | None:
    """Greedy against recursive as published: means of positives and negatives, and separations, before and after."""
    pairs = [study.both(model, study.main, algorithm, setting) for algorithm in (GREEDY, PUBLISHED)]
    first, second = (study.apart(model, study.main, algorithm, setting) for algorithm in (GREEDY, PUBLISHED))
    if pairs[0] is None or pairs[1] is None or first is None or second is None:
        return None
    good, bad = ((float(pairs[0][side].mean()), float(pairs[1][side].mean())) for side in (0, 1))
    return (good, bad), (first, second)


def _left_alone(study: LisaStudy, model: ModelScores, setting: Setting) -> str:
    """Where the recursive assignment's lower scores come from."""
    key = Key(study.main, POSITIVE, GREEDY, setting)
    greedy, recursive = (model.scores[one].mean(axis=0) for one in (key, key._replace(algorithm=PUBLISHED)))
    said = f" Precision {moved(greedy[0], recursive[0])}, recall {moved(greedy[1], recursive[1])}."
    if setting == PLAIN:
        return said
    good, bad = (_parts(model, study.main, pairing, PUBLISHED, setting) for pairing in (POSITIVE, NEGATIVE))
    return (
        f"{said} A row that no column chose counts 0: of both sides' tokens these are {percent(good['pad_unmatched'])} "
        f"of the pads and {percent(good['text_unmatched'])} of the text in true pairs, {percent(bad['pad_unmatched'])} "
        f"and {percent(bad['text_unmatched'])} in negatives."
    )


def _added(model: ModelScores, kind: str, setting: Setting, part: str) -> float:
    """What tokens of the text, or pads, add to the distance of true pairs from negatives, pair by pair."""
    sums = []
    for pairing in (POSITIVE, NEGATIVE):
        found = dict(zip(PARTS, model.parts[Key(kind, pairing, GREEDY, setting)].T, strict=True))
        weight = found["pad_share"] if part == "pad_value" else 1 - found["pad_share"]
        sums.append(float((weight * found[part]).mean()))
    return sums[0] - sums[1]


def _parts(model: ModelScores, kind: str, pairing: str, algorithm: str, setting: Setting) -> dict[str, float]:
    means = model.parts[Key(kind, pairing, algorithm, setting)].mean(axis=0)
    return dict(zip(PARTS, means.tolist(), strict=True))
