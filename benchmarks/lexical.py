"""All lexical benchmarks in one run: ROUGE, then BLEU, chrF and TER, then METEOR, each against its peers.

python benchmarks/lexical.py
"""

from __future__ import annotations

import lexical_meteor
import lexical_rouge
import lexical_sacrebleu


def main() -> None:
    for part in (lexical_rouge, lexical_sacrebleu, lexical_meteor):
        print(f"\n{part.__doc__.splitlines()[0]}\n", flush=True)
        part.main()


if __name__ == "__main__":
    main()
