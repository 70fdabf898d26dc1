"""`evalign.score`: bert_score's own function, order of arguments and numbers, with arrays for tensors.

One `BERTScorer` for one call; docs/compat.md lists what differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

from evalign.metrics.bert_scorer import BERTScorer, References, ScoreHash, Triple


@overload
def score(
    cands: Sequence[str], refs: References, *options: Any, return_hash: Literal[True], **more: Any
) -> tuple[Triple, ScoreHash]: ...
@overload
def score(
    cands: Sequence[str], refs: References, *options: Any, return_hash: Literal[False] = False, **more: Any
) -> Triple: ...
def score(  # type: ignore[misc]  # the overloads say what comes back; the options stand here, in bert_score's order
    cands: Sequence[str],
    refs: References,
    model_type: str | None = None,
    num_layers: int | None = None,
    verbose: bool = False,
    idf: bool | Mapping[int, float] = False,
    device: str | None = None,
    batch_size: int = 64,
    nthreads: int = 4,
    all_layers: bool = False,
    lang: str | None = None,
    return_hash: bool = False,
    rescale_with_baseline: bool = False,
    baseline_path: str | None = None,
    use_fast_tokenizer: bool = False,
) -> Triple | tuple[Triple, ScoreHash]:
    """Precision, recall and F1 per pair, (layers, pairs) with `all_layers`; with bert_score's hash on request.

    The hash is its string, and has our signature as `.signature`. `verbose`, `batch_size` and `nthreads` are accepted
    and change nothing: batches are planned by tokens, and no score depends on them. `device=None` is the cpu.
    """
    scorer = BERTScorer(
        model_type,
        num_layers,
        all_layers=all_layers,
        idf=idf,
        device=device,
        lang=lang,
        rescale_with_baseline=rescale_with_baseline,
        baseline_path=baseline_path,
        use_fast_tokenizer=use_fast_tokenizer,
    )
    own_idf = bool(idf) and not isinstance(idf, Mapping)
    return (scorer.score_with_own_idf if own_idf else scorer.score)(cands, refs, return_hash=return_hash)
