"""Do scores and signatures stay what they were? Many specs over the same rows, written to a file and compared.

    python benchmarks/spec_table.py write BEFORE.json       with the code as it was
    python benchmarks/spec_table.py write AFTER.json        with the code as it is now
    python benchmarks/spec_table.py compare BEFORE.json AFTER.json

Values are compared to the last bit; what differs is printed with its largest difference.
"""

from __future__ import annotations

import itertools
import json
import sys

import evalign
from evalign.testing.trial import make_text

METHODS = ("exact", "row-mask", "recursive-argmax", "recursive-topk", "auction-topk", "auction")
SOLVERS = ("exact", "sinkhorn", "partial", "unbalanced")
ROUGE = (*(f"rouge{n}" for n in range(1, 10)), "rougeL", "rougeLsum", "rougeMEAD", "rougeW", "rougeS", "rougeSU")
ENCODERS = ("model=fake", "model=fake, layer=1+3", "layer=4", "specials=drop", "model=fake, idf=references")


def specs() -> list[str]:
    listed = [f"bertscore({options})" for options in ENCODERS]
    listed += [f"bertscore({options}, multiref={rule})" for options in ENCODERS for rule in ("mean", "per-field-max")]
    listed += ["bertscore", "bertscore(rescale=true)", "bertscore(rescale=true, scale=percentile)"]
    listed += [f"bertscore({options}, matching={name})" for options in ENCODERS[:3] for name in ("greedy", *METHODS)]
    listed += [f"lisascore({options}, method={name})" for options in ENCODERS for name in METHODS]
    listed += [f"lisascore(model=fake, method={name}, strict=true)" for name in METHODS]
    listed += [f"lisascore(model=fake, idf=references, objective=weighted, method={name})" for name in METHODS[:5]]
    listed += [f"lisascore(model=fake, denominator={kind})" for kind in ("min", "max")]
    listed += [f"lisascore(model=fake, method={name}, preset=authors)" for name in METHODS[2:5]]
    listed += ["lisascore(model=fake, method=recursive-argmax, preset=authors-as-published)"]
    listed += [f"moverscore({options}, transport={name})" for options in ENCODERS for name in SOLVERS]
    listed += [f"moverscore(model=fake, ngram={size}, stopwords=drop)" for size in (1, 2, 3)]
    listed += ["moverscore(model=fake, cost=cosine, form=one-minus)", "moverscore(subwords=drop, punctuation=drop)"]
    listed += [f"sbert({options}, pooling={kind})" for options in ENCODERS[:3] for kind in ("mean", "cls", "max")]
    listed += [f"endtoken({options}, token={kind})" for options in ENCODERS[:3] for kind in ("eot", "cls")]
    listed += [f"{name}{options}" for name, options in itertools.product(ROUGE, ("", "(mode=rouge155, stem=true)"))]
    listed += [
        "rouge1(tokens=ascii)",
        "rougeL(tokens=ascii)",
        "bleu",
        "bleu(tokenize=intl)",
        "chrf",
        "chrf(word_order=2)",
    ]
    listed += [
        f"{name}({options})" for name in ROUGE[:2] + ROUGE[9:] for options in ("stem=true", "stopwords=true", "words=5")
    ]
    listed += ["bertscore(overlong=truncate, max_length=16)", "bertscore(overlong=window, max_length=16)"]
    listed += ["bleu(effective_order=false)", "bleu(lowercase=true)", "chrf(beta=1)", "ter(normalized=true)"]
    listed += ["evalign(overlong=truncate)", "lisascore(rescale=true)", "lisascore(method=auction, eps=0.1)"]
    listed += ["ter", "sari", "fkgl", "smog", "meteor", "meteor(task=adq)", "meteor(language=de)", "evalign"]
    return list(dict.fromkeys(spec for spec in listed if not ("rougeMEAD(mode" in spec or "rougeLsum(mode" in spec)))


def rows() -> dict[str, list]:
    candidates = [make_text(2 + 5 * (place % 8), place) for place in range(18)] + ["", "the the cat the cat the the"]
    references = [[make_text(3 + 4 * ((3 * place) % 9), 100 + place + extra) for extra in range(1 + place % 3)]
                  for place in range(18)] + [["a text"], ["the cat the cat", "cat the"]]  # fmt: skip
    return {"candidates": candidates, "references": references, "sources": [make_text(20, 300 + i) for i in range(20)]}


def table() -> dict[str, dict]:
    texts = rows()
    results = {}
    for spec in specs():
        try:
            metric = evalign.metric(spec)
            report = metric.score(**texts)
        except evalign.EvalignError as error:
            results[spec] = {"error": str(error)}
            continue
        scores = {field: report[field].tolist() for field in metric.fields}
        results[spec] = {"metric": str(metric), "signature": report.signature, "flags": report.flags, "scores": scores}
    return results


def compare(before: dict, after: dict) -> int:
    different = 0
    for spec in before.keys() | after.keys():
        old, new = before.get(spec, {}), after.get(spec, {})
        if old == new:
            continue
        different += 1
        apart = [
            max(abs(a - b) for a, b in zip(values, new["scores"][field], strict=True))
            for field, values in old.get("scores", {}).items()
            if "scores" in new
        ]
        words = {key: (old.get(key), new.get(key)) for key in ("metric", "signature", "flags", "error")}
        said = {key: pair for key, pair in words.items() if pair[0] != pair[1]}
        print(f"{spec}: largest difference {max(apart, default=float('nan')):.1e} {said or ''}")
    print(f"{len(before)} specs, {different} differ")
    return different


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["write", path]:
            with open(path, "w", encoding="utf-8") as stream:
                json.dump(table(), stream)
        case ["compare", first, second]:
            with open(first, encoding="utf-8") as before, open(second, encoding="utf-8") as after:
                sys.exit(compare(json.load(before), json.load(after)) > 0)
        case _:
            sys.exit(__doc__)
