"""Distance of compat.bert_score and the metric bertscore from bert_score, by family, on tiny random models.

    python benchmarks/bert_score_families.py        prints the table of docs/compat.md

Layer 2 of 3, batches of one pair (no padding that could win), the tokenizer that transformers loads today. Families
marked * have their own tokenizer, the others BERT's: what is compared there is the model.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import bert_score
import numpy as np
import torch
import transformers

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import evalign
import tiny_architectures
import tiny_models
import tiny_torch_models
from evalign.compat import bert_score as compat

OWN = dict.fromkeys(tiny_models.FAMILIES, tiny_models.build_model)
OWN |= dict.fromkeys(("t5", "bart", "modernbert", "deberta-v2", "llama", "gpt2"), tiny_torch_models.build)
OTHERS = ("bert-generation", "big_bird", "convbert", "deberta", "led", "longformer", "m2m_100", "marian", "mbart",
          "megatron-bert", "mobilebert", "mt5", "pegasus", "rembert", "roberta-prelayernorm", "squeezebert", "xlm",
          "xlnet")  # fmt: skip
CANDIDATES = tiny_models.SENTENCES[:8]
REFERENCES = [tiny_models.SENTENCES[(place * 5 + 3) % 12] for place in range(8)]
LAYER = 2


@contextmanager
def safe_folder() -> Iterator[str]:
    """A temporary folder without "t5" in its name: bert_score would take whatever is in it for a T5."""
    with tempfile.TemporaryDirectory() as folder:
        if "t5" not in folder:
            yield folder
            return
    with safe_folder() as other:
        yield other


def their_scores(model: str, **options: bool) -> np.ndarray | str:
    """(fields, pairs), or the error that bert_score ends with."""
    try:
        fields = bert_score.score(
            CANDIDATES, REFERENCES, model, LAYER, nthreads=0, device="cpu", batch_size=1, **options
        )
    except Exception as error:  # whatever it raises is what is to be shown
        return type(error).__name__
    return np.stack([field.numpy() for field in fields])


def our_scores(model: str, **options: bool) -> np.ndarray:
    """The same from `compat.score`."""
    return np.stack(compat.score(CANDIDATES, REFERENCES, model, LAYER, **options))


def default_scores(model: str) -> np.ndarray:
    """The same from the metric with its default reading."""
    report = evalign.BERTScore(model=model, layer=LAYER).score(CANDIDATES, REFERENCES)
    return np.stack([report[field] for field in report.fields])


def main() -> None:
    """Prints the table."""
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    print("| family | `compat.score`, fast tokenizer | slow tokenizer | metric `bertscore` |\n|---|---|---|---|")
    for family in sorted((*OWN, *OTHERS)):
        with safe_folder() as folder:
            build = OWN.get(family, tiny_architectures.build)
            model = str(build(family, Path(folder) / f"tiny-{family}"))
            theirs = their_scores(model, use_fast_tokenizer=True)
            cells = [f"bert_score ends with {theirs}", "", ""]
            if not isinstance(theirs, str):
                others = our_scores(model, use_fast_tokenizer=True), our_scores(model), default_scores(model)
                cells = [f"{np.abs(other - theirs).max():.0e}" for other in others]
            print(f"| {family}{'*' if family in OWN else ''} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
