"""The page's files keep the rules that let them be shipped as they are and inlined into one script."""

import re
from importlib import resources

import pytest

from evalign.render.export import FILES, IMPORT, SLOT, bundle, page_file, shell

PAGE = resources.files("evalign.render").joinpath("page")
MODULES = sorted(file.name for file in PAGE.iterdir() if file.name.endswith(".js"))
DECLARED = re.compile(r"^(?:export )?(?:async )?(?:function\*?|const|let|class) (\w+)", re.MULTILINE)
EXPORTED = re.compile(r"^export (?:(?:async )?function\*?|const|class) (\w+)", re.MULTILINE)
FORBIDDEN = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "import(",
             "import.meta", "export default", "http://", "https://")  # fmt: skip


def source(name):
    return page_file(name).decode()


@pytest.mark.parametrize("name", MODULES)
def test_imports_and_exports_have_the_one_form_that_can_be_inlined(name):
    text = source(name)
    for line in text.splitlines():
        if re.match(r"\s*import\b", line):
            found = IMPORT.match(line)
            assert found, line
            offered = EXPORTED.findall(source(found[2]))
            assert set(found[1].split(", ")) <= set(offered), line
        if re.match(r"\s*export\b", line):
            assert EXPORTED.match(line), line


@pytest.mark.parametrize("name", MODULES)
def test_no_text_becomes_markup_or_code_and_nothing_is_asked_elsewhere(name):
    text = source(name).replace("http://www.w3.org/", "")  # names of XML namespaces, never asked for
    assert [word for word in FORBIDDEN if word in text] == []
    assert text.startswith("//"), "a file opens with what it is for"


def test_top_level_names_are_unique_over_all_modules():
    homes = {}
    for name in MODULES:
        for declared in DECLARED.findall(source(name)):
            homes.setdefault(declared, []).append(name)
    assert {declared: files for declared, files in homes.items() if len(files) > 1} == {}


def test_every_module_is_used():
    used = set(re.findall(r'from "\./(\w+\.js)"', "".join(source(name) for name in MODULES)))
    assert set(MODULES) - used == {"app.js", "view_pair.js", "view_corpus.js", "view_likelihood.js"}


def test_every_imported_name_is_used():
    for name in MODULES:
        text = source(name)
        for line in text.splitlines():
            if found := IMPORT.match(line):
                for imported in found[1].split(", "):
                    assert len(re.findall(rf"\b{imported}\b", text)) > 1, f"{name}: {imported}"


def test_every_export_is_imported_somewhere():
    everything = "".join(source(name) for name in MODULES)
    imported = {
        one for names in re.findall(r"^import \{ ([\w, ]+) \}", everything, re.MULTILINE) for one in names.split(", ")
    }
    exported = {one for name in MODULES for one in EXPORTED.findall(source(name))}
    assert exported - imported == set()


@pytest.mark.parametrize(
    ("kind", "view"), [("alignment", "pairView"), ("corpus", "corpusView"), ("likelihood", "likelihoodView")]
)
def test_an_export_has_every_module_behind_those_it_needs_and_one_slot(kind, view):
    script = bundle(FILES[kind][0])
    assert not re.search(r"^(import|export) ", script, re.MULTILINE)
    assert script.rstrip().endswith(f"startView({view});")
    assert script.index("function el(") < script.index(f"function {view}(")
    text = shell(kind)
    assert text.count(SLOT) == 1
    assert not re.search(r"""(?:src|href)=["'](?!data:)""", re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL))


@pytest.mark.parametrize("name", ["../types.py", "..%2f", "/etc/passwd", "a/b.js", "nothing.js", "x.py", ""])
def test_only_the_pages_own_files_are_given(name):
    with pytest.raises(FileNotFoundError):
        page_file(name)
