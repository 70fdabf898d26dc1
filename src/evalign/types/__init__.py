"""The values that flow along the path: Tokens -> Embedded -> Alignment, Row -> Segment -> Report.

All are frozen. Arrays inside them are never written to after construction.
"""

from evalign.types.alignment import Alignment
from evalign.types.arrays import Bools, Floats, Ints
from evalign.types.scores import LayerReport, Report, Row, Segment, corpus_entries
from evalign.types.tokens import Embedded, Tokens

__all__ = [
    "Alignment",
    "Bools",
    "Embedded",
    "Floats",
    "Ints",
    "LayerReport",
    "Report",
    "Row",
    "Segment",
    "Tokens",
    "corpus_entries",
]
