"""A retriever of LangChain: pip install "kgmed[starter,langchain]".

>>> import kgmed
>>> from kgmed.integrate.langchain import KgmedRetriever
>>> retriever = KgmedRetriever(session=kgmed.load(graph="hpo"), keep=5)  # doctest: +SKIP
>>> retriever.invoke("What are the signs of Marfan syndrome?")[0].page_content  # doctest: +SKIP
"""

from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from kgmed.integrate import metadata, shown_evidence


class KgmedRetriever(BaseRetriever):
    """The evidence of a session's graphs for a question, a document each; no reader is asked.

    `session` is a `kgmed.Session`; `keep` documents at most.
    """

    session: Any
    keep: int = 10

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        """The documents, best first."""
        run = self.session.retrieve(query)
        return [
            Document(page_content=evidence.text, metadata=metadata(run, number, evidence), id=f"{run.id}-{number}")
            for number, evidence in shown_evidence(run, self.keep)
        ]
