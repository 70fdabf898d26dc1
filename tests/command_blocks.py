"""The command blocks of a Markdown page, as a reader types them, and whether what they print is what the page shows.

In a ```console block `$ ` begins a command, with the lines of its here-document if it has one; what follows is its
output, where `...` stands for whatever differs from run to run. `<!-- needs the network -->` before a block marks it.
"""

import re
from dataclasses import dataclass

NETWORK = "<!-- needs the network -->"
DECIMALS = r"(?<![\d.])\d+\.\d{3,}(?![\d.]*\.\d)"
BLOCK = re.compile(rf"^({NETWORK}\n)?```(\w+)\n(.*?)^```$", re.S | re.M)


@dataclass(frozen=True)
class Command:
    """A command, the output that the page shows (none if it shows nothing), and whether it needs the network."""

    typed: str
    shown: str
    network: bool


def commands(page: str) -> list[Command]:
    """All commands of a page, in order."""
    found = []
    for network, language, block in BLOCK.findall(page):
        if language == "console":
            found += [Command(typed, shown, bool(network)) for typed, shown in _typed_and_shown(block)]
    return found


def _typed_and_shown(block: str) -> list[tuple[str, str]]:
    pairs = []
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        first, _, rest = part.partition("\n")
        if here := re.search(r"<<'(\w+)'", first):
            body, _, rest = rest.partition(f"\n{here[1]}\n")
            first = f"{first}\n{body}\n{here[1]}"
        while first.endswith("\\"):
            line, _, rest = rest.partition("\n")
            first = f"{first}\n{line}"
        pairs.append((re.sub(r" {2,}#.*$", "", first), rest))
    return pairs


def python_blocks(page: str, language: str) -> list[str]:
    """The code of all blocks in a language, in order."""
    return [block for _, tag, block in BLOCK.findall(page) if tag == language]


def agree(shown: str, printed: str) -> bool:
    """Whether the output is the page's: blanks at the ends of lines apart, and whatever `...` stands for.

    The last of three decimals or more may differ by one: another processor rounds another way.
    """
    shown, printed = ("\n".join(line.rstrip() for line in text.strip().splitlines()) for text in (shown, printed))
    parts = shown.split("...")
    pattern = r"(?s:.*?)".join(rf"({DECIMALS})".join(map(re.escape, re.split(DECIMALS, part))) for part in parts)
    found = re.fullmatch(pattern, printed)
    expected = [number for part in parts for number in re.findall(DECIMALS, part)]
    return not shown or (found is not None and all(map(_one_apart, expected, found.groups())))


def _one_apart(shown: str, printed: str) -> bool:
    """Whether two decimal fractions of the same length differ by no more than one in their last place."""
    whole = [int(number.replace(".", "")) for number in (shown, printed)]
    return len(shown.partition(".")[2]) == len(printed.partition(".")[2]) and abs(whole[0] - whole[1]) <= 1
