"""Every public name and where it lives: read by type checkers, and by `__init__.py`, which loads names when used.

One name per line. The last lines are former names, still read.
"""

from evalign.analysis.agreement import judge as judge
from evalign.analysis.audit.run import audit as audit
from evalign.analysis.audit.values import Audit as Audit
from evalign.analysis.audit.values import AuditPlan as AuditPlan
from evalign.analysis.comparison.run import compare as compare
from evalign.encoders.loading import keep_embeddings as keep_embeddings
from evalign.errors import EvalignError as EvalignError
from evalign.errors import FileFormatError as FileFormatError
from evalign.errors import InputError as InputError
from evalign.errors import LayerError as LayerError
from evalign.errors import LengthMismatchError as LengthMismatchError
from evalign.errors import MissingExtraError as MissingExtraError
from evalign.errors import ModelError as ModelError
from evalign.errors import ModelNotFoundError as ModelNotFoundError
from evalign.errors import SpecError as SpecError
from evalign.errors import TableError as TableError
from evalign.errors import TextTooLongError as TextTooLongError
from evalign.errors import UndefinedStatisticError as UndefinedStatisticError
from evalign.errors import UnsupportedModelError as UnsupportedModelError
from evalign.errors import WeightsError as WeightsError
from evalign.metrics.bartscore import BARTScore as BARTScore
from evalign.metrics.base import Metric as Metric
from evalign.metrics.bert_scorer import BERTScorer as BERTScorer
from evalign.metrics.bert_scorer import score as score
from evalign.metrics.bertscore import BERTScore as BERTScore
from evalign.metrics.evalign_metric import Evalign as Evalign
from evalign.metrics.learned import Learned as Learned
from evalign.metrics.lexical.gleu import GLEU as GLEU
from evalign.metrics.lexical.lcsr import LCSR as LCSR
from evalign.metrics.lexical.meteor.metric import Meteor as Meteor
from evalign.metrics.lexical.readability import FKGL as FKGL
from evalign.metrics.lexical.readability import SMOG as SMOG
from evalign.metrics.lexical.rouge.metrics import RougeL as RougeL
from evalign.metrics.lexical.rouge.metrics import RougeLsum as RougeLsum
from evalign.metrics.lexical.rouge.metrics import RougeMEAD as RougeMEAD
from evalign.metrics.lexical.rouge.metrics import RougeN as RougeN
from evalign.metrics.lexical.rouge.metrics import RougeW as RougeW
from evalign.metrics.lexical.rouge.skip_bigrams import RougeS as RougeS
from evalign.metrics.lexical.rouge.skip_bigrams import RougeSU as RougeSU
from evalign.metrics.lexical.sacrebleu_metrics import BLEU as BLEU
from evalign.metrics.lexical.sacrebleu_metrics import TER as TER
from evalign.metrics.lexical.sacrebleu_metrics import ChrF as ChrF
from evalign.metrics.lexical.sari import SARI as SARI
from evalign.metrics.lisascore import LiSAScore as LiSAScore
from evalign.metrics.lstm import LSTM as LSTM
from evalign.metrics.moverscore import MoverScore as MoverScore
from evalign.metrics.registry import metric as metric
from evalign.metrics.sentence_vectors import EndToken as EndToken
from evalign.metrics.sentence_vectors import SBert as SBert
from evalign.metrics.signature import Signature as Signature
from evalign.testing.laws import check_metric as check_metric
from evalign.text.idf import IDFTable as IDFTable
from evalign.text.words import register_tokenizer as register_tokenizer
from evalign.types import Alignment as Alignment
from evalign.types import Embedded as Embedded
from evalign.types import LayerReport as LayerReport
from evalign.types import Report as Report
from evalign.types import Row as Row
from evalign.types import Segment as Segment
from evalign.types import Tokens as Tokens
from evalign.version import __version__ as __version__

from evalign.metrics.evalign_metric import Recipe as Recipe  # isort: skip
from evalign.metrics.lexical.rouge.metrics import Rouge1 as Rouge1  # isort: skip
from evalign.metrics.lexical.rouge.metrics import Rouge2 as Rouge2  # isort: skip
from evalign.metrics.lexical.rouge.metrics import Rouge3 as Rouge3  # isort: skip
from evalign.metrics.lexical.rouge.metrics import Rouge4 as Rouge4  # isort: skip
from evalign.metrics.lexical.rouge.metrics import Rouge5 as Rouge5  # isort: skip
from evalign.metrics.lexical.rouge.metrics import Rouge6 as Rouge6  # isort: skip
from evalign.metrics.lexical.rouge.metrics import Rouge7 as Rouge7  # isort: skip
from evalign.metrics.lexical.rouge.metrics import Rouge8 as Rouge8  # isort: skip
from evalign.metrics.lexical.rouge.metrics import Rouge9 as Rouge9  # isort: skip
