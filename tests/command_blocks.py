"""The command blocks of a Markdown page, as a reader types them, and whether what they print is what the page shows.

In a ```console block `$ ` begins a command, with the lines of its here-document if it has one; what follows is its
output, where `...` stands for whatever differs from run to run. `<!-- needs the network -->` before a block marks it.
"""

import re
from dataclasses import dataclass

NETWORK = "<!-- needs the network -->"
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
    """Whether the output is the page's: blanks at the ends of lines apart, and whatever `...` stands for."""
    shown, printed = ("\n".join(line.rstrip() for line in text.strip().splitlines()) for text in (shown, printed))
    pattern = r"(?s:.*?)".join(map(re.escape, shown.split("...")))
    return not shown or re.fullmatch(pattern, printed) is not None
