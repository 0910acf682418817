"""PyTorch APIs: the vocabulary, the API set of a module's source, the co-occurrence distribution, sampling of sets.

Pure values and syntax trees: nothing here imports torch, model code or the store. Frontier sets come in as plain lists
`[(module_id, apis)]`; the SQL that finds them lives in `sql/`.
"""

from kernelzero.apis.cooccurrence import CoOccurrence
from kernelzero.apis.extract import Extraction, api_set, extract
from kernelzero.apis.sampling import SampledSet, mix
from kernelzero.apis.vocabulary import VOCABULARY, Api, canonical, check_api_set

__all__ = [
    "VOCABULARY",
    "Api",
    "CoOccurrence",
    "Extraction",
    "SampledSet",
    "api_set",
    "canonical",
    "check_api_set",
    "extract",
    "mix",
]
