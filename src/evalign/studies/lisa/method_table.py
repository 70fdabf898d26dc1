"""Table 1 of the LiSAScore paper: which methods run on accelerators and keep gradients, as printed and as found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from evalign.errors import MissingExtraError
from evalign.matching.registry import METHODS, matching_class
from evalign.render.study.page import Numbers, Plate, StudyTable
from evalign.studies.lisa.measured import LisaStudy
from evalign.studies.wording import listed, percent

COLUMNS = ("method", "name", "paper_accelerator", "found_accelerator", "paper_gradient", "found_gradient_share")
NOT_TESTED = "not tested: it needs the extra 'torch'"


@dataclass(frozen=True)
class PaperMethod:
    """A line of the paper's Table 1, and other forms with gradients that are here."""

    words: str
    accelerator: bool
    gradient: bool
    soft_forms: tuple[str, ...] = ()


TABLE_1 = {
    "exact": PaperMethod("stock", False, False, ("envelope", "sinkhorn", "straight-through", "gumbel-sinkhorn")),
    "row-mask": PaperMethod("row masking", True, False),
    "recursive-argmax": PaperMethod("recursive argmax", True, False, ("recursive-softmax", "recursive-gumbel")),
    "recursive-topk": PaperMethod("recursive top-k", True, True),
    "auction-topk": PaperMethod("aggressive auction top-k", True, True),
}


def capabilities() -> dict[str, dict[str, Any]]:
    """Of every method, whether it stays on torch's device, and how many similarities its selection has a gradient to.

    Empty where torch is not installed.
    """
    try:
        from evalign.matching.soft.capabilities import capability
    except MissingExtraError:
        return {}
    return {name: asdict(capability(matching_class(name)())) for name in METHODS}


def as_printed(found: Mapping[str, Mapping[str, Any]]) -> int:
    """How many of the table's ten cells were found as the paper has them."""
    return sum(
        (found[name]["on_device"] == printed.accelerator) + ((found[name]["gradient"] > 0) == printed.gradient)
        for name, printed in TABLE_1.items()
    )


def method_table(study: LisaStudy) -> Plate:
    """The table with what was found by running each method on tensors."""
    found = study.capabilities
    lines, numbers = [], []
    for name in METHODS:
        words, forms = "–", "–"
        paper: tuple[bool | None, bool | None] = None, None
        if (printed := TABLE_1.get(name)) is not None:
            words, paper, forms = printed.words, (printed.accelerator, printed.gradient), _forms(printed)
        own = found.get(name, {})
        device, gradient = own.get("on_device"), own.get("gradient")
        shown = "–" if gradient is None else f"yes, {percent(gradient)}" if gradient else "no"
        lines.append((words, name, _word(paper[0]), _word(device), _word(paper[1]), shown, forms))
        numbers.append((words, name, _number(paper[0]), _number(device), _number(paper[1]), gradient))
    columns = (
        "paper's method",
        "name here",
        "accelerators: paper",
        "found",
        "gradient: paper",
        "found",
        "other soft forms",
    )
    sentences = (
        "Found by running each method on torch tensors. Accelerators: no array was taken out of torch or off its "
        "device on the way. Gradient: the share of all similarities that move the selection itself, by autograd; the "
        "selection is evalign's soft form of the same name where there is one. What a selected cell is worth has a "
        "gradient under every method.",
        f"{as_printed(found)} of the paper's {2 * len(TABLE_1)} entries were found as printed."
        if found
        else f"The columns “found” are empty: {NOT_TESTED}.",
    )
    table = StudyTable("The methods, as in the paper's Table 1", columns, tuple(lines), names=7)
    return Plate(
        "table1", "Table 1: the methods", said=sentences, tables=(table,), numbers=Numbers(COLUMNS, tuple(numbers))
    )


def _word(value: bool | None) -> str:
    return "–" if value is None else "yes" if value else "no"


def _number(value: bool | None) -> int | None:
    return None if value is None else int(value)


def _forms(printed: PaperMethod) -> str:
    return listed(printed.soft_forms) if printed.soft_forms else "–"
