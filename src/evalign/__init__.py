"""evalign judges generated text by aligning it with reference text.

    >>> import evalign
    >>> bert = evalign.metric("bertscore")
    >>> report = bert.score(["a cat sat"], ["the cat sat down"])
    >>> report["f1"], report.signature

Names are imported when first used: `import evalign` itself loads no heavy library. `__init__.pyi` lists them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
