"""What a reader does to score a file in the server's page, step by step."""

import json
import re


def panel(opened):
    opened.locator("#u-file").wait_for(state="attached")
    opened.locator("#tab-corpus").click()
    opened.locator("#u-file").wait_for()
    return opened


def upload(page, name, content):
    body = content if isinstance(content, bytes) else content.encode()
    page.set_input_files("#u-file", {"name": name, "mimeType": "text/plain", "buffer": body})


def jsonl(rows):
    named = [{"id": row.id, "system": row.system, "candidate": row.candidate} for row in rows]
    lines = [one | {"references": list(row.references)} for one, row in zip(named, rows, strict=True)]
    return "".join(json.dumps(line) + "\n" for line in lines)


def choose_metrics(page, *names):
    page.locator("#u-preview").wait_for()
    for box in page.locator(".u-metrics input:enabled").all():
        box.set_checked(box.get_attribute("value") in names)


def scored(page):
    """Presses the button and gives the document of the results."""
    page.get_by_role("button", name=re.compile("^Score ")).click()
    page.locator(".c-head").wait_for()
    return saved_document(page)


def saved_document(page):
    with page.expect_download() as started:
        page.get_by_role("button", name="Save the whole document as JSON").click()
    return json.loads(started.value.path().read_text("utf-8"))
