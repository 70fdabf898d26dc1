"""The tests of bert_score's repository, run against `evalign.compat.bert_score` and `BERTScorer` with stand-in weights.

No distribution of bert-score carries its tests: they are typed here from https://github.com/Tiiiger/bert_score (commit
cb582ed, tests/test_score_function.py and test_scorer.py), call by call. They need roberta-large from the hub; a tiny
random RoBERTa of 24 layers lies in a folder of that name instead, and what was a number there is what the installed
bert_score gives for the same call on these weights. All else is asserted as it stands: tolerance (5 decimals), hash.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
import bert_score
import transformers
from peers.suites import DIFFERS, EQUAL, LEFT_OUT, UNEXPLAINED, Case, Suite

import tiny_models
from evalign.compat import bert_score as compat

CANDIDATES = [
    "28-year-old chef found dead in San Francisco mall",
    "A 28-year-old chef who recently moved to San Francisco was found dead in the staircase of a local shopping "
    "center.",
    "The victim's brother said he cannot imagine anyone who would want to harm him,\"Finally, it went uphill again at "
    'him."',
]
REFERENCES = [
    "28-Year-Old Chef Found Dead at San Francisco Mall",
    "A 28-year-old chef who had recently moved to San Francisco was found dead in the stairwell of a local mall this "
    "week.",
    "But the victim's brother says he can't think of anyone who would want to hurt him, saying, \"Things were finally "
    'going well for him."',
]
LEMONS = ["I like lemons."]
OF_LEMONS = [["I am proud of you.", "I love lemons.", "Go go go."]]
GREETINGS = ["I like lemons.", "Hi", "Hey", "Hello", "Go", ""]
OF_GREETINGS = [
    ["I am proud of you.", "I love lemons.", "Go go go."],
    ["I am proud of you.", "Go go go."],
    ["Hi", ""],
    ["I am proud of you.", "I love lemons.", "Go go go.", "hello"],
    ["I am proud of you.", "Go go go.", "Go", "Go to school"],
    ["test"],
]
NAMED = {"model_type": "roberta-large", "num_layers": 17}
RESCALED = {"lang": "en", "rescale_with_baseline": True}
# test -> the call's arguments, and how the hash must read between the layer and the version, and after it
SCORE = {
    "test_score": (NAMED | {"idf": False}, "no-idf", ""),
    "test_idf_score": (NAMED | {"idf": True}, "idf", ""),
    "test_score_rescale": (NAMED | {"idf": False} | RESCALED, "no-idf", "-rescaled"),
    "test_idf_score_rescale": (NAMED | {"idf": True} | RESCALED, "idf", "-rescaled"),
    "test_idf_score_rescale_fast_tokenizer": (
        NAMED | {"idf": True, "use_fast_tokenizer": True} | RESCALED, "idf", "-rescaled_fast-tokenizer",
    ),
}  # fmt: skip
SCORER = {
    "test_scorer": ({"lang": "en"}, "no-idf", ""),
    "test_idf_scorer": ({"lang": "en", "idf": True, "idf_sents": REFERENCES}, "idf", ""),
    "test_scorer_rescale": (RESCALED, "no-idf", "-rescaled"),
    "test_idf_scorer_rescale": (RESCALED | {"idf": True, "idf_sents": REFERENCES}, "idf", "-rescaled"),
}


def run(folder: Path) -> Suite:
    """Makes the stand-in in the folder, and runs the thirteen tests."""
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    places = Places(folder)
    tests: dict[str, Callable[[], None]] = {}
    for name, (options, idf, end) in SCORE.items():
        tests[f"test_score_function.py::{name}"] = lambda o=options, h=(idf, end): places.check_score(o, h)
    for name, (options, idf, end) in SCORER.items():
        tests[f"test_scorer.py::{name}"] = lambda o=options, h=(idf, end): places.check_scorer(o, h)
    for file, scores in (("test_score_function.py", _score), ("test_scorer.py", _scorer_score)):
        tests[f"{file}::test_multi_refs"] = lambda of=scores: places.check_best_reference(of)
        tests[f"{file}::test_multi_refs_working"] = lambda of=scores: places.check_greetings(of)
    cases = [_case(name, test) for name, test in tests.items()]
    cases.append(Case("test_score_function.py::test_score_en_sci", LEFT_OUT, "the peer skips it"))
    return Suite("bert_score", version("bert-score"), "its repository, typed; stand-in weights", tuple(cases))


class Places:
    """Two folders with a `roberta-large` each: as it is, and as the slow tokenizer of transformers 4 read it.

    Today's transformers has one tokenizer for RoBERTa, which no longer hears bert_score's wish for a space before a
    text; its own setting asks for it.
    """

    def __init__(self, folder: Path) -> None:
        self.fast, self.slow = folder / "fast", folder / "slow"
        tiny_models.build_model("roberta", self.fast / "roberta-large", num_hidden_layers=24)
        shutil.copytree(self.fast, self.slow)
        tiny_models.edit_json(self.slow / "roberta-large" / "tokenizer_config.json", add_prefix_space=True)

    def check_score(self, options: dict[str, Any], hashed: tuple[str, str]) -> None:
        with chdir(self.fast):
            scores, made = compat.score(CANDIDATES, REFERENCES, batch_size=3, return_hash=True, **options)
        with self._peer(options):
            expected = bert_score.score(CANDIDATES, REFERENCES, batch_size=3, device="cpu", nthreads=0, **options)
        _check(scores, expected)
        _check_hash(made, *hashed)

    def check_scorer(self, options: dict[str, Any], hashed: tuple[str, str]) -> None:
        with chdir(self.fast):
            scorer = compat.BERTScorer(batch_size=3, **options)
            scores, made = scorer.score(CANDIDATES, REFERENCES, return_hash=True)
        with self._peer(options):
            expected = bert_score.BERTScorer(batch_size=3, device="cpu", nthreads=0, **options).score(
                CANDIDATES, REFERENCES, batch_size=3
            )
        _check(scores, expected)
        _check_hash(made, *hashed)

    def check_best_reference(self, scores: Callable[..., Any]) -> None:
        with chdir(self.fast):
            _check(scores(LEMONS, OF_LEMONS), scores(LEMONS, [OF_LEMONS[0][1]]))

    def check_greetings(self, scores: Callable[..., Any]) -> None:
        with chdir(self.fast):
            found = scores(GREETINGS, OF_GREETINGS)
        _check(found, found)

    @contextmanager
    def _peer(self, options: dict[str, Any]) -> Iterator[None]:
        with chdir(self.fast if options.get("use_fast_tokenizer") else self.slow):
            yield


def _score(candidates: list[str], references: list[Any]) -> Any:
    return compat.score(candidates, references, batch_size=3, return_hash=False, **RESCALED)


def _scorer_score(candidates: list[str], references: list[Any]) -> Any:
    return compat.BERTScorer(batch_size=3, **RESCALED).score(candidates, references)


def _check(scores: Any, expected: Any) -> None:
    """Precision, recall and F1 are arrays of numbers, equal to five decimals."""
    assert len(scores) == len(expected) == 3
    for own, peer in zip(scores, expected, strict=True):
        assert isinstance(own, np.ndarray), f"not an array: {type(own)}"
        assert np.isfinite(own).all(), f"not a number: {own}"
        np.testing.assert_almost_equal(own, np.asarray(peer), decimal=5)


def _check_hash(made: str, idf: str, end: str) -> None:
    peer, ht_version = bert_score.__version__, transformers.__version__
    assert made == f"roberta-large_L17_{idf}_version={peer}(hug_trans={ht_version}){end}", made


def _case(name: str, test: Callable[[], None]) -> Case:
    try:
        test()
    except Exception as error:  # whatever it is, the test has not passed
        return Case(name, DIFFERS, f"{UNEXPLAINED}: {type(error).__name__} {' '.join(str(error).split())[:300]}")
    return Case(name, EQUAL)
