"""BARTScore: the log-probability of one text given the other, by an encoder-decoder or a causal language model.

    rows -> passages (source, target, by direction) -> log-probabilities of the target's tokens -> their mean

Scores are mean log-probabilities, at most 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from evalign.core import Row, Segment
from evalign.core.metric import Metric, Scorer
from evalign.core.options import execution_option, option
from evalign.core.spec import Signature
from evalign.encoders.likelihood import (
    MIN_LOG_PROB,
    POLICIES,
    TOKEN_BUDGET,
    Likelihood,
    LikelihoodModel,
    LikelihoodOptions,
    Passage,
    likelihood_content,
    open_likelihood,
)
from evalign.errors import LengthMismatchError, ModelNotFoundError, SpecError
from evalign.version import __version__

MODEL = "facebook/bart-large-cnn"
PRECISION, RECALL, FAITHFULNESS = "reference-to-candidate", "candidate-to-reference", "source-to-candidate"
DIRECTIONS = {"f": (PRECISION, RECALL), PRECISION: (PRECISION,), RECALL: (RECALL,), FAITHFULNESS: (FAITHFULNESS,)}
SIDES = ("source", "target")
CHECKPOINTS = (".pth", ".pt", ".ckpt", ".bin")  # weights without a configuration, such as BARTScore's own bart.pth
TEXT = "{text}"  # placeholder of the text in a prompt; without it the text is before (source) or after (target) it


@dataclass(frozen=True)
class BARTScore(Metric):
    """Mean log-probability of one text's tokens given another text."""

    name: ClassVar[str] = "bartscore"
    about: ClassVar[str] = "mean log-probability of one text given the other (Yuan et al. 2021)"
    bounds: ClassVar[tuple[float, float]] = (MIN_LOG_PROB, 0.0)
    worst: ClassVar[float] = MIN_LOG_PROB

    model: str = option(MODEL, "a directory or a hub name: an encoder-decoder or a causal language model")
    direction: str = option("f", "what predicts what; f is the mean of both ways", tuple(DIRECTIONS))
    multiref: str = option("mean", "how several references become one score", ("mean", "best"))
    prompt: str = option("", "words between source and target, or with {text} around one")
    prompt_side: str = option(
        "source", "whether the prompt is read with the source or predicted with the target", SIDES
    )
    lang: str = option("", "language of candidates and references, for models with language tokens")
    source_lang: str = option("", "language of the sources; empty: that of the candidates")
    overlong: str = option("truncate", "what happens to a text longer than the model reads", POLICIES)
    max_length: int = option(0, "a lower limit than the model's, special tokens included; 0: the model's")
    arithmetic: str = option("fp32", "arithmetic of the model", ("fp32", "bf16", "fp16"))
    device: str = execution_option("cpu", "cpu, cuda, mps")
    threads: int = execution_option(0, "threads of the model; 0: one per core")
    token_budget: int = execution_option(TOKEN_BUDGET, "source and target tokens per batch")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prompt.count(TEXT) > 1:
            raise SpecError(f"prompt={self.prompt!r}: expected {TEXT} at most once; leave one and delete the others")
        needs = ("sources",) if self.direction == FAITHFULNESS else ("references",)
        object.__setattr__(self, "needs", needs)  # of the value, since it depends on the direction

    def choice(self) -> LikelihoodOptions:
        """Return the model that the options describe."""
        if self.model.lower().endswith(CHECKPOINTS):
            raise SpecError(
                f"model={self.model} is a PyTorch checkpoint, and models are directories: load it into the model it "
                "was trained from, as in model.load_state_dict(torch.load(FILE)), write that with "
                "model.save_pretrained(DIR) and tokenizer.save_pretrained(DIR), and take bartscore(model=DIR)"
            )
        if self.max_length < 0 or not 0 <= self.threads <= 1024 or self.token_budget < 1:
            raise SpecError("expected max_length from 0, threads from 0 to 1024, and token_budget from 1")
        return LikelihoodOptions(
            self.model, self.arithmetic, self.device, self.overlong, self.max_length, self.threads, self.token_budget
        )

    def content_digests(self) -> Mapping[str, str]:
        """Return the digest of the model; see `Metric.content_digests`."""
        return likelihood_content(self.choice())

    def scorer(self, rows: Iterable[Row] | None = None) -> BARTScorer:
        """Load the model."""
        try:
            return BARTScorer(self, open_likelihood(self.choice()))
        except ModelNotFoundError as error:
            raise ModelNotFoundError(
                f"{error}; any encoder-decoder or causal model with safetensors weights works, and where the hub can "
                f"be reached `hf download {self.model}` fetches this one"
            ) from error

    def tokens(self, candidate: str, reference: str | None = None, source: str | None = None) -> dict[str, Likelihood]:
        """Return the tokens of the predicted texts with their log-probabilities, by direction."""
        return dict(self.likelihoods(candidate, reference, source).directions)

    def likelihoods(self, candidate: str, reference: str | None = None, source: str | None = None) -> Likelihoods:
        """Return tokens, score and signature of one pair, as a value with `to_html`, `to_dict` and a notebook view."""
        references = () if reference is None else (reference,)
        row = Row("1", candidate, references, source)
        self.check_needs([row])
        scorer = self.scorer()
        steps = DIRECTIONS[self.direction]
        likelihoods = scorer.model([self.passage(step, row, reference or "") for step in steps])
        segment = scorer.segment(row, [likelihoods])
        directions = dict(zip(steps, likelihoods, strict=True))
        return Likelihoods(str(self), str(scorer.signature), segment.scores, directions, segment.counts)

    def passage(self, step: str, row: Row, reference: str) -> Passage:
        """Return the input of the model for one direction, prompt included."""
        texts = {"candidate": row.candidate, "reference": reference, "source": row.source or ""}
        read, predicted = step.split("-to-")
        source, target, prompt_length = texts[read], texts[predicted], 0
        if self.prompt and source.strip() and target.strip():  # a prompt must not fill up an empty text
            if self.prompt_side == "source":
                source, prompt_length = _with_prompt(source.strip(), self.prompt, before=False)
            else:
                target, _ = _with_prompt(target.strip(), self.prompt, before=True)
        source_language = self.source_lang or self.lang if read == "source" else self.lang
        return Passage(source, target, source_language, self.lang, prompt_length)

    def signature(self, model: LikelihoodModel) -> Signature:
        """Return the settings that decide the numbers; `labels` names the special tokens that are predicted too."""
        optional = {
            "prompt": self.prompt,
            "side": self.prompt_side if self.prompt else "",
            "lang": self.lang,
            "srclang": self.source_lang,
            "max": str(self.max_length or ""),
        }
        settings = {
            "model": model.name,
            "kind": model.architecture,
            "dir": self.direction,
            "labels": model.labels,
            "multiref": self.multiref,
            **{key: value for key, value in optional.items() if value},
            "overlong": self.overlong,
            "prec": self.arithmetic,
            "v": __version__,
        }
        return self.signed(settings)


class BARTScorer(Scorer):
    """Scorer of a BARTScore with its model loaded."""

    def __init__(self, metric: BARTScore, model: LikelihoodModel) -> None:
        self.metric = metric
        self.model = model
        self.signature = metric.signature(model)

    def score(self, rows: list[Row]) -> list[Segment]:
        """Score all passages of all rows at once, so that the model gets full batches."""
        steps = DIRECTIONS[self.metric.direction]
        passages_of_references = [
            [self.metric.passage(step, row, reference) for step in steps]
            for row in rows
            for reference in self._references(row)
        ]
        likelihoods = iter(self.model([passage for passages in passages_of_references for passage in passages]))
        segments = []
        for row in rows:
            by_reference = [[next(likelihoods) for _ in steps] for _ in self._references(row)]
            segments.append(self.segment(row, by_reference))
        return segments

    def segment(self, row: Row, by_reference: list[list[Likelihood]]) -> Segment:
        """Combine the references of a row; empty ones are flagged and ignored unless all are empty."""
        filled = [steps for steps in by_reference if not any(likelihood.empty for likelihood in steps)]
        values = [sum(likelihood.score for likelihood in steps) / len(steps) for steps in filled]
        combined = (
            (max(values) if self.metric.multiref == "best" else sum(values) / len(values)) if values else MIN_LOG_PROB
        )
        return Segment(row.id, {"score": min(0.0, max(MIN_LOG_PROB, combined))}, _counts(by_reference))

    def _references(self, row: Row) -> tuple[str, ...]:
        if self.metric.direction == FAITHFULNESS:
            if row.source is None:
                raise LengthMismatchError(f"row {row.id}: direction={FAITHFULNESS} needs a source")
            return ("",)
        return row.references


def _counts(by_reference: list[list[Likelihood]]) -> dict[str, int]:
    """Count the flags of all sides; a text on several sides is counted once."""
    total: Counter[str] = Counter()
    seen: set[tuple[str, int]] = set()
    for likelihood in (likelihood for steps in by_reference for likelihood in steps):
        for tokens in (likelihood.source, likelihood.target):
            if (tokens.text, len(tokens)) not in seen:
                seen.add((tokens.text, len(tokens)))
                total.update(tokens.counts)
        total.update({name: count for name, count in likelihood.counts.items() if name == "impossible-token"})
    return dict(total)


def _with_prompt(text: str, prompt: str, before: bool) -> tuple[str, int]:
    """Return the text with its prompt, and the number of characters of the prompt after the text."""
    if TEXT in prompt:
        opening, _, closing = prompt.partition(TEXT)
        return opening + text + closing, len(closing)
    first, second = (prompt, text) if before else (text, prompt)
    gap = "" if first[-1:].isspace() or second[:1].isspace() else " "
    return first + gap + second, 0 if before else len(prompt)


@dataclass(frozen=True, eq=False)
class Likelihoods:
    """Score of one pair, and the tokens behind it.

    `directions` has one `Likelihood` per direction of the metric, such as `reference-to-candidate`.
    """

    metric: str
    signature: str
    scores: Mapping[str, float]
    directions: Mapping[str, Likelihood]
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def flags(self) -> tuple[str, ...]:
        """Names of the flags of the texts."""
        return tuple(self.counts)

    # These imports point upwards, as in an Alignment: a value can show itself, but drawing is in render.

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values: the versioned likelihood document."""
        from evalign.render.documents import likelihood_document

        return likelihood_document(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return a self-contained interactive file that sends no requests; also written to `path` if given."""
        from evalign.render.export import write_html

        return write_html(self.to_dict(), path)

    def _repr_html_(self) -> str:
        from evalign.render.export import notebook_html
        from evalign.render.static_html import static_likelihoods

        return notebook_html(self.to_dict(), static_likelihoods(self))
