"""The view of an LSTM document on the page and in exported files; page/ has its modules, schema/ its JSON Schema."""

from evalign.render.export import View

VIEW = View(
    "lstm/view.js",
    "LSTM gates",
    ("shared/base.css", "pair/pair.css", "lstm/lstm.css"),
    package="evalign.research.lstm",
    section="lstm/view.js",
)
