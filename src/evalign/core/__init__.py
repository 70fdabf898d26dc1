"""The values that flow along the path: Tokens -> Embedded -> Alignment, Row -> Segment -> Report.

All are frozen. Arrays inside them are never written to after construction.
"""

from evalign.core.alignment import Alignment, Opposite
from evalign.core.report import LayerReport, Report, Row, Segment
from evalign.core.tokens import Bools, Embedded, Floats, Ints, Tokens

__all__ = [
    "Alignment",
    "Bools",
    "Embedded",
    "Floats",
    "Ints",
    "LayerReport",
    "Opposite",
    "Report",
    "Row",
    "Segment",
    "Tokens",
]
