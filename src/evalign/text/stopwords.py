"""English function words, for metrics that may leave them out: articles, pronouns, prepositions, auxiliaries.

Lower case, as single word pieces: what a tokenizer leaves of `don't` and `we'll` is listed too.
"""

from __future__ import annotations

_WORDS = """
a an the this that these those some any each every either neither both all such no none i me my mine myself you your
yours yourself yourselves he him his himself she her hers herself it its itself we us our ours ourselves they them
their theirs themselves one oneself who whom whose which what where when why how whoever whatever whichever and or but
nor so yet if unless because although though while whereas than as since until whether of in on at by for with from to
into onto upon about above below over under between among through during before after against within without toward
towards across along around behind beside besides beyond near off out up down per via am is are was were be been being
have has had having do does did doing done can could may might must shall should will would ought not only own same
other another more most much many few less least very too also just again further then once here there now ever even
still s t d m o ll re ve don doesn didn isn aren wasn weren haven hasn hadn won wouldn shan shouldn couldn mustn needn
"""

ENGLISH = frozenset(_WORDS.split())
