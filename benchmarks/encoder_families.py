"""Which encoder families are right, and which are refused: every architecture that transformers builds, tiny.

    python benchmarks/encoder_families.py > docs/encoders.md

Each is compared with transformers run on one text at a time: every layer, texts of many lengths in one batch.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import torch
import transformers

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import tiny_architectures
from evalign.encoders.families import FAMILIES

INTRODUCTION = """# Encoder families

Any model that `transformers` loads can be an encoder: `model=DIRECTORY`. A family is either right, or refused with a
sentence; nothing is scored silently with another model.

- **Right** means: every layer of every text equals transformers run on that text alone, to 1e-5 of a unit vector,
  whatever else is in the batch.
- The families marked *ort* run without torch; the others need the extra `torch`.
- Where padding changes a family's vectors (convolutions, Fourier mixing, block-sparse attention), a batch holds texts
  of *one length* only, in training too. That is found out when the model is loaded, so it holds for families that are
  not listed too.
- Weights that the file holds and transformers has no place for (BERT with `position_embedding_type=relative_key`, whose
  distance embeddings transformers 5 drops), and weights that are missing, are errors; heads such as `cls`, `lm_head`
  and poolers are no part of the encoder.
- Models that read speech or pictures beside text are not listed; of CLIP and its kin the text half is used.
"""


def main() -> None:
    """Writes the page; on stderr, what was not built."""
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    rows, right = [], 0
    for model_type in tiny_architectures.model_types():
        with tempfile.TemporaryDirectory() as folder:
            directory = tiny_architectures.build(model_type, Path(folder) / model_type)
            if directory is None:
                print(f"{model_type}: not built", file=sys.stderr)
                continue
            verdict = tiny_architectures.verdict(directory)
        right += verdict.kind == "right"
        batches = "one length" if verdict.one_length else "any"
        told = verdict.sentence if verdict.kind == "refused" else f"{verdict.difference:.0e}"
        rows.append(
            f"| {model_type} | {'ort' if model_type in FAMILIES else 'torch'} | {verdict.kind} "
            f"| {batches if verdict.kind == 'right' else ''} | {told} |"
        )
    print(INTRODUCTION)
    print(f"Measured with transformers {transformers.__version__} on {len(rows)} tiny random models, {right} right and")
    print(f"{len(rows) - right} refused (`python benchmarks/encoder_families.py`).\n")
    print("| model_type | backend | verdict | batches | largest difference, or the sentence |\n|---|---|---|---|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
