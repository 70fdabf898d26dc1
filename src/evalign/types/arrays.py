"""Names for numpy arrays in signatures; numpy's own result types are too loose for narrower ones to be checked."""

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[Any]
Ints = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
