"""How quick the pair view is at 512 x 512 tokens, beside a plain SVG with one node per line, in the same browser.

    python benchmarks/page.py [--repeat 7] [--tokens 512] [--hovers 12] [--rows 40000]

First picture: from the document's text (JSON, all matchings, the matrix packed) to the first frame that shows it.
Hover: from the pointer's event to the frame that shows its lines. Ours draws texts, minimaps and card; the plain page
draws the same words and one <path> per line, and dims the others on hover. Both take turns in fresh pages; medians.
Large file: an exported file of scores with that many rows, from its address to the first frame that shows its list.
First visit: the page of `evalign serve` in a browser without a cache, from its address to the first picture; with all
modules in one answer, as the server sends them, and with a request for each module, all of them preloaded.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser, Page, Route, sync_playwright

from evalign.core.registry import metric
from evalign.metrics.all_matchings import align_all
from evalign.render.documents import alignment_document
from evalign.render.export import imported, page_file

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu")
FIELDS = ("first picture", "hover")

CLOCK = """
const frame = () => new Promise((shown) => requestAnimationFrame(() => {
  const after = new MessageChannel();
  after.port1.onmessage = () => shown(performance.now());
  after.port2.postMessage(null);
}));
addEventListener("pointerover", async (event) => {
  if (!event.target.closest("[data-unit]")) return;
  const begun = event.timeStamp;
  window.hovers.push(await frame() - begun);
}, true);
window.hovers = [];
window.begin = async () => {
  const text = await (await fetch("document.json")).text();
  await frame();
  const begun = performance.now();
  draw(document.getElementById("view"), JSON.parse(text));
  return await frame() - begun;
};
"""

OURS = f"""<!DOCTYPE html><meta charset=utf-8>
<link rel=stylesheet href=shared/base.css><link rel=stylesheet href=pair/pair.css>
<body><main id=view></main><script type=module>
import {{ createView as draw }} from "./pair/view.js";
{CLOCK}
</script>"""

PLAIN = f"""<!DOCTYPE html><meta charset=utf-8><link rel=stylesheet href=shared/base.css>
<style>
main {{ position: relative; display: grid; grid-template-columns: 1fr 1fr; gap: 6rem; line-height: 2; }}
svg {{ position: absolute; inset: 0; width: 100%; height: 100%; pointer-events: none; }}
path {{ fill: none; stroke: #0072b2; stroke-width: 1.5; }} path.recall {{ stroke: #c24f00; stroke-dasharray: 5 4; }}
.dim {{ opacity: .05; }}
</style><body><main id=view></main><script type=module>
const draw = (root, doc) => {{
  const [matching] = doc.matchings;
  const spans = {{}};
  for (const side of ["candidate", "reference"]) {{
    const text = document.createElement("p");
    spans[side] = doc[side].pieces.map((piece, unit) => {{
      const span = document.createElement("span");
      span.textContent = doc[side].special[unit] ? piece : doc[side].text.slice(...doc[side].offsets[unit]);
      Object.assign(span.dataset, {{ side, unit }});
      text.append(span, " ");
      return span;
    }});
    root.append(text);
  }}
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  root.append(svg);
  const corner = svg.getBoundingClientRect();
  const line = (kind, candidate, reference, value) => {{
    const from = spans.candidate[candidate].getBoundingClientRect();
    const to = spans.reference[reference].getBoundingClientRect();
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    const [x, y, right, low] = [from.right - corner.left, from.top + from.height / 2 - corner.top,
      to.left - corner.left, to.top + to.height / 2 - corner.top];
    const middle = (x + right) / 2;
    path.setAttribute("d", `M${{x}} ${{y}}C${{middle}} ${{y}} ${{middle}} ${{low}} ${{right}} ${{low}}`);
    path.setAttribute("class", kind);
    path.setAttribute("stroke-opacity", value);
    svg.append(path);
    return {{ path, candidate, reference }};
  }};
  const lines = [
    ...matching.candidate_partners.map((j, i) => line("precision", i, j, matching.candidate_values[i])),
    ...matching.reference_partners.map((i, j) => line("recall", i, j, matching.reference_values[j])),
  ];
  root.addEventListener("pointerover", (event) => {{
    const {{ side, unit }} = event.target.dataset;
    if (!unit) return;
    for (const one of lines) one.path.classList.toggle("dim", one[side] !== Number(unit));
  }});
}};
{CLOCK}
</script>"""


def document(tokens: int) -> bytes:
    """Two texts of that many tokens, two of them special, under every matching."""
    stock = [f"{first}{second}" for first in ("ba", "de", "fi", "go", "ku") for second in ("lan", "mor", "nis", "ret")]
    texts = [
        " ".join(stock[(seed * place * place + place) % len(stock)] for place in range(tokens - 2)) for seed in (1, 3)
    ]
    every = align_all(metric("bertscore(model=fake)"), *texts)
    return json.dumps(alignment_document(every.alignments, every.skipped, packed=True)).encode()


def serve(files: dict[str, bytes]) -> ThreadingHTTPServer:
    """The page's files and the benchmark's own, on this machine only."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.strip("/")
            try:
                body = files.get(name) or page_file(name)
            except FileNotFoundError:
                self.send_error(404)
                return
            kinds = {"js": "text/javascript", "css": "text/css", "html": "text/html", "json": "application/json"}
            self.send_response(200)
            self.send_header("Content-Type", kinds[name.rpartition(".")[2]])
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def measure(page: Page, address: str, hovers: int) -> tuple[float, list[float]]:
    """Milliseconds to the first picture, and of every hover."""
    page.goto(address)
    page.wait_for_function("window.begin !== undefined")
    first = page.evaluate("begin()")
    page.wait_for_timeout(300)
    page.mouse.move(2, 2)
    page.evaluate("window.hovers.length = 0")
    for place in range(hovers):
        side, unit = ("candidate", "reference")[place % 2], 5 + 3 * place
        box = page.locator(f'[data-side="{side}"][data-unit="{unit}"]').bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_timeout(60)
    page.wait_for_function(f"window.hovers.length >= {hovers}")
    return first, page.evaluate("window.hovers")


def large_file(browser: Browser, rows: int, repeat: int) -> tuple[float, list[float]]:
    """Megabytes of an exported file with so many rows, and the milliseconds until its list is there."""
    texts = [f"row {row} of a long file about {row % 997} things that {row % 89} people saw" for row in range(rows)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.html"
        metric("rouge1").score(texts[::-1], texts).to_html(path)
        spent = []
        for _ in range(repeat):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(path.as_uri(), wait_until="commit")
            page.locator(".c-open").first.wait_for()
            spent.append(page.evaluate("new Promise((seen) => requestAnimationFrame(() => seen(performance.now())))"))
            page.close()
        return path.stat().st_size / 1e6, spent


FIRST_PICTURE = """new Promise((seen) => {
  const look = () => (document.querySelector(".pair-stage") ? seen(performance.now()) : requestAnimationFrame(look));
  look();
})"""


def first_visits(browser: Browser, repeat: int) -> dict[str, list[float]]:
    """Milliseconds until the server's page shows its first example, by how its modules are sent."""
    modules = ["app.js"]
    for name in modules:
        modules += [file for _names, file in imported(name) if file not in modules]
    links = "".join(f'<link rel="modulepreload" href="/page/{name}">' for name in modules)
    index = page_file("index.html").decode().replace("<script", f"{links}<script", 1)

    def separate(route: Route) -> None:
        if route.request.url.endswith("/page/app.js"):
            route.fulfill(body=page_file("app.js"), content_type="text/javascript")
        else:
            route.fulfill(body=index, content_type="text/html; charset=utf-8")

    spent: dict[str, list[float]] = {"one request": [], "a request for each module": []}
    with served() as address:
        for _ in range(repeat + 1):
            for sending, times in spent.items():
                context = browser.new_context()
                page = context.new_page()
                if sending != "one request":
                    page.route(re.compile(f"^{re.escape(address)}(page/app\\.js)?$"), separate)
                page.goto(address, wait_until="commit")
                times.append(page.evaluate(FIRST_PICTURE))
                context.close()
    return {sending: times[1:] for sending, times in spent.items()}  # the first visit warms the server


@contextmanager
def served() -> Iterator[str]:
    """The address of `evalign serve` with a model that needs no files."""
    command = [sys.executable, "-m", "evalign", "serve", "--port", "0", "--model", "fake"]
    with tempfile.TemporaryFile("w+") as log:
        server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            while True:
                log.seek(0)
                text = log.read()
                if address := re.search(r"http://127\.0\.0\.1:\d+/", text):
                    break
                if server.poll() is not None:
                    raise RuntimeError(text)
                time.sleep(0.1)
            yield address[0]
        finally:
            server.terminate()
            server.wait()


def percentile_95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20, method="inclusive")[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--hovers", type=int, default=12)
    parser.add_argument("--rows", type=int, default=40_000)
    options = parser.parse_args()
    data = document(options.tokens)
    server = serve({"ours.html": OURS.encode(), "plain.html": PLAIN.encode(), "document.json": data})
    times: dict[str, tuple[list[float], list[float]]] = {"ours": ([], []), "plain": ([], [])}
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
        for _ in range(options.repeat):
            for name, (firsts, hovers) in times.items():
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                first, hovered = measure(page, f"http://127.0.0.1:{server.server_port}/{name}.html", options.hovers)
                firsts.append(first)
                hovers.extend(hovered)
                page.close()
        megabytes, opened = large_file(browser, options.rows, options.repeat)
        visits = first_visits(browser, options.repeat)
        browser.close()
    server.shutdown()
    print(
        f"{options.tokens} x {options.tokens} tokens, document of {len(data) / 1000:.0f} kB, {options.repeat} turns\n"
    )
    print("| milliseconds, median (95 %, worst) | ours | one node per line | ratio |\n|---|---|---|---|")
    for place, field in enumerate(FIELDS):
        ours, plain = (times[name][place] for name in ("ours", "plain"))
        shown = [
            f"{statistics.median(each):.0f} ({percentile_95(each):.0f}, {max(each):.0f})" for each in (ours, plain)
        ]
        print(f"| {field} | {shown[0]} | {shown[1]} | {statistics.median(ours) / statistics.median(plain):.2f} |")
    print(f"\nA file of {options.rows:,} rows, {megabytes:.0f} MB, shows its list after "
          f"{statistics.median(opened):.0f} ms (worst {max(opened):.0f})")  # fmt: skip
    for sending, spent in visits.items():
        print(f"First visit, {sending}: picture after {statistics.median(spent):.0f} ms (worst {max(spent):.0f})")


if __name__ == "__main__":
    main()
