"""The words and tables of docs/metrics.md, from measured numbers alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from guide_advice import Advice
from guide_agreement import SAMPLES, Draws
from guide_data import LAYER, SETS, TRAINED, Sample, mark

from evalign.analysis.audit_measurements import CHANGES as AUDIT_CHANGES

CHANGES: dict[str, Callable[[str], str]] = {
    "no stop words": AUDIT_CHANGES["function words"].apply,
    "longer": AUDIT_CHANGES["padding"].apply,
    "repeated": AUDIT_CHANGES["repetition"].apply,
    "shuffled": AUDIT_CHANGES["shuffling"].apply,
    "first half": AUDIT_CHANGES["truncation"].apply,
}


@dataclass(frozen=True, eq=False)
class Measured:
    """Everything that the page is made of."""

    samples: dict[str, Sample]
    agreements: dict[str, dict[str, Draws]]  # spec -> data set
    rows: dict[str, dict[str, int]]  # spec -> data set -> rows scored
    advice: list[Advice]
    rouge: list[str]
    costs: dict[str, dict]
    behaviours: dict[str, dict[str, float]]
    bartscore: str  # the model's name, or nothing
    note: str = ""  # a sentence on how this run was made


def page(measured: Measured) -> str:
    parts = [
        "# Which metric",
        "Every number on this page was measured by `python benchmarks/metrics_guide.py`, which writes the page: "
        f"{_rows(measured)}. 95 % intervals from {SAMPLES.samples} resamples of documents (rows that share a "
        f"reference). {measured.note} Your own metric on your own data: [`evalign audit`](audit.md).",
        "## Advice, from the numbers below",
        "All metrics of a task are compared on the rows that all of them scored, so values may differ from those "
        "below. A metric is told apart from another if the interval of their difference, on the same rows and the same "
        "resamples, leaves out 0; the intervals are not corrected for the number of metrics, so of twenty metrics that "
        f"are as good, one will be called worse by chance. Numbers marked {TRAINED} count for nothing here: their "
        "ratings took part in making the metric. For less: at least a fifth less processor time, and the rounds of "
        "measurement do not overlap.",
        advice_table(measured.advice),
        _trained(measured.advice),
        "**ROUGE's variants.** " + " ".join(measured.rouge),
        "**What these data cannot say.** There are no multi-document summaries and no rated simplifications among "
        "them: for simplification report SARI beside the metric of the short sentences, since only SARI looks at the "
        "source. MiniLM and MPNet are English models; on German they know words, names and cognates, and a "
        f"multilingual model is the better choice there. {_bartscore(measured)}",
        "## Agreement with people",
        "Mean Pearson over language pairs (WMT15, WMT16, and rows of WMT21 with two ratings or more), "
        "Kendall-like tau on better/worse pairs (WMT19 kk-en), Pearson with MQM (TED21) and with similarity ratings "
        "(STS-B), Spearman per document (SummEval: 11 references, mean over four aspects; REALSumm: one reference, "
        "LitePyramid's recall). A dash: not scored, to keep the run short. WMT21's ratings are those of one or a few "
        "people each: no advice rests on them. LitePyramid counts what of the reference is said, which favours metrics "
        "that weigh recall, as METEOR and chrF do.",
        f"**Marks.** {LAYER} the default layer was chosen on these ratings. {TRAINED} the weights were fitted to these "
        "ratings (`evalign`: its adapters; agreement on data sets left out of their training is in "
        "[evalign](recipe.md); `learned`: every layer of `bertscore` and `sbert`, "
        "chrF and the ratio of lengths, trained on the WMT15 rows here; `lstm`: trained on the STS-B rows here, whose "
        "German pairs have the same ratings, and its settings were chosen on them). No mark: these ratings took part "
        "in no choice made here. TED21 zh-en are translations of the talks of TED21 en-de, rated by others. What the "
        "authors of a metric or an encoder looked at is not known here and not marked.",
        agreement_table(measured),
        "## Cost",
        "Processor time per pair in a process of its own, one thread, model and tables loaded, nothing remembered: the "
        "middle of five rounds, lowest and highest in brackets; peak memory of that process; k of time ~ n^k between "
        "texts of 200 and 800 words (`ter`: 100 and 400).",
        cost_table(measured),
        "## Behaviour",
        "How far the mean score of 50 translations moves when the candidate is changed, in standard deviations of the "
        "untouched scores; minus is down. A metric that does not see shuffled words cannot judge word order; one that "
        "forgives repetition can be gamed.",
        behaviour_table(measured),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def advice_table(advice: list[Advice]) -> str:
    lines = [
        "| task | agrees best | not told apart from it | of these, for less | best without a model |",
        "|---" * 5 + "|",
    ]
    for one in advice:
        best = f"`{one.best}` {_interval(one.agreement)}"
        equal = ", ".join(f"`{spec}`" for spec in one.equal) or "none: it is better than every other one scored"
        if len(one.equal) == len(one.below):
            best, equal = f"no metric is told apart from the highest, {best}", "all others"
        cheaper = ", ".join(f"`{spec}`" for spec in one.cheaper[:3]) or "none"
        lexical = one.best_lexical
        behind = "it is the best" if lexical == one.best else f"`{lexical}`, behind by {_interval(one.below[lexical])}"
        lines.append(f"| {one.task} | {best} | {equal} | {cheaper} | {behind} |")
    return "\n".join(lines)


def agreement_table(measured: Measured) -> str:
    lines = ["| metric | " + " | ".join(SETS.values()) + " |", "|---" * (len(SETS) + 1) + "|"]
    for spec, found in measured.agreements.items():
        cells = [f"{_interval(found[name])}{mark(spec, name)}" if name in found else "-" for name in SETS]
        lines.append(f"| `{spec}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def cost_table(measured: Measured) -> str:
    lines = ["| metric | ms per MT segment | ms per summary | peak MB | k |", "|---|---|---|---|---|"]
    for spec in measured.agreements:
        cells = ["-"] * 4
        if cost := measured.costs.get(spec):
            spent = [_spread(*cost[kind]) for kind in ("segment", "summary")]
            cells = [*spent, f"{cost['peak_mb']:.0f}", f"{cost['exponent']:.1f}"]
        lines.append(f"| `{spec}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def behaviour_table(measured: Measured) -> str:
    lines = ["| metric | " + " | ".join(CHANGES) + " |", "|---" * (len(CHANGES) + 1) + "|"]
    for spec in measured.agreements:
        shifts = measured.behaviours.get(spec)
        cells = [f"{shifts[name]:+.2f}" for name in CHANGES] if shifts else ["-"] * len(CHANGES)
        lines.append(f"| `{spec}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def _rows(measured: Measured) -> str:
    """How many rows of each data set; metrics that were scored on fewer are said."""
    most = {name: max(by_set.get(name, 0) for by_set in measured.rows.values()) for name in SETS}
    told = ", ".join(f"{title} {most[name]}" for name, title in SETS.items())
    fewer = [
        spec
        for spec, by_set in measured.rows.items()
        if any(by_set.get(name, most[name]) < most[name] for name in SETS)
    ]
    if not fewer:
        return f"rows drawn by whole documents ({told})"
    part = measured.rows[fewer[0]]
    less = ", ".join(f"{title} {part[name]}" for name, title in SETS.items() if name in part)
    return (
        f"rows drawn by whole documents ({told}), of which {', '.join(f'`{spec}`' for spec in fewer)}, which take "
        f"longest, were scored on a part ({less})"
    )


def _trained(advice: list[Advice]) -> str:
    told = [f"{one.task}: {', '.join(f'`{spec}`' for spec in one.left_out)}" for one in advice if one.left_out]
    return f"Left out of the advice, since trained on those ratings: {'; '.join(told)}." if told else ""


def _bartscore(measured: Measured) -> str:
    if measured.bartscore:
        return f"`bartscore` is {measured.bartscore}'s; other models give other numbers."
    return (
        "`bartscore` has no row: no sequence-to-sequence model of English was at hand; "
        "`--bartscore DIR` adds one ([bartscore](bartscore.md))."
    )


def _interval(drawn: Draws) -> str:
    low, high = drawn.ends
    return f"{drawn.value:.3f} [{low:.3f}, {high:.3f}]"


def _spread(low: float, middle: float, high: float) -> str:
    return f"{middle:.3g} [{low:.3g}, {high:.3g}]"
