"""The words and tables of docs/metrics.md, from measured numbers alone."""

from __future__ import annotations

from collections.abc import Callable

from attacks import ATTACKS
from evalign.stats.estimate import Estimate
from evalign.text.stopwords import ENGLISH

CHANGES: dict[str, Callable[[str], str]] = {
    "no stop words": lambda text: " ".join(word for word in text.split() if word.lower() not in ENGLISH) or text,
    "longer": ATTACKS["padding"][1],
    "repeated": ATTACKS["repetition"][1],
    "shuffled": ATTACKS["shuffling"][1],
    "first half": ATTACKS["truncation"][1],
}
TASKS = {
    "Machine translation into English": ("wmt15_daseg", "wmt16_daseg"),
    "Machine translation into German": ("ted21_ende_mqm",),
    "Summaries of one document, several references": ("summeval",),
    "Short sentences: simplification, paraphrase, headlines": ("stsb_en_dev",),
    "German sentences": ("stsb_de_dev",),
}
CLOSE = 0.02  # agreement within which the cheaper metric is the better advice


def page(
    sets: dict[str, str],
    agreements: dict[str, dict[str, Estimate]],
    costs: dict[str, dict],
    behaviours: dict[str, dict[str, float]],
) -> str:
    parts = [
        "# Which metric",
        "Every number on this page was measured by `python benchmarks/metrics_guide.py`, which writes the page.",
        "## Advice, from the numbers below",
        advice(agreements, costs),
        "What these data cannot say: there are no multi-document summaries and no rated simplifications among them. "
        "For multi-document summaries nothing here supports one metric over another beyond the SummEval column; for "
        "simplification report SARI beside the metric of the short sentences, since only SARI looks at the source. "
        "ROUGE's variants differ less from each other than from the rest: ROUGE-1 and ROUGE-L are enough. MiniLM and "
        "MPNet are English models; on German they know words, names and cognates, and a multilingual model is the "
        "better choice there.",
        "## Agreement with people",
        "Mean Pearson over language pairs (WMT15, WMT16), Kendall-like tau on better/worse pairs (WMT19 kk-en), "
        "Pearson with MQM (TED21) and with similarity ratings (STS-B), mean over four aspects of Spearman per document "
        "(SummEval, 11 references). 95 % intervals from 500 resamples. A dash: not scored; it takes hours.",
        agreement_table(sets, agreements),
        "## Cost",
        "Processor time per pair in a process of its own, one thread, model and tables loaded; peak memory of that "
        "process; k of time ~ n^k between texts of 200 and 800 words (`ter`: 100 and 400).",
        cost_table(costs),
        "## Behaviour",
        "How far the mean score of 100 translations moves when the candidate is changed, in standard deviations of the "
        "untouched scores; minus is down. A metric that does not see shuffled words cannot judge word order; one that "
        "forgives repetition can be gamed.",
        behaviour_table(behaviours),
    ]
    return "\n\n".join(parts) + "\n"


def advice(agreements: dict[str, dict[str, Estimate]], costs: dict[str, dict]) -> str:
    lines = ["| task | agrees best | as good for less |", "|---|---|---|"]
    for task, names in TASKS.items():
        known = {
            spec: sum(found[name].value or 0 for name in names) / len(names)
            for spec, found in agreements.items()
            if all(name in found for name in names)
        }
        best = max(known, key=lambda spec: known[spec])
        near = [spec for spec in known if known[spec] >= known[best] - CLOSE]
        cheap = min(near, key=lambda spec: costs[spec]["segment_ms"])
        lexical = max((spec for spec in known if costs[spec]["peak_mb"] < 150), key=lambda s: known[s], default=best)
        other = f"`{cheap}` ({known[cheap]:.3f})" if cheap != best else "-"
        lines.append(
            f"| {task} | `{best}` ({known[best]:.3f}) | {other}; best without a model: "
            f"`{lexical}` ({known[lexical]:.3f}) |"
        )
    return "\n".join(lines)


def agreement_table(sets: dict[str, str], agreements: dict[str, dict[str, Estimate]]) -> str:
    lines = ["| metric | " + " | ".join(sets.values()) + " |", "|---" * (len(sets) + 1) + "|"]
    for spec, found in agreements.items():
        cells = [_interval(found[name]) if name in found else "-" for name in sets]
        lines.append(f"| `{spec}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def cost_table(costs: dict[str, dict]) -> str:
    lines = ["| metric | ms per MT segment | ms per summary | peak MB | k |", "|---|---|---|---|---|"]
    for spec, cost in costs.items():
        lines.append(
            f"| `{spec}` | {cost['segment_ms']:.2f} | {cost['summary_ms']:.2f} | {cost['peak_mb']:.0f} | "
            f"{cost['exponent']:.1f} |"
        )
    return "\n".join(lines)


def behaviour_table(behaviours: dict[str, dict[str, float]]) -> str:
    lines = ["| metric | " + " | ".join(CHANGES) + " |", "|---" * (len(CHANGES) + 1) + "|"]
    for spec, shifts in behaviours.items():
        lines.append(f"| `{spec}` | " + " | ".join(f"{shifts[name]:+.2f}" for name in CHANGES) + " |")
    return "\n".join(lines)


def _interval(estimate: Estimate) -> str:
    if estimate.value is None:
        return "-"
    ends = "" if estimate.low is None or estimate.high is None else f" [{estimate.low:.3f}, {estimate.high:.3f}]"
    return f"{estimate.value:.3f}{ends}"
