"""One self-contained HTML file: the page's own modules, its styles and a document, opened without any request.

    render/page/**/*.js, *.css --bundle--> one script, one style --shell--> HTML --with_document--> the finished file

The modules are the shipped source: they are concatenated in the order of their imports, without the words `import` and
`export`, so that a name may be declared by one module only, and without comments and indentation. A strict policy
allows exactly this script and this style, by their hashes. `notebook_html` is what a notebook shows: plain boxes that
need no script, and the interactive view in a sandboxed frame where scripts may run.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import posixpath
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from evalign.atomic_files import whole_file
from evalign.errors import InputError

FILES = {  # what each kind of file holds: its entry module and its styles
    "alignment": ("pair/standalone.js", ("shared/base.css", "pair/pair.css")),
    "corpus": ("corpus/standalone.js", ("shared/base.css", "corpus/corpus.css")),
    "corpus-pairs": ("corpus/standalone_pairs.js", ("shared/base.css", "pair/pair.css", "corpus/corpus.css")),
    "likelihood": ("likelihood/standalone.js", ("shared/base.css", "pair/pair.css", "likelihood/likelihood.css")),
    "lstm": ("lstm/standalone.js", ("shared/base.css", "pair/pair.css", "lstm/lstm.css")),
}
SLOT = '{"evalign": "document"}'
TITLES = {"alignment": "Token matches", "corpus": "Scores", "corpus-pairs": "Scores",
          "likelihood": "Token probabilities", "lstm": "LSTM gates"}  # fmt: skip
PAGE_FILE = re.compile(r"(\w+/)?\w+\.(js|css|html|json)")
IMPORT = re.compile(r'^import \{([\w,\s]+)\} from "(\.[\w./]+\.js)";\n', re.MULTILINE)
POLICY = (
    "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)


def page_file(name: str) -> bytes:
    """The content of one file of the page, named as in `pair/view.js`; FileNotFoundError if there is none."""
    if not PAGE_FILE.fullmatch(name):
        raise FileNotFoundError(name)
    return resources.files("evalign.render").joinpath("page", name).read_bytes()


def imported(name: str) -> list[tuple[list[str], str]]:
    """What a module imports: (the names, the file that declares them) of each of its import statements."""
    return [
        (re.findall(r"\w+", names), posixpath.normpath(posixpath.join(posixpath.dirname(name), path)))
        for names, path in IMPORT.findall(page_file(name).decode())
    ]


@cache
def bundle(entry: str) -> str:
    """The entry module and all it imports as one script, every module behind those it needs."""
    scripts: dict[str, str] = {}
    _collect(entry, scripts, ())
    return _compact("\n".join(scripts.values()))


@cache
def shell(kind: str) -> str:
    """The HTML file for one kind of document, with a slot where the document goes."""
    entry, styles = FILES[kind]
    script, style = bundle(entry), _compact_style("\n".join(page_file(name).decode() for name in styles))
    policy = POLICY.format(script=_hash(script), style=_hash(style))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{TITLES[kind]} · evalign</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<main id="view"><p>This page draws its picture with a script of its own; allow it, and reload.</p></main>\n'
        f'<script type="application/json" id="evalign-document">{SLOT}</script>\n'
        f'<script type="module">{script}</script>\n</body>\n</html>\n'
    )


def with_document(document: Mapping[str, Any]) -> str:
    """The finished file. `<` never stands in the data as such, so no text can end the element that holds it."""
    data = json.dumps(document, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    pairs = "-pairs" if document.get("alignments", {}).get("rows") else ""
    return shell(document["format"].removeprefix("evalign.") + pairs).replace(SLOT, data, 1)


def write_html(document: Mapping[str, Any], path: str | Path | None = None) -> str:
    """The finished file's text; also written to `path`, whole or not at all."""
    text = with_document(document)
    if path is not None:
        try:
            with whole_file(Path(path)) as stream:
                stream.write(text)
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error
    return text


def notebook_html(document: Mapping[str, Any], static: str) -> str:
    """Static HTML, which any notebook shows, and a frame that takes its place where scripts may run.

    The frame may run its own script and nothing else: no cookies, no forms, no navigation, an origin of its own. The
    few lines outside it unpack its page, set its height to what it reports, and hide the static boxes once it is drawn.
    """
    packed = base64.b64encode(gzip.compress(with_document(document).encode(), mtime=0)).decode()
    return (
        f'<div class="evalign"><div class="evalign-static">{static}</div>'
        f'<iframe class="evalign-frame" sandbox="allow-scripts allow-downloads" title="evalign" '
        f'style="display:none;width:100%;height:0;border:0"></iframe>'
        f'<script>{NOTEBOOK_SCRIPT}("{packed}");</script></div>'
    )


NOTEBOOK_SCRIPT = """(async (packed) => {
  const box = document.currentScript.closest(".evalign");
  const frame = box.querySelector(".evalign-frame");
  addEventListener("message", (event) => {
    const height = event.source === frame.contentWindow && event.data && event.data.evalignHeight;
    if (!Number.isFinite(height) || height <= 0) return;
    frame.style.height = Math.min(height, 4000) + "px";
    box.querySelector(".evalign-static").style.display = "none";
  });
  const bytes = Uint8Array.from(atob(packed), (char) => char.charCodeAt(0));
  const page = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  frame.srcdoc = await new Response(page).text();
  frame.style.display = "block";
})"""


def _collect(name: str, scripts: dict[str, str], importers: tuple[str, ...]) -> None:
    """Adds the module's script to `scripts`, after those of the modules that it imports."""
    if name in scripts:
        return
    if name in importers:
        raise ValueError(f"{name} imports itself through {' -> '.join(importers)}")
    for _names, file in imported(name):
        _collect(file, scripts, (*importers, name))
    scripts[name] = re.sub(r"^export ", "", IMPORT.sub("", page_file(name).decode()), flags=re.MULTILINE)


def _compact(script: str) -> str:
    """The same script without comments that have a line of their own or follow a statement, indentation, empty lines.

    Modules keep to it that no template text and no string spans lines (tests/page/test_page_files.py).
    """
    for unneeded in (r"^[ \t]*/\*\*(?s:.*?)\*/\n", r"^[ \t]*//.*\n", r"(?<=[;,{}]) // .*$", r"^[ \t]+", r"^\n"):
        script = re.sub(unneeded, "", script, flags=re.MULTILINE)
    return script


def _compact_style(style: str) -> str:
    """The same style sheet without comments, and with blanks only where they mean something."""
    style = re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL))
    return re.sub(r" ?([{};]) ?", r"\1", style).strip()


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
