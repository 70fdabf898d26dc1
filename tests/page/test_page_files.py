"""The page's files keep the rules by which a browser takes them as they are, and the exporter inlines them."""

import re
from importlib import resources
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from evalign.core.plugins import plugins
from evalign.render import export
from evalign.render.export import (
    IMPORT,
    SECTIONS,
    SLOT,
    STARTER,
    bundle,
    exported,
    imported,
    index_page,
    page_file,
    shell,
    views,
)

PAGE = resources.files("evalign.render").joinpath("page")
TESTS = "".join(
    file.read_text() for file in Path(__file__).parent.glob("test_*.py") if file.name != Path(__file__).name
)
VIEWS = views(third_party=False)
FOLDERS = [resources.files(package).joinpath("page") for package in sorted({view.package for view in VIEWS.values()})]
MODULES = sorted(file.relative_to(folder).as_posix() for folder in FOLDERS for file in folder.rglob("*.js"))
CORE_MODULES = {file.relative_to(PAGE).as_posix() for file in PAGE.rglob("*.js")}
VIEW_MODULES = {view.module for view in VIEWS.values()}
ENTRIES = {"app.js", "login.js", STARTER, *VIEW_MODULES}
MAX_MODULES = 45
MAX_LINES = 450
FORBIDDEN = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "import(",
             "import.meta", "export default", "$modules", "http://", "https://")  # fmt: skip


def source(name):
    return page_file(name).decode()


@pytest.mark.parametrize("name", MODULES)
def test_imports_and_exports_have_the_form_that_can_be_inlined(name):
    text = source(name)
    for names, file in imported(name):
        assert set(names) <= set(exported(file)), file
    rest = IMPORT.sub("", text)
    assert not re.search(r"^\s*import\b", rest, re.MULTILINE)
    statements = [line for line in rest.splitlines() if re.match(r"\s*export\b", line)]
    assert len(statements) == len(exported(name)), statements
    assert not re.search(r"^(?:const .* = )?await\b", rest, re.MULTILINE), (
        "a function that is called at once cannot wait"
    )


@pytest.mark.parametrize("name", MODULES)
def test_no_text_becomes_markup_or_code_and_nothing_is_asked_elsewhere(name):
    text = source(name).replace("http://www.w3.org/", "")  # names of XML namespaces, never asked for
    assert [word for word in FORBIDDEN if word in text] == []
    assert text.startswith("//"), "a file opens with what it is for"


def test_every_module_is_used():
    used = {file for name in MODULES for _names, file in imported(name)}
    assert set(MODULES) == used | ENTRIES


def test_every_export_is_imported_by_a_module_an_exported_file_or_a_test():
    used = {(file, name) for module in MODULES for names, file in imported(module) for name in names}
    used |= {(module, "createView") for module in VIEW_MODULES} | {(STARTER, "startView")}
    unused = {(module, name) for module in MODULES for name in exported(module)} - used
    assert {(module, name) for module, name in unused if not (module in TESTS and name in TESTS)} == set()


def test_a_concept_is_one_module_of_readable_length():
    assert len(CORE_MODULES) <= MAX_MODULES
    assert {name: lines for name in MODULES if (lines := source(name).count("\n")) > MAX_LINES} == {}


@pytest.fixture
def page_of(monkeypatch):
    """Puts other modules in place of the page's: a dictionary of texts by name."""

    def put(modules):
        monkeypatch.setattr(export, "page_file", lambda name, third_party=True: modules[name].encode())
        bundle.cache_clear()

    yield put
    bundle.cache_clear()


def test_two_modules_may_declare_the_same_name(page_of, browser):
    page_of(
        {
            "a/one.js": "const SIZE = 1; // of one\nexport function size() {\n  return SIZE;\n}\n"
            "function help() {}\nhelp();\n",
            "a/two.js": 'import { size as sizeOfOne } from "./one.js";\n\nconst SIZE = 2;\n'
            "export class Two {\n  static sizes = [SIZE, sizeOfOne()];\n}\nexport async function size() {}\n",
            "main.js": 'import {\n  Two,\n  size as sizeOfTwo,\n} from "./a/two.js";\n'
            'import { size } from "./a/one.js";\n\n'
            "window.found = [...Two.sizes, size(), sizeOfTwo.name, help()];\n\n"
            'function help() {\n  return "own";\n}\n',
        }
    )
    page = browser.new_page()
    page.set_content(f"<script type=module>{bundle('main.js')}</script>")
    assert page.evaluate("window.found") == [2, 1, 1, "size", "own"]
    assert page.evaluate("typeof SIZE + typeof $modules") == "undefinedundefined"
    page.close()


def test_modules_that_import_each_other_are_refused(page_of):
    page_of({"a.js": 'import { b } from "./b.js";\n', "b.js": 'import { a } from "./a.js";\n'})
    with pytest.raises(ValueError, match=r"a\.js imports itself through a\.js -> b\.js"):
        bundle("a.js")


@pytest.mark.parametrize("kind", VIEWS)
def test_an_exported_file_has_every_module_after_those_it_needs_and_one_slot(kind):
    script = bundle(STARTER, VIEWS[kind].module)
    assert not re.search(r"^(import|export) ", script, re.MULTILINE)
    defined = re.findall(r'^\$modules\["([\w/.]+)"\] = ', script, re.MULTILINE)
    assert len(defined) == len(set(defined))
    for place, module in enumerate(defined):
        assert {file for _names, file in imported(module)} <= set(defined[:place])
    text = shell(kind)
    assert text.count(SLOT) == 1
    assert text.count(f'startView($modules["{VIEWS[kind].module}"].createView);') == 1
    assert not re.search(r"""(?:src|href)=["'](?!data:)""", re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL))


@pytest.mark.parametrize("kind", VIEWS)
def test_an_exported_file_allows_its_own_script_and_style_by_hash_and_no_request(kind):
    text = shell(kind)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)[1]
    script = re.search(r'<script type="module">(.*?)</script>', text, re.DOTALL)[1]
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{export._hash(script)}'; style-src 'sha256-{export._hash(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


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


def test_sections_of_other_packages_are_served_only_on_request(monkeypatch, tmp_path):
    (tmp_path / "page" / "other").mkdir(parents=True)
    (tmp_path / "page" / "other" / "view.js").write_text("// Another view.\n")
    monkeypatch.syspath_prepend(tmp_path.parent)
    view = export.View("other/view.js", "Other", ("other/other.css",), tmp_path.name, "other/view.js")
    (tmp_path / "__init__.py").write_text(f"from evalign.render.export import View\n\nVIEW = {view}\n")
    entry = EntryPoint("other", f"{tmp_path.name}:VIEW", "evalign.views")
    monkeypatch.setattr(export, "plugins", lambda group: {**plugins(group), "other": entry})
    assert page_file("other/view.js") == b"// Another view.\n"
    assert b"./other/view.js" in page_file(SECTIONS)
    assert b"other/other.css" in index_page()
    for content in (page_file(SECTIONS, third_party=False), index_page(third_party=False)):
        assert b"other" not in content
        assert b"lstm" in content
    with pytest.raises(FileNotFoundError):
        page_file("other/view.js", third_party=False)
