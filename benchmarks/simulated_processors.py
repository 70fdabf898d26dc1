"""Environments in which this machine computes as other processors do: a score must not depend on which one it is.

`environments()` names them; start a process with one of them and call `prepare()` in it before anything is encoded.
`OPENBLAS_CORETYPE` chooses the kernels of NumPy's matrix products, `NPY_DISABLE_CPU_FEATURES` switches off the vector
instructions of everything else in NumPy. Neither reaches ONNX Runtime, whose graph optimisations are switched instead.
"""

from __future__ import annotations

import os
import platform
from typing import Any

PLAIN_ONNX = "EVALIGN_PLAIN_ONNX_RUNTIME"
KERNELS = ("Prescott", "Nehalem", "Haswell", "Zen")


def environments() -> dict[str, dict[str, str]]:
    """Name -> environment variables; the first one is what the others are compared with."""
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    two_threads = {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    found = {"this processor": one_thread, "two BLAS threads": two_threads}
    if platform.machine() in ("x86_64", "AMD64"):
        found |= {kernel: one_thread | {"OPENBLAS_CORETYPE": kernel} for kernel in _kernels()}
    if features := _features():
        found["NumPy without vector instructions"] = one_thread | {"NPY_DISABLE_CPU_FEATURES": " ".join(features)}
    return found | {"ONNX Runtime without optimisations": one_thread | {PLAIN_ONNX: "1"}}


def prepare() -> None:
    """Applies to this process what the environment cannot: ONNX Runtime without its graph optimisations."""
    if os.environ.get(PLAIN_ONNX) != "1":
        return
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    made = onnxruntime.SessionOptions

    def plain() -> onnxruntime.SessionOptions:
        options = made()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        return options

    onnxruntime.SessionOptions = plain


def blas_kernel() -> str:
    """The kernel that NumPy's matrix products use in this process, as threadpoolctl reads it."""
    import numpy as np
    from threadpoolctl import threadpool_info

    np.ones((2, 2)) @ np.ones((2, 2))
    libraries = [library for library in threadpool_info() if library.get("internal_api") == "openblas"]
    return str(libraries[0].get("architecture", "unknown")) if libraries else "none"


def _kernels() -> tuple[str, ...]:
    wide = any(feature.startswith(("X86_V4", "AVX512")) for feature in _features())
    return (*KERNELS, "SkylakeX") if wide else KERNELS


def _features() -> list[str]:
    """The vector instructions that NumPy chooses at run time and has found here, so that it can do without them."""
    import numpy as np

    config: Any = np.show_config(mode="dicts")
    return list(config["SIMD Extensions"].get("found", []))
