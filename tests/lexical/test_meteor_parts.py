"""METEOR's parts: stems, words, the paraphrase cache, and the explanation."""

from __future__ import annotations

import gzip
import io
import multiprocessing
import re
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import evalign
from evalign.errors import FileFormatError
from evalign.metrics.lexical.meteor import paraphrases
from evalign.metrics.lexical.meteor.alignment import MODULES, Matchers
from evalign.metrics.lexical.meteor.metric import Meteor
from evalign.metrics.lexical.meteor.paraphrases import (
    DataFile,
    PhraseNumbers,
    Synonyms,
    find_meteor_files,
    load_paraphrases,
)
from evalign.metrics.lexical.meteor.words import Abbreviations, meteor_stemmer, meteor_words
from evalign.render.explain.lexical import explain_meteor
from evalign.text.stemming import snowball

# What the stemmers in METEOR's jar give (java -cp meteor-1.5.jar Stemmer en|de|fr|es) where Snowball 3 gives otherwise.
OLD_STEMS = {
    "en": "added:ad ebbing:eb emergency:emerg evening:even interfered:interf internationally:intern laterally:later "
    "organization:organ pasted:past universities:univers vying:vy ecologists:ecologist interval:interv",
    "de": "bettet:bettet ergebnissen:ergebniss bedürfnissen:bedurfniss kenntnissen:kenntniss",
    "fr": "rivachaise:rivachais pàlaises:pàlais cènoux:cènoux l'cil:l'cil galais:gal niés:ni nièrent:ni",
    "es": "nolésétacion:nolesetacion pícutucion:picutucion",
}
NEW = {"en": "english", "de": "german", "fr": "french", "es": "spanish"}


@pytest.mark.parametrize("language", NEW)
def test_stems_of_the_jar(language: str) -> None:
    stem = meteor_stemmer(language)
    for pair in OLD_STEMS[language].split():
        word, _, expected = pair.partition(":")
        assert stem(word) == expected
        assert snowball(NEW[language])(word) != expected, f"{word} would need no correction"


# Both columns from METEOR's own normalizer.
NORMALIZED = [
    ("en", "The cat's \"mat\" isn't — it", "the cat 's \" mat \" isn 't — it", "the cat s mat isn t it"),
    ("en", "U.S. e.g. a.b foo.bar. Ph.D", "us eg a.b foobar ph.d", "us eg a b foobar ph d"),
    ("en", "Mr. Smith mr. Smith end. End.", "mr. smith mr . smith end . end .", "mr smith mr smith end end"),
    ("en", "No. 5 No. A Art. 5 pp. A", "no. 5 no . a art. 5 pp . a", "no 5 no a art 5 pp a"),
    ("en", "a-b -- --- a--b -a b- .-é", "a b - -- a b -a b- . é", "a b a b a b é"),
    ("en", "1,000 1, 2 a,1 ,1 1.5 5.", "1,000 1 , 2 a , 1 , 1 1.5 5 .", "1 000 1 2 a 1 1 1 5 5"),
    ("en", "''a'' “b” ‘c’ 1990's 5'b ,,d", "\" a \" \" b \" ' c ' 1990 's 5'b , ,d", "a b c 1990 s 5 b d"),
    ("en", "5% $5 a@b –a 日本。", "5 % $ 5 a @ b - a 日 本 。", "5 5 a b a"),
    ("fr", "l'homme d'accord 'a'", "l' homme d' accord ' a '", "l homme d accord a"),
    ("de", "geht's 5. Mai z.B. usw. A", "geht ' s 5. mai zb usw. a", "geht s 5 mai zb usw a"),
    ("es", "pág. 5 Sr. A", "pág. 5 sr. a", "pág 5 sr a"),
]


@pytest.mark.parametrize(("language", "text", "words", "without_punctuation"), NORMALIZED)
def test_words(language: str, text: str, words: str, without_punctuation: str) -> None:
    files = find_meteor_files()
    if files is None:
        pytest.skip("pip install 'evalign[meteor]'")
    abbreviations = files.abbreviations(language)
    assert " ".join(meteor_words(text, language, "punctuation", abbreviations)) == words
    assert " ".join(meteor_words(text, language, "no-punctuation", abbreviations)) == without_punctuation


def test_words_without_normalising() -> None:
    assert meteor_words(" A.B\n c-d ", "en", "lower", Abbreviations()) == ["a.b", "c-d"]
    assert meteor_words(" A.B\n c-d ", "en", "none", Abbreviations()) == ["A.B", "c-d"]


def test_base_forms_of_synonyms() -> None:
    sets = {"dog": "1", "puppy": "1 2", "foo": "3", "churche": "4", "church": "5", "class": "6", "clas": "7"}
    synonyms = Synonyms(sets, {"went": ["go"], "feet": ["foo", "dog"]})
    assert synonyms("dogs") == {"1"}
    assert synonyms("puppies") == {"1", "2"}
    assert synonyms("churches") == {"4"}  # the first rule that leads to a known word
    assert synonyms("class") == {"6"}
    assert synonyms("feet") == {"1", "3"}
    assert synonyms("went") == synonyms("as") == frozenset()


TABLE = [("0.1", "z", "x y"), ("0.5", "z", "y"), ("0.2", "z w", "x"), ("0.2", "x", "z"), ("0.3", "x y", "z")]


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DataFile:
    """A small paraphrase table with a cache folder of its own."""
    monkeypatch.setenv("EVALIGN_CACHE", str(tmp_path / "cache"))
    load_paraphrases.cache_clear()
    path = tmp_path / "small.gz"
    path.write_bytes(gzip.compress("".join(f"{line}\n" for entry in TABLE for line in entry).encode()))
    return DataFile(path, "0123456789abcdef" * 4)


def test_order_of_paraphrases(table: DataFile) -> None:
    """METEOR's order: the reference's phrases first, by place, length and table; then the candidate's."""
    options = Matchers(MODULES, paraphrases=load_paraphrases(table)).match(["x", "y", "x", "y"], ["z", "w", "z"])
    assert [(match[:3]) for match in options.matches[0]] == [
        (0, 2, 1), (2, 2, 1), (1, 1, 1), (3, 1, 1), (0, 1, 2), (2, 1, 2),
        (0, 1, 1), (0, 2, 1), (2, 1, 1), (2, 2, 1),
    ]  # fmt: skip
    assert options.matches[1] == []
    assert options.reference_cover == [10, 2, 8]


def cached(table: DataFile) -> Path:
    return next(file for file in (paraphrases.cache_folder() / "meteor").iterdir() if file.suffix == ".bin")


def looked_up(table: DataFile) -> list[int]:
    load_paraphrases.cache_clear()
    paraphrases = load_paraphrases(table)
    numbers, _, _ = PhraseNumbers().ngrams(["z", "w", "x", "y"])
    places, begins, ends = paraphrases.find(numbers)
    return [*places.tolist(), *(ends - begins).tolist(), *(paraphrases.targets % 1000).tolist()]


def test_cache_is_written_once_and_read_back(table: DataFile, monkeypatch: pytest.MonkeyPatch) -> None:
    first = looked_up(table)
    monkeypatch.setattr(paraphrases, "parse_paraphrases", None)  # may not be called again
    assert looked_up(table) == first


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-8],
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: b"{" + data[1:4096].replace(b'"sizes"', b'"other"') + data[4095:],
        lambda data: b"\xff" * len(data),
        lambda data: data + b"\0" * 8,
    ],
)
def test_damaged_cache_is_made_again(table: DataFile, damage) -> None:
    first, path = looked_up(table), cached(table)
    good = path.read_bytes()
    path.write_bytes(damage(good))
    assert looked_up(table) == first
    assert path.read_bytes() == good


def test_folder_that_cannot_be_written_costs_only_time(
    table: DataFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = looked_up(table)
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    monkeypatch.setenv("EVALIGN_CACHE", str(tmp_path / "file"))
    assert looked_up(table) == first


def test_processes_that_build_at_once(table: DataFile) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        results = pool.map(looked_up, [table] * 6)
    assert all(result == results[0] == looked_up(table) for result in results)
    assert [file.suffix for file in cached(table).parent.iterdir()] == [".bin"]


@pytest.mark.parametrize(
    "data",
    [b"", b"no gzip", gzip.compress(b""), gzip.compress(b"0.1\na\n"), gzip.compress(b"x" * 999)[:-9]],
    ids=[
        "nothing",
        "no gzip",
        "an empty file",
        "half an entry",
        "cut",
    ],  # bytes would name the second they were made in
)
def test_table_that_is_none(table: DataFile, data: bytes) -> None:
    table.path.write_bytes(data)
    with pytest.raises(FileFormatError, match="install the wheel again"):
        load_paraphrases(table)


def test_numbers_of_phrases_do_not_change() -> None:
    """They are in cache files: if this fails, raise FORMAT."""
    numbers, starts, lengths = PhraseNumbers().ngrams(["a", "b"])
    assert numbers.tolist() == [3405396810240292928, 17600707320206839748, 8453121595177857668]
    assert (starts.tolist(), lengths.tolist()) == ([0, 0, 1], [1, 2, 1])
    assert numbers.dtype == np.uint64


def explained(metric: Meteor, candidate: str, reference: str) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(explain_meteor(metric, candidate, reference))
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("candidate", "reference"),
    [("The cats sat on a mat.", "On the mat, the cat sat."), ("same words", "same words"), ("a", "b"), ("", "b")],
)
def test_explanation_ends_at_the_score(candidate: str, reference: str) -> None:
    metric = evalign.metric("meteor(modules=exact+stem)")
    report = metric.score([candidate], [reference])
    said = explained(metric, candidate, reference)
    assert report.signature in said
    if candidate:
        assert float(re.search(r"unrounded (\S+)", said)[1]) == report["score"][0]
    else:
        assert "score = 0" in said


def test_explanation_shows_the_alignment() -> None:
    said = explained(evalign.metric("meteor(modules=exact+stem)"), "two cats sat", "the cat sat")
    assert re.search(r"1\s+cats\s+cat\s+stem\s+0\.6", said)
    assert re.search(r"1\s+sat\s+sat\s+exact\s+1", said)
    assert "1 chunks / (2 + 2 matched words) · 2 = 0.5000" in said
