"""The opposite of a sentence, made by rule: a negation taken out or put in, yes for no. A text in, a text or None out.

The rules are for English and German. They miss what they do not know and may negate a participle; what trains on them
needs many sentences, not perfect ones.
"""

from __future__ import annotations

import re

VERSION = 2  # of the rules: grows when the same text would get another opposite
NEGATIONS = ("not", "never", "no", "nicht", "nie", "kein", "keine")
UNCLEAR = ("nobody", "none", "nothing", "neither", "without", "niemand", "nichts", "ohne")  # negated in another way
AUXILIARIES = {
    "not": ("is", "are", "was", "were", "will", "would", "can", "could", "may", "might", "should", "must", "has",
            "have", "had", "do", "does", "did"),
    "nicht": ("ist", "sind", "war", "waren", "wird", "werden", "kann", "konnte", "soll", "muss", "hat", "haben"),
}  # fmt: skip
ANSWERS = {"yes": "no", "no": "yes", "ja": "nein", "nein": "ja"}
SHORTENED = re.compile(r"(can(?=not)|\w+(?=n['’]t))(?:not|n['’]t)\b", re.IGNORECASE)  # cannot; isn't, can't, won't
FULL = {"ca": "can", "wo": "will"}
PAST_FORMS = """
became:become began:begin broke:break brought:bring built:build came:come chose:choose fell:fall felt:feel
found:find gave:give got:get grew:grow heard:hear held:hold kept:keep knew:know led:lead left:leave lost:lose
made:make met:meet paid:pay ran:run rose:rise said:say sat:sit saw:see sent:send sold:sell spent:spend spoke:speak
stood:stand taught:teach thought:think told:tell took:take understood:understand went:go won:win wore:wear
wrote:write
"""
PAST = dict(pair.split(":") for pair in PAST_FORMS.split())
COMMON_VERBS = """
allow announce appear apply arrive ask become begin believe bring call cause change charge come confirm consider
contain continue cost cover create decide deny describe exist expect explain feel find follow give go happen help
hold include increase indicate involve keep know lead leave let like live look lose make mean meet mention move
need offer open pay play prevent produce promise protect prove provide reach receive reduce remain remember
require run save say see seem serve show speak stand start stay stop suggest support take tell think try turn
understand use visit walk want win work write
"""
PRESENT = frozenset(COMMON_VERBS.split())
# Before -ed, letters that end no English verb unless an e follows: announc(e)d, receiv(e)d, creat(e)d, reduc(e)d.
SILENT = re.compile(r"(?:[cvzu]|[aeiou]s|[iu]d|[aou]t|[aeiou]g|[iu]r|[aou]k|rg|dg|ng|bl|pl|tl|ev|[^l]ul|[^o]ol)$")


def opposite(text: str) -> str | None:
    """Yes becomes no; or a negation is taken out; or the first verb that the rules know is negated."""
    words = text.split()
    if any(word.lower().strip(".,;:!?") in UNCLEAR for word in words):
        return None
    changed = _answered(words) or _affirmed(words) or _negated(words)
    return " ".join(changed) if changed else None


def answered(negative: str, affirmative: str) -> tuple[str, str]:
    """A no before the one text, a yes before the other: answers to the same question."""
    return (f"No, {negative}", f"Yes, {affirmative}") if affirmative else ("No", "Yes")


def _answered(words: list[str]) -> list[str] | None:
    """The other answer; what follows it is turned round too."""
    answer = words[0].rstrip(".,!") if words else ""
    if answer.lower() not in ANSWERS or (answer == words[0] and len(words) > 1):
        return None
    other, rest = ANSWERS[answer.lower()], words[1:]
    return [
        (other.capitalize() if answer[0].isupper() else other) + words[0][len(answer) :],
        *(_affirmed(rest) or _negated(rest) or rest),
    ]


def _affirmed(words: list[str]) -> list[str] | None:
    for place, word in enumerate(words):
        if word.lower() in NEGATIONS and len(words) > 1:
            return words[:place] + words[place + 1 :]
        if shortened := SHORTENED.match(word):
            verb = FULL.get(shortened[1].lower(), shortened[1])
            return [*words[:place], verb + word[shortened.end() :], *words[place + 1 :]]
    return None


def _negated(words: list[str]) -> list[str] | None:
    """Behind the first auxiliary verb; without one, before the first verb in the past or the third person."""
    for place, word in enumerate(words):
        for negation, verbs in AUXILIARIES.items():
            if word.lower().rstrip(".,;:!?") in verbs:
                verb = word.rstrip(".,;:!?")
                return [*words[:place], verb, negation + word[len(verb) :], *words[place + 1 :]]
    for place, word in enumerate(words[1:], start=1):
        verb = word.rstrip(".,;:!?")
        for helper, base in (("did", _base_of_past(verb)), ("does", _base_of_third_person(verb))):
            if base:
                return [*words[:place], helper, "not", base + word[len(verb) :], *words[place + 1 :]]
    return None


def _base_of_past(verb: str) -> str | None:
    if verb in PAST:
        return PAST[verb]
    if len(verb) < 5 or not verb.endswith("ed") or not verb.islower():
        return None
    stem = verb[:-2]
    if stem.endswith("i"):
        return stem[:-1] + "y"
    if stem[-1] == stem[-2] and stem[-1] not in "sl":
        return stem[:-1]
    return stem + "e" if SILENT.search(stem) else stem


def _base_of_third_person(verb: str) -> str | None:
    for ending, base in (("s", ""), ("es", ""), ("ies", "y")):
        if verb.endswith(ending) and verb[: -len(ending)] + base in PRESENT:
            return verb[: -len(ending)] + base
    return None
