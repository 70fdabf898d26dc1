"""From a choice of model, layers and backend to a loaded encoder, shared by every metric that asks alike."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from evalign.encoders.base import Encoder, Reading
from evalign.encoders.families import FAMILIES, depth
from evalign.encoders.keeping import Kept
from evalign.encoders.known import UNTUNED_DEPTH
from evalign.encoders.layers import parse_layers
from evalign.encoders.memory import EmbeddingMemory
from evalign.encoders.models import Located, locate
from evalign.errors import SpecError

BACKENDS = ("auto", "ort", "torch")
PRECISIONS = ("fp32", "int8", "bf16", "fp16")
FAKE = "fake"
KEPT = 3  # loaded models, by choice: other layers are other graphs


@dataclass(frozen=True, slots=True)
class EncoderChoice:
    """Everything that decides a token vector, and how many threads compute it."""

    model: str = "minilm"
    layer: str | None = None  # None: the tuned one; "all": every state
    precision: str = "fp32"
    backend: str = "auto"
    device: str = "cpu"
    reading: Reading = field(default_factory=Reading)
    threads: int = 0


_kept: Kept[EmbeddingMemory] = Kept(KEPT)


def open_encoder(choice: EncoderChoice) -> EmbeddingMemory:
    """A loaded model is kept: scoring again, or with another metric, does not load it again.

    Directories are looked at every time: a checkpoint that was written anew is another model.
    """
    if choice.model == FAKE:
        return _kept.get((FAKE, choice.layer), lambda: _open_fake(choice.layer))
    located = locate(choice.model)
    located = replace(located, directory=located.directory.resolve())
    return _kept.get((choice, located, _written(located)), lambda: _open(choice, located))


def keep_encoders(most: int) -> None:
    """How many loaded models are kept in this process, which is 3 unless told."""
    _kept.resize(most)


def close_encoders() -> None:
    """Forgets every loaded model, and frees its memory once no metric's scorer holds it."""
    _kept.clear()


def _open_fake(layer: str | None) -> EmbeddingMemory:
    from evalign.encoders.fake import FakeEncoder

    return EmbeddingMemory(FakeEncoder(None if layer == "all" else parse_layers(layer or "2")))


def _written(located: Located) -> tuple[int, ...]:
    """When the small files beside the weights were last written."""
    files = (located.directory / name for name in ("config.json", "tokenizer.json", "tokenizer_config.json"))
    return tuple(file.stat().st_mtime_ns if file.is_file() else 0 for file in files)


def _open(choice: EncoderChoice, located: Located) -> EmbeddingMemory:
    encoder = _load(located, choice)
    encoder.name = located.pinned
    return EmbeddingMemory(encoder)


def _load(located: Located, choice: EncoderChoice) -> Encoder:
    config = located.config()
    layers = None if choice.layer == "all" else parse_layers(choice.layer or default_layer(located, config))
    if _backend(choice, str(config.get("model_type"))) == "torch":
        from evalign.encoders.torch_hf import TorchEncoder

        return TorchEncoder(
            located.directory, config, layers, choice.reading, choice.precision, choice.device, choice.threads
        )
    from evalign.encoders.ort import OrtEncoder

    return OrtEncoder(located.directory, config, layers, choice.reading, choice.precision, choice.threads)


def _backend(choice: EncoderChoice, family: str) -> str:
    light = choice.device == "cpu" and choice.precision in ("fp32", "int8") and family in FAMILIES
    backend = choice.backend if choice.backend != "auto" else ("ort" if light else "torch")
    if backend == "torch" and choice.precision == "int8":
        raise SpecError("precision=int8 runs with backend=ort only; backend=torch has fp32, bf16, fp16")
    if backend == "ort" and (choice.device != "cpu" or choice.precision in ("bf16", "fp16")):
        raise SpecError("backend=ort runs fp32 or int8 on the cpu; for other devices and precisions use backend=torch")
    return backend


def default_layer(located: Located, config: dict[str, object]) -> str:
    """The tuned layer, or three quarters of the depth, where most tuned layers lie; signatures show it."""
    if located.tuned_layer is not None:
        return located.tuned_layer
    layers = depth(config)
    if layers is None:
        raise SpecError(f"no tuned layer is known for {located.label}; give one, as in layer=9")
    return str(round(UNTUNED_DEPTH * layers))
