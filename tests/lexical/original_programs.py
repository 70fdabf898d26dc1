"""The original programs, run as live oracles and to make golden numbers: ROUGE-1.5.5.pl and the jar of METEOR 1.5.

Both come with the wheels that evalign reads its word lists from. Texts go in; what the programs print is parsed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from evalign.metrics.lexical.meteor.paraphrases import find_meteor_files
from evalign.metrics.lexical.rouge.words import EXCEPTIONS, STOP_WORDS, wheel_file

Numbers = dict[str, dict[str, list[float]]]
SCRIPT = "ROUGE-1.5.5.pl"
NUMBER = r"([\d.]+)"
# The script loads an XML library that it needs for its other kind of input only; Perl does not bring that along.
NO_XML = "package XML::DOM; package XML::DOM::Parser; sub new { return bless {} } 1;\n"
BUILD_DATABASE = (
    "use DB_File; tie %d,'DB_File',$ARGV[0],O_CREAT|O_RDWR,0640,$DB_HASH or die; shift;"
    "while(<>){@w=split;$d{$w[0]}=$w[1]}"
)
READY = "my $parser = new XML::DOM::Parser;"  # from this line on the script's lists and stemmer are loaded
# As the script's createNGram calls its stemmer.
PRINT_STEMS = r'while(<STDIN>) { chomp; print length($_)>3 ? &MorphStem($_) : $_, "\n"; } exit;'


@dataclass(frozen=True)
class RougeOutput:
    """What the script printed for one system: per row, on average with interval, and (with -t 2) the counts of all."""

    rows: Numbers  # metric -> "1".."n" -> [R, P, F], with -t 2 [reference, candidate, common]
    averages: Numbers  # metric -> "R", "P", "F" -> [average, low, high]
    counts: dict[str, list[int]]  # metric -> [reference, candidate, common]


class RougeScript:
    """ROUGE-1.5.5.pl in a folder of its own, with the database of stems that it wants built from the wheel's lists."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = 0
        (folder / "XML").mkdir(parents=True)
        (folder / "XML" / "DOM.pm").write_text(NO_XML, "ascii")
        shutil.copy(wheel_file(STOP_WORDS), folder)
        lists = [str(wheel_file(name)) for name in EXCEPTIONS]
        subprocess.run(["perl", "-e", BUILD_DATABASE, str(folder / "WordNet-2.0.exc.db"), *lists], check=True)
        # `defined @array` has become an error in Perl; the line only decides about a warning.
        text = wheel_file(SCRIPT).read_text("latin-1").replace("defined(@{$tokenizedText}>0)", "1")
        assert text.count(READY) == 1
        (folder / SCRIPT).write_text(text, "latin-1")
        (folder / "stems.pl").write_text(text.replace(READY, PRINT_STEMS + READY), "latin-1")

    @staticmethod
    def missing() -> str | None:
        """Why the script cannot be run here."""
        perl = shutil.which("perl")
        if perl is None or subprocess.run([perl, "-MDB_File", "-e", "1"], capture_output=True).returncode:
            return "ROUGE-1.5.5.pl needs Perl with DB_File"
        return None

    def score(self, rows: list[tuple[str, list[str]]], args: list[str]) -> RougeOutput:
        """Rows of a candidate and its references, one sentence per line, as one system of the script."""
        self.runs += 1
        place = self.folder / f"run-{self.runs}"
        place.mkdir()
        lines = []
        for number, (candidate, references) in enumerate(rows):
            names = [f"{number}.{index}" for index in range(len(references) + 1)]
            for name, text in zip(names, [candidate, *references], strict=True):
                (place / name).write_bytes(text.encode("utf-8"))
            lines.append(" ".join(names))
        (place / "list").write_text("\n".join(lines) + "\n", encoding="utf-8")
        options = ["-e", str(self.folder), "-d", "-z", "SPL", *args]
        return parse_rouge(self._perl(SCRIPT, place, [*options, "list", "X"]))

    def stems(self, words: list[str]) -> dict[str, str]:
        """What option -m makes of each word."""
        arguments = ["-e", str(self.folder), "-z", "SPL", "none", "X"]
        printed = self._perl("stems.pl", self.folder, arguments, "".join(f"{word}\n" for word in words))
        return dict(zip(words, printed.splitlines(), strict=True))

    def _perl(self, script: str, place: Path, arguments: list[str], stdin: str = "") -> str:
        command = ["perl", f"-I{self.folder}", str(self.folder / script), *arguments]
        done = subprocess.run(command, cwd=place, input=stdin, capture_output=True, text=True, encoding="latin-1")
        assert done.returncode == 0, done.stderr
        return done.stdout


def parse_rouge(printed: str) -> RougeOutput:
    """The numbers in the script's lines, which name the system X."""
    output = RougeOutput({}, {}, {})
    for line in printed.splitlines():
        if row := re.match(rf"X (\S+) Eval (\d+)\.X R:{NUMBER} P:{NUMBER} F:{NUMBER}", line):
            output.rows.setdefault(row[1], {})[row[2]] = [float(value) for value in row.groups()[2:]]
        elif total := re.match(rf"X (\S+) Average_(.): {NUMBER} \(\d+%-conf.int. {NUMBER} - {NUMBER}\)", line):
            output.averages.setdefault(total[1], {})[total[2]] = [float(value) for value in total.groups()[2:]]
        elif counts := re.match(r"X (\S+) M_count: (\d+) P_count: (\d+) H_count: (\d+)", line):
            output.counts[counts[1]] = [int(value) for value in counts.groups()[1:]]
    return output


class MeteorJar:
    """METEOR 1.5 in a folder for its input files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @staticmethod
    def missing() -> str | None:
        """Why the jar cannot be run here."""
        if shutil.which("java") is None or find_meteor_files() is None:
            return "the METEOR jar needs Java and the extra meteor"
        return None

    def score(
        self, pairs: list[tuple[str, list[str]]], references: int, options: list[str]
    ) -> tuple[list[float], float]:
        """Segment scores and final score of candidates against so many of their references."""
        files = find_meteor_files()
        assert files is not None
        (self.folder / "test").write_text("".join(f"{candidate}\n" for candidate, _ in pairs), encoding="utf-8")
        lines = [f"{text}\n" for _, texts in pairs for text in texts[:references]]
        (self.folder / "reference").write_text("".join(lines), encoding="utf-8")
        command = ["java", "-Xmx2G", "-Dfile.encoding=UTF-8", "-jar", str(files.jar.path), "test", "reference"]
        command += ["-r", str(references), *options]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, encoding="utf-8", check=True)
        printed = [line.split("\t") for line in done.stdout.splitlines() if line.startswith("Segment ")]
        final = next(line for line in done.stdout.splitlines() if line.startswith("Final score:"))
        return [float(line[1]) for line in printed], float(final.split(":")[1])
