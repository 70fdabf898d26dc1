"""Backend without torch: ONNX Runtime over a graph built from safetensors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

# Since 1.31 it sends telemetry about every session unless this is set before it is imported.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
import onnxruntime

from evalign.core import Floats, Ints
from evalign.encoders.adapter import Adapter
from evalign.encoders.base import BatchingEncoder, EncodeOptions, out_of_memory
from evalign.encoders.families import architecture, pad_token
from evalign.encoders.graph import EncoderGraph, build_graph
from evalign.encoders.loading import check_layers
from evalign.encoders.safetensors_headers import tensor_locations
from evalign.encoders.tokenizer import Tokenizer, puts_prefix_space
from evalign.errors import ModelError, WeightsError


class OrtEncoder(BatchingEncoder):
    """A model directory on the CPU. `layers=None` returns every state, the embeddings' first."""

    def __init__(
        self, directory: Path, config: dict[str, Any], layers: tuple[int, ...] | None, reading: EncodeOptions,
        precision: str = "fp32", threads: int = 0, adapter: Adapter | None = None,
    ) -> None:  # fmt: skip
        tensors = tensor_locations(directory)
        arch = architecture(config, tensors)
        layers = check_layers(layers, len(arch.layers))
        prefix_space = puts_prefix_space(directory, arch.family, reading.profile)
        tokenizer = Tokenizer.from_directory(directory, prefix_space)
        graph = build_graph(arch, tensors, layers, precision, adapter)
        reading = reading.within(graph.positions, tokenizer)
        super().__init__(directory.name, tokenizer, layers, reading, pad_token(config), precision)
        self._outputs = list(graph.outputs)
        self._session = _session(graph, threads)
        probe = np.zeros((1, 2), dtype=np.int64)
        self.forward(probe, probe + 1)  # fail here, not in the middle of a job, if shapes do not fit

    def forward(self, ids: Ints, mask: Ints) -> Floats:
        """Run one padded batch."""
        try:
            states = self._session.run(self._outputs, {"ids": ids, "mask": mask})
        except Exception as error:  # onnxruntime's own errors share no base class but this
            if out_of_memory(error):
                raise ModelError(f"{self.name}: there is not enough memory for {ids.size} tokens at once") from error
            reason = str(error).splitlines()[0][:200]
            raise WeightsError(f"{self.name}: weights, config.json and tokenizer.json do not fit ({reason})") from error
        return states[0][None] if len(states) == 1 else np.stack(states)


def _session(graph: EncoderGraph, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.enable_mem_pattern = False  # no two batches have the same shape
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(graph.folder))
    merged = [onnxruntime.OrtValue.ortvalue_from_numpy(weight) for weight in graph.merged.values()]
    options.add_external_initializers(list(graph.merged), merged)
    try:
        return onnxruntime.InferenceSession(graph.model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own errors share no base class but this
        if out_of_memory(error):
            raise ModelError(f"there is not enough memory to load the model in {graph.folder}") from error
        raise WeightsError(
            f"ONNX Runtime cannot load the model in {graph.folder}: its weights do not fit its config.json, or are "
            f"damaged; get it again ({str(error).strip()})"
        ) from error
