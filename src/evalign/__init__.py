"""evalign judges generated text by aligning it with reference text.

    >>> import evalign
    >>> bert = evalign.metric("bertscore")
    >>> report = bert.score(["a cat sat"], ["the cat sat down"])
    >>> report["f1"], report.signature

Names are loaded when first used: `import evalign` itself loads no heavy library. `__init__.pyi` lists them.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

from evalign.version import __version__ as __version__

_LISTED = re.findall(
    r"^from (\S+) import (\w+) as (\w+)( +# isort: skip)?$", Path(__file__).with_suffix(".pyi").read_text("utf-8"), re.M
)
_HOMES = {name: (module, original) for module, original, name, _ in _LISTED}

__all__ = sorted(name for *_, name, former in _LISTED if not former)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'evalign' has no attribute {name!r}")
    module, original = _HOMES[name]
    return getattr(import_module(module), original)


def __dir__() -> list[str]:
    return __all__
