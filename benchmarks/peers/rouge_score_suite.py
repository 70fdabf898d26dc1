"""rouge-score's own test files, run against evalign's ROUGE.

Its distributions carry the tests without their data. The texts that single tests compare are typed below; they are in
https://github.com/google-research/google-research, rouge/testdata (random letters, made for these tests). The tests
over its 250 texts are left out.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from peers import as_rouge_score
from peers.suites import Suite
from peers.test_files import Known, left_out_files, run_test_files, source_distribution, with_stand_in

FILES = ("rouge_scorer_test", "scoring_test", "tokenize_test", "tokenizers_test")
TARGETS = """\
ZfbCUIUuePaiLVUlCaUXxkpu XPeWing tUHfPMuZ',-Xd Y BrUgVJing M-HV.-DgdDaY.rFDJCRing Ht-LM EKBDXkME,yz'RBr q'wtion \
wIojNbN wL,b .a-'XdQggyFl jB-RPP'iyOIcUxer tKM L
KsJdPByEtAor fE-Qg Dpdbring cw-WeFyu vC MoBL Xdn g wkvcEiGvKtion BDFhrpMtion psing sbKao Q m qiing LMmer \
HqqLFXe,XPY,J XsurkMer ,ed nB'wH'bWVHjWFEing tQ.saefZwJtKrTlixYpMMsJing UCAPwNHeYVjDing c T BUySKtion gMPfJpwGw \
p'NvxAoping eu pBwMBKV'I DNxqelhu,PHPxDEq,mtion SN
"""
PREDICTIONS = """\
rFDJCRtion Ht-LM EKtDXkME,yz'RBr q'wer wrojNbN wL,b .a-'XdQggyFl jB-RPP'iyOIcUxi
n cw-WeFyu vC MoBL Xdn g wkvcEiGvKtion BDFhrpMer pstion sbKao Q m qier LMmed HqqLFXe,XPY,J XsurkMeo ,ed \
nB'wH'bWVHjWFEer tQ.saefZwJtKrTlixYpMMNJtion UCAPwNHeYVjD
"""
TARGET_LINES = """\
NhETebUbBk'er WOvoHMTjSRizKgH'vHiing Xu,hWxfs VkNE QhgKiLHE -HidivzoM.dO anhtion jbLQiSGDTCsuhREebUaKM dv J dVN tmbOT
vMR HDm,xOAetion D,tion HJtodT.mHl UIv-p VjWH'BdyWjnfGU-OjT aEMdFICyLWfQMtion wEMfdOKing AwkeKbO 'DxqNOHBH qKtVvm \
OYJl mM
"""
PREDICTION_LINES = """\
xfs VkJE QhgKiLHE -HidivzoM.dO anhing jbLQiSGDTCsuhREebUaKM dv J
VjWH'BdyWjnfGU-OjTNaEMdFICyLWfQMing wEMfdOKijg AwkeKbO 'DxqNO
"""
INTERNAL = "it calls the package's private functions"
NOT_SHIPPED = "its 250 texts are in no distribution"
KNOWN = Known(
    differ={"*::testLargeConfidence": "it asks for an interval of confidence 0, which is refused here"},
    left_out={
        "*::testLcsTable": INTERNAL,
        "*::testUnionLcs": INTERNAL,
        "*::testSummaryLevelLcs": INTERNAL,
        "*::testRougeLsumLarge": NOT_SHIPPED,
        "*::testConfidenceIntervals*": NOT_SHIPPED,
    },
)


def run(folder: Path) -> Suite:
    """Fetches the source distribution of the installed version into the folder, and runs its tests."""
    root = source_distribution("rouge-score", version("rouge-score"), folder) / "rouge_score"
    copied = folder / "tests_of_rouge_score"
    texts = {"target.txt": TARGETS, "prediction.txt": PREDICTIONS}
    texts |= {"pyrouge_files/target_multi.0.txt": TARGETS + TARGET_LINES}
    texts |= {"pyrouge_files/prediction_multi.0.txt": PREDICTIONS + PREDICTION_LINES}
    (copied / "pyrouge_files").mkdir(parents=True)
    for name, text in texts.items():
        (copied / name).write_text(text, "utf-8")
    stand_in = as_rouge_score.install(copied)
    files = with_stand_in([root / f"{name}.py" for name in FILES], copied, "rouge_score", stand_in)
    others = left_out_files([root / "io_test.py"], "reading and writing the files of its command line")
    cases = (*run_test_files(files, KNOWN, copied), *others)
    return Suite("rouge-score", version("rouge-score"), "its source distribution", cases)
