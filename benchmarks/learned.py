"""What a learned metric gains: trained on WMT15, judged on WMT16 and on summaries, for docs/learned.md.

    python benchmarks/learned.py minilm mpnet --grid build/grid --write docs/learned.md

Features come from the scores of agreement_grid.py where they are there, else they are made (and kept in --grid): MiniLM
needs half an hour for all, MPNet some hours. The single metrics it is compared with are its own features, and the best
of them is chosen on the rows it is judged on, which favours it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import rated

from evalign.io.files import whole_file
from evalign.metrics.token_metric import TokenMetric
from evalign.research.learned.combine import Combination, Combined, compute_features, expand_features, train
from evalign.research.learned.features import Feature, FeatureScorer
from evalign.stats.bootstrap import Resampling
from evalign.stats.levels import Rated, agreement, agreement_draws
from evalign.training.layers import RatedRows

SAMPLES = Resampling(samples=1000)
MARKER = "<!-- made by benchmarks/learned.py -->"
TRAINED, JUDGED, OTHER_KIND = "wmt15_daseg", "wmt16_daseg", "summeval"
LEXICAL = ["chrf", "chrf(word_order=2)", "bleu", "rouge1", "rouge2", "rougeL", "length-ratio"]
Draws = tuple[float, np.ndarray]


def feature_specs(model: str) -> list[str]:
    """Every layer's P, R and F, greedy with and without special tokens, assigned, pooled; and lexical metrics."""
    token = [f"bertscore(model={model})", f"bertscore(model={model}, specials=drop)", f"lisascore(model={model})"]
    return [*(f"layers({spec})" for spec in [*token, f"sbert(model={model})"]), *LEXICAL]


def look(name: str, model: str, features: list[Feature], data: Path, grid: Path) -> tuple[np.ndarray, np.ndarray]:
    """(rows, features) of a data set, and which of its rows they are."""
    rows = rated.load(name, data).rows
    known, kept = from_grid(grid / f"{model}.{name}.npz", features, len(rows), [row.id for row in rows])
    missing = [one for one in features if one not in known]
    file = grid / f"learned.{model}.{name}.npz"
    columns = dict(np.load(file)) if file.exists() else {}
    if missing := [one for one in missing if str(one) not in columns]:
        done = 0

        def advance(count: int) -> None:
            nonlocal done
            done += count
            print(f"\r{name} {done}/{len(rows)}", end="", file=sys.stderr)

        made, _ = compute_features(FeatureScorer(missing), rows, advance)
        columns |= {str(one): made[:, place] for place, one in enumerate(missing)}
        grid.mkdir(parents=True, exist_ok=True)
        with whole_file(file, binary=True) as stream:
            np.savez_compressed(stream, **columns)
    return np.stack([known[one] if one in known else columns[str(one)][kept] for one in features], axis=1), kept


def from_grid(file: Path, features: list[Feature], count: int, ids: list[str]) -> tuple[dict, np.ndarray]:
    """The features that agreement_grid.py scored, and the rows it scored them on."""
    if not file.exists():
        return {}, np.arange(count)
    arrays = dict(np.load(file))
    scored = set(arrays["ids"].tolist()) if "ids" in arrays else set(ids)
    kept = np.array([place for place, name in enumerate(ids) if name in scored])
    found = {}
    for one in features:
        if isinstance(one.metric, TokenMetric):
            plain = str(type(one.metric)(model=one.metric.model, specials=one.metric.specials))
            choices = arrays.get(f"choices of {plain}", np.array([])).tolist()
            if one.metric.layer in choices:
                scores = arrays[plain][choices.index(one.metric.layer)]
                found[one] = scores[:, one.metric.fields.index(one.field)].astype(np.float64)
    return found, kept


def draws(said: rated.Rated, kept: np.ndarray, scores: np.ndarray) -> dict[str, Draws]:
    """Mean Pearson over the pairs into English, en-ru; or per aspect of summaries, Spearman within documents."""
    groups, documents = said.groups[kept], said.documents[kept]
    if len(said.human) > 1:
        return {
            aspect: _draws(Rated(scores, human[kept], documents), "spearman", "summary", 0)
            for aspect, human in said.human.items()
        }
    human = said.human["human"][kept]
    by_group = {
        group: _draws(Rated(scores[part], human[part], documents[part]), "pearson", "segment", number)
        for number, group in enumerate(sorted(set(groups)))
        if (part := np.flatnonzero(groups == group)).size
    }
    into = [one for group, one in by_group.items() if group.endswith("-en")]
    mean = float(np.mean([value for value, _ in into])), np.mean([drawn for _, drawn in into], axis=0)
    return {"into English": mean, **by_group}


def _draws(one: Rated, statistic: str, level: str, stream: int) -> Draws:
    drawn = agreement_draws(one, statistic, level, SAMPLES.independent(stream))
    return float(agreement(one, statistic, level).value or 0), drawn


def tables(model: str, data: Path, grid: Path) -> str:
    features = expand_features(feature_specs(model))
    training = rated.load(TRAINED, data)
    values, kept = look(TRAINED, model, features, data, grid)
    rows = RatedRows(
        [training.rows[i] for i in kept], training.human["human"][kept], training.groups[kept].tolist(),
        training.documents[kept].tolist(),
    )  # fmt: skip
    made = train(rows, values, FeatureScorer(features), Combination())
    parts = [f"## {model}: {len(features)} features", _trained(made)]
    for name in (JUDGED, OTHER_KIND):
        said = rated.load(name, data)
        seen = [one for one in features if name == JUDGED or not _lacking(name, model, one, grid)]
        if len(seen) < len(features):  # the grid of large models has fewer layers for summaries
            places = [features.index(one) for one in seen]
            made = train(rows, values[:, places], FeatureScorer(seen), Combination())
        columns, rows_kept = look(name, model, seen, data, grid)
        learned = draws(said, rows_kept, made.file.predict(columns))
        singles = [draws(said, rows_kept, one.sign * columns[:, place]) for place, one in enumerate(seen)]
        lines = []
        for what, reached in learned.items():
            best = max(range(len(seen)), key=lambda place, what=what: singles[place][what][0])
            single = singles[best][what]
            gain = reached[0] - single[0], reached[1] - single[1]
            lines.append(f"| {what} | {_shown(reached)} | {_shown(single)} | `{seen[best]}` | {_shown(gain, True)} |")
        about = f"{name}, {len(rows_kept)} rows, {len(seen)} features"
        head = f"| {about} | learned on {TRAINED} | best single | which | difference |"
        parts.append("\n".join([head, "|---" * 5 + "|", *lines]))
    return "\n\n".join(parts)


def _lacking(name: str, model: str, one: Feature, grid: Path) -> bool:
    """Whether agreement_grid.py was told to leave this layer out."""
    file = grid / f"{model}.{name}.npz"
    if not file.exists() or not isinstance(one.metric, TokenMetric):
        return False
    found, _ = from_grid(file, [one], 0, [])
    return one not in found


def _trained(made: Combined) -> str:
    said = made.file.trained
    return (
        f"Trained on {said['rows']} rows of {TRAINED} ({said['documents']} sources, {said['folds']} folds, strength "
        f"{said['strength']:g}); on rows not seen there: error {made.held_out.rmse:.3f} on a scale of "
        f"{made.file.low:.2f} to {made.file.high:.2f}, Pearson {made.held_out.pearson:.3f}; the best single feature, "
        f"`{made.single_feature}`: error {made.single.rmse:.3f}, Pearson {made.single.pearson:.3f}."
    )


def _shown(drawn: Draws, sign: bool = False) -> str:
    low, high = np.nanquantile(drawn[1], [0.025, 0.975])
    plus = "+" if sign else ""
    return f"{drawn[0]:{plus}.3f} [{low:{plus}.3f}, {high:{plus}.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=["minilm"])
    parser.add_argument("--data", type=Path, default=rated.DATA, help="folder of the rated data sets")
    parser.add_argument("--grid", type=Path, default=Path("build/grid"))
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    text = "\n\n".join(tables(model, arguments.data, arguments.grid) for model in arguments.models)
    print(text)
    if arguments.write:
        head = arguments.write.read_text("utf-8").partition(MARKER)[0]
        arguments.write.write_text(f"{head}{MARKER}\n\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
