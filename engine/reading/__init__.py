"""What a careful person says where a text stands: written words, figures and signs -> spoken words.

    read("It cost $5.30.") -> it(It) cost(cost) five dollars and thirty cents($5.30) .(.)

Theory of operation. A language is a table of rules, grouped by the classes in which figures are
used (money, dates, codes, ...; the field calls them semiotic classes). `scan` walks the text once.
Plain words, nearly all of a text, take a short way; at every other place the first rule whose
pattern fits and whose verbaliser does not decline (None) decides. A verbaliser sees its match
inside the whole text, so the words beside it can decide between two classes. Rules are small and
chain: "a minus sign before an amount" and "an amount" are two, not one.

Pure: no torch, no state, nothing else of ours.
"""

from engine.reading.languages import LANGUAGES, read
from engine.reading.scan import OTHER_SCRIPT
from engine.reading.types import Kind, Reading, Word

__all__ = ["LANGUAGES", "OTHER_SCRIPT", "Kind", "Reading", "Word", "read"]
