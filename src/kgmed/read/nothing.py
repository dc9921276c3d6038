"""What a reader says that has no evidence to read."""

from kgmed.kg.language import prompt_language
from kgmed.types import Answer, Context, Question

_NONE = {"en": "No evidence was found for this question.", "zh": "没有找到与这个问题有关的证据。"}
_LEFT_OUT = {
    "en": "Evidence was found for this question, but all of it was left out.",
    "zh": "找到了与这个问题有关的证据，但全部没有采用。",
}


def nothing(question: Question, context: Context, reader: str) -> Answer:
    """An abstention without evidence; where there was some that did not get here, `limits` say what became of it.

    >>> nothing(Question("What is gout?"), Context(""), "llm").text
    'No evidence was found for this question.'
    """
    told = _LEFT_OUT if context.notes else _NONE
    language = prompt_language(question)
    return Answer(told[language], abstained=True, reader=reader, limits="; ".join(context.notes))
