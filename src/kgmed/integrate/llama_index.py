"""A retriever of LlamaIndex: pip install "kgmed[starter,llama-index]".

>>> import kgmed
>>> from kgmed.integrate.llama_index import KgmedNodeRetriever
>>> retriever = KgmedNodeRetriever(kgmed.load(graph="hpo"), keep=5)  # doctest: +SKIP
>>> retriever.retrieve("What are the signs of Marfan syndrome?")[0].node.text  # doctest: +SKIP
"""

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from kgmed.integrate import metadata, shown_evidence
from kgmed.session import Session


class KgmedNodeRetriever(BaseRetriever):
    """The evidence of a session's graphs for a question, a node each; no reader is asked."""

    def __init__(self, session: Session, *, keep: int = 10) -> None:
        """At most `keep` nodes."""
        super().__init__()
        self.session, self.keep = session, keep

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """The nodes, best first."""
        run = self.session.retrieve(query_bundle.query_str)
        return [
            NodeWithScore(
                node=TextNode(
                    id_=f"{run.id}-{number}", text=evidence.text, metadata=metadata(run, number, evidence),
                    excluded_embed_metadata_keys=["run", "mark", "score"], excluded_llm_metadata_keys=["run", "score"],
                ),
                score=evidence.score,
            )
            for number, evidence in shown_evidence(run, self.keep)
        ]  # fmt: skip
