"""One self-contained HTML file: the page's own modules, its styles and a document, opened without any request.

    render/page/**/*.js, *.css --bundle--> one script, one style --shell--> HTML --with_document--> the finished file

The modules are the shipped source, without comments and indentation. Each becomes a function that is called once, after
those of the modules that it imports; what it exports is what the function returns. A strict policy allows exactly this
script and this style, by their hashes. `notebook_html` is for notebooks: plain boxes that need no script, and the
interactive view in a sandboxed frame where scripts may run.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from evalign.core.plugins import VIEWS_GROUP, is_third_party, load_plugin, plugins
from evalign.errors import InputError
from evalign.io.files import whole_file


@dataclass(frozen=True)
class View:
    """The view of a type of document: the module whose `createView` draws it, a title and style sheets.

    A package adds one by an entry point in the group `evalign.views`, named as the document. Its files are in the
    folders page/ and schema/; `section` is a module whose `createSection` adds a section to the tab "Inside models".
    """

    module: str
    title: str
    styles: tuple[str, ...]
    package: str = "evalign.render"
    section: str = ""


VIEWS = {
    "alignment": View("pair/view.js", "Token matches", ("shared/base.css", "pair/pair.css")),
    "corpus": View("corpus/view.js", "Scores", ("shared/base.css", "corpus/corpus.css")),
    "corpus-pairs": View(
        "corpus/view_with_pairs.js", "Scores", ("shared/base.css", "pair/pair.css", "corpus/corpus.css")
    ),
    "likelihood": View(
        "likelihood/view.js", "Token probabilities", ("shared/base.css", "pair/pair.css", "likelihood/likelihood.css")
    ),
}
SECTIONS = "plugged_sections.js"  # replaced by a module that imports the sections of packages
STARTER = "shared/document.js"  # its `startView` draws the document of the file
SLOT = '{"evalign": "document"}'
PAGE_FILE = re.compile(r"(\w+/)?\w+\.(js|css|html|json)")
IMPORT = re.compile(r'^import \{([\w,\s]+)\} from "(\.[\w./]+\.js)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async function|function\*?|const|class) (\w+))", re.MULTILINE)
POLICY = (
    "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)


def views(third_party: bool = True) -> dict[str, View]:
    """Return the views by type of document, with or without those of other packages than evalign."""
    return {kind: find_view(kind) for kind in view_names(third_party)}


def view_names(third_party: bool = True) -> list[str]:
    """Return the types of documents that have a view; imports nothing."""
    added = [name for name, entry in plugins(VIEWS_GROUP).items() if third_party or not is_third_party(entry)]
    return list(dict.fromkeys([*VIEWS, *added]))


def find_view(kind: str) -> View:
    """Return the view of a type of document, importing the package that adds it; KeyError if there is none."""
    if kind in VIEWS:
        return VIEWS[kind]
    plugged: View = load_plugin(plugins(VIEWS_GROUP)[kind], "a View", lambda loaded: isinstance(loaded, View))
    return plugged


def page_file(name: str, third_party: bool = True) -> bytes:
    """Return the content of a file of the page, such as `pair/view.js`; FileNotFoundError if there is none.

    Args:
        name: Path below the folder page/ of evalign, or of the package that adds the view of this folder's name.
        third_party: Whether packages other than evalign may add files.
    """
    if not PAGE_FILE.fullmatch(name):
        raise FileNotFoundError(name)
    if name == SECTIONS:
        return _sections_module(third_party).encode()
    core = resources.files("evalign.render").joinpath("page", name)
    folder = name.partition("/")[0]
    if core.is_file() or folder not in view_names(third_party):
        return core.read_bytes()
    return resources.files(find_view(folder).package).joinpath("page", name).read_bytes()


def index_page(third_party: bool = True) -> bytes:
    """Return index.html with links to the style sheets of plugged views."""
    added = [name for kind, view in views(third_party).items() if kind not in VIEWS for name in view.styles]
    index = page_file("index.html").decode()
    missing = [name for name in dict.fromkeys(added) if f"/page/{name}" not in index]
    links = "".join(f'<link rel="stylesheet" href="/page/{name}">\n' for name in missing)
    return index.replace("</head>", f"{links}</head>", 1).encode()


def imported(name: str, third_party: bool = True) -> list[tuple[list[str], str]]:
    """Return (names as the other module exports them, its file) for each import statement of a module."""
    return [
        ([re.split(r"\s+as\s+", each.strip())[0] for each in names.split(",") if each.strip()], _resolved(name, path))
        for names, path in IMPORT.findall(page_file(name, third_party).decode())
    ]


def exported(name: str) -> list[str]:
    """Return the names that a module exports."""
    return EXPORT.findall(page_file(name).decode())


@cache
def bundle(*entries: str, third_party: bool = True) -> str:
    """Return one script with the entry modules and all that they import, each module in a scope of its own.

    `$modules["pair/view.js"]` is an object with the exports of that module.
    """
    scripts: dict[str, str] = {}
    for entry in entries:
        _collect(entry, scripts, (), third_party)
    return _compact("const $modules = {};\n" + "\n".join(scripts.values()))


@cache
def shell(kind: str) -> str:
    """Return the HTML file for a type of document (a key of `views`), with `SLOT` where the document goes."""
    view = find_view(kind)
    start = f'$modules["{STARTER}"].startView($modules["{view.module}"].createView);'
    script = bundle(STARTER, view.module) + start
    style = _compact_style("\n".join(page_file(name).decode() for name in view.styles))
    policy = POLICY.format(script=_hash(script), style=_hash(style))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{view.title} · evalign</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<main id="view"><p>This page needs its script to show the document: allow it, and reload.</p></main>\n'
        f'<script type="application/json" id="evalign-document">{SLOT}</script>\n'
        f'<script type="module">{script}</script>\n</body>\n</html>\n'
    )


def with_document(document: Mapping[str, Any]) -> str:
    """Return the finished file. `<` is escaped in the data, so that no text can end the element that holds it."""
    data = json.dumps(document, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    pairs = "-pairs" if document.get("alignments", {}).get("rows") else ""
    return shell(document["format"].removeprefix("evalign.") + pairs).replace(SLOT, data, 1)


def write_html(document: Mapping[str, Any], path: str | Path | None = None) -> str:
    """Return the finished file's text; with `path`, also write it there, whole or not at all."""
    text = with_document(document)
    if path is not None:
        try:
            with whole_file(Path(path)) as stream:
                stream.write(text)
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error
    return text


def notebook_html(document: Mapping[str, Any], static: str) -> str:
    """Return static HTML, which any notebook shows, and a frame that replaces it where scripts may run.

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


def _collect(name: str, scripts: dict[str, str], importers: tuple[str, ...], third_party: bool) -> None:
    """Add the module's script to `scripts`, after those of the modules that it imports."""
    if name in scripts:
        return
    if name in importers:
        raise ValueError(f"{name} imports itself through {' -> '.join(importers)}")
    for _names, file in imported(name, third_party):
        _collect(file, scripts, (*importers, name), third_party)
    scripts[name] = _scoped(name, page_file(name, third_party).decode())


def _sections_module(third_party: bool) -> str:
    """Return the module that lists the sections of plugged views."""
    modules = [view.section for view in views(third_party).values() if view.section]
    imports = "".join(
        f'import {{ createSection as section{number} }} from "./{module}";\n' for number, module in enumerate(modules)
    )
    names = ", ".join(f"section{number}" for number in range(len(modules)))
    return f"// Sections of installed packages.\n\n{imports}\nexport const PLUGGED_SECTIONS = [{names}];\n"


def _scoped(name: str, text: str) -> str:
    """Return a module as a function that is called at once: imports are read from `$modules`, exports returned."""

    def unpacked(statement: re.Match[str]) -> str:
        names = re.sub(r"\s+as\s+", ": ", statement[1])
        return f'const {{{names}}} = $modules["{_resolved(name, statement[2])}"];\n'

    body = EXPORT.sub("", IMPORT.sub(unpacked, text))
    return f'$modules["{name}"] = (() => {{\n{body}\nreturn {{ {", ".join(EXPORT.findall(text))} }};\n}})();'


def _resolved(name: str, path: str) -> str:
    """Return the file that a module means by the relative path of an import."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path))


def _compact(script: str) -> str:
    """Return the script without indentation, empty lines, and comments on their own line or after a statement.

    No string or template of a module spans lines (tests/page/test_page_files.py).
    """
    for unneeded in (r"^[ \t]*/\*\*(?s:.*?)\*/\n", r"^[ \t]*//.*\n", r"(?<=[;,{}]) // .*$", r"^[ \t]+", r"^\n"):
        script = re.sub(unneeded, "", script, flags=re.MULTILINE)
    return script


def _compact_style(style: str) -> str:
    """Return the style sheet without comments and needless blanks."""
    style = re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL))
    return re.sub(r" ?([{};]) ?", r"\1", style).strip()


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
