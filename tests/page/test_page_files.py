"""The page's files keep the rules that let them be shipped as they are and inlined into one script."""

import re
from importlib import resources

import pytest

from evalign.render.export import FILES, IMPORT, SLOT, bundle, imported, page_file, shell

PAGE = resources.files("evalign.render").joinpath("page")
MODULES = sorted(file.relative_to(PAGE).as_posix() for file in PAGE.rglob("*.js"))
ENTRIES = {"app.js", *(entry for entry, _styles in FILES.values())}
DECLARED = re.compile(r"^(?:export )?(?:async )?(?:function\*?|const|let|class) (\w+)", re.MULTILINE)
EXPORTED = re.compile(r"^export (?:(?:async )?function\*?|const|class) (\w+)", re.MULTILINE)
FORBIDDEN = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "import(",
             "import.meta", "export default", "http://", "https://")  # fmt: skip


def source(name):
    return page_file(name).decode()


@pytest.mark.parametrize("name", MODULES)
def test_imports_and_exports_have_the_one_form_that_can_be_inlined(name):
    text = source(name)
    for names, file in imported(name):
        assert set(names) <= set(EXPORTED.findall(source(file))), file
    rest = IMPORT.sub("", text)
    assert not re.search(r"^\s*import\b", rest, re.MULTILINE)
    for line in rest.splitlines():
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
    used = {file for name in MODULES for _names, file in imported(name)}
    assert set(MODULES) - used == ENTRIES


def test_every_export_is_imported_somewhere():
    used = {one for name in MODULES for names, _file in imported(name) for one in names}
    exported = {one for name in MODULES for one in EXPORTED.findall(source(name))}
    assert exported - used == set()


def test_no_module_is_longer_than_300_lines():
    assert {name: lines for name in MODULES if (lines := source(name).count("\n")) > 300} == {}


@pytest.mark.parametrize(
    ("kind", "view"),
    [
        ("alignment", "pairView"),
        ("corpus", "corpusView"),
        ("likelihood", "likelihoodView"),
        ("lstm", "lstmView"),
    ],
)
def test_an_export_has_every_module_behind_those_it_needs_and_one_slot(kind, view):
    script = bundle(FILES[kind][0])
    assert not re.search(r"^(import|export) ", script, re.MULTILINE)
    assert script.rstrip().endswith(f"startView({view});")
    assert script.index("function el(") < script.index(f"function {view}(")
    text = shell(kind)
    assert text.count(SLOT) == 1
    assert not re.search(r"""(?:src|href)=["'](?!data:)""", re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL))


@pytest.mark.parametrize(
    "name", ["../types.py", "..%2f", "/etc/passwd", "a/b.js", "pair/../app.js", "pair", "nothing.js", "x.py", ""]
)
def test_only_the_pages_own_files_are_given(name):
    with pytest.raises(FileNotFoundError):
        page_file(name)


@pytest.mark.parametrize("name", MODULES)
def test_no_template_has_text_on_several_lines(name):
    """`export._compact` takes indentation away, which must mean nothing."""
    outside = re.sub(r"\$\{[^{}]*\{[^{}]*\}[^{}]*\}", "", source(name))
    assert [line for line in outside.splitlines() if line.count("`") % 2] == []
