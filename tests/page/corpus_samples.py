"""Corpus documents for the page's tests, made by the library itself, and a page that holds some modules only."""

import random

from evalign.analysis.comparison import compare_sources
from evalign.analysis.comparison_results import ComparisonPlan
from evalign.analysis.scoring import score_source
from evalign.core import Row
from evalign.core.registry import metric
from evalign.io.rows import InMemory
from evalign.render.documents import corpus_document, metric_entry, row_entry
from evalign.render.export import bundle
from evalign.stats.bootstrap import Resampling

TEXT = "the city library opened again on Saturday after three years of work and all of the people were glad"
WORDS = TEXT.split()


def synthetic_rows(count, systems=2, rated=False, seed=1):
    """Systems that keep fewer and fewer words of the reference, rated by people who see that, more or less."""
    draw = random.Random(seed)
    references = [" ".join(draw.choices(WORDS, k=draw.randint(5, 16))) for _ in range(count)]
    rows = []
    for system in range(systems):
        for number, reference in enumerate(references):
            kept = min(1.0, max(0.0, draw.gauss(0.95 - 0.1 * system, 0.12)))
            candidate = " ".join(word if draw.random() < kept else draw.choice(WORDS) for word in reference.split())
            human = round(100 * kept + draw.gauss(0, 12), 1) if rated else None
            rows.append(Row(f"s{number + 1}", candidate, (reference,), None, f"system {'ABCDEFGH'[system]}", human))
    return rows


def sample_document(rows, specs, problems=(), samples=100):
    """The document of rows as `evalign score` and `evalign compare` would have it."""
    metrics, segments = [metric(spec) for spec in specs], {}
    source = InMemory(rows)
    results = score_source(source, metrics, lambda result, one: segments.setdefault(result.metric, []).append(one))
    signatures = {result.metric: result.signature for result in results}
    entries = [metric_entry(m, signatures[str(m)]) for m in metrics]
    by_row = zip(*(segments[str(m)] for m in metrics), strict=True)
    comparison = None
    if samples and len({row.system for row in rows}) > 1:
        plan = ComparisonPlan(resampling=Resampling(samples=samples))
        comparison = compare_sources([source], metrics, plan).to_dict()
    made = [row_entry(row, some) for row, some in zip(rows, by_row, strict=True)]
    return corpus_document(entries, [one.to_dict() for one in results], made, list(problems), comparison)


def module_page(path, exports):
    """A file with modules and all they import; `exports` maps each module to the functions that are put on `window`."""
    shown = [f'window.{name} = $modules["{module}"].{name};' for module in exports for name in exports[module].split()]
    script = bundle(*exports) + "\n".join(shown)
    text = f"<!DOCTYPE html><meta charset=utf-8><title>t</title><script type=module>{script}</script>"
    path.write_text(text, encoding="utf-8")
    return path
