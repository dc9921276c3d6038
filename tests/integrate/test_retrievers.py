"""The retrievers of other frameworks keep their contracts: their own calls, their own types, the same evidence."""

import asyncio
import json
from pathlib import Path

import pytest

from kgmed.config import Config
from kgmed.graph.base import EdgeRow, NodeRow
from kgmed.graph.store.store import Store
from kgmed.models.encoders import NgramEncoder
from kgmed.records import Support
from kgmed.session import Session
from named_graph import small

QUESTION = "What are the symptoms of gout?"


@pytest.fixture
def session(tmp_path: Path) -> Session:
    rows = (
        NodeRow("gout", kind="disease"),
        NodeRow("toe pain", kind="symptom"),
        NodeRow("colchicine", kind="drug"),
        EdgeRow("gout", "has_symptom", "toe pain", 1.0, (Support("PMID:7"),)),
        EdgeRow("colchicine", "treats", "gout"),
    )
    graph: Store = small(tmp_path, rows, "en")
    return Session(("en",), lambda _: graph, {}, Config(), None, NgramEncoder())


def test_langchain_invokes_batches_awaits_and_traces_it_as_a_retriever(session: Session) -> None:
    pytest.importorskip("langchain_core")
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import RunnableLambda

    from kgmed.integrate.langchain import KgmedRetriever

    retriever = KgmedRetriever(session=session)
    assert isinstance(retriever, BaseRetriever)
    found = retriever.invoke(QUESTION)
    assert [type(d) for d in found] == [Document] * len(found)
    assert [d.page_content for d in found] == [e.text for e in session.retrieve(QUESTION).context.cited]
    assert found[0].metadata["triples"] == [["gout", "has_symptom", "toe pain"]]
    assert found[0].metadata["urls"] == ["https://pubmed.ncbi.nlm.nih.gov/7"]
    assert json.dumps(found[0].metadata)
    texts = [d.page_content for d in found]
    assert [d.page_content for d in asyncio.run(retriever.ainvoke(QUESTION))] == texts
    assert [[d.page_content for d in one] for one in retriever.batch([QUESTION, QUESTION])] == [texts, texts]
    assert (retriever | RunnableLambda(len)).invoke(QUESTION) == len(texts)
    assert KgmedRetriever(session=session, keep=1).invoke("gout and toe pain and colchicine")[1:] == []
    assert retriever.invoke("What is the boiling point of tungsten?") == []


def test_llama_index_retrieves_nodes_with_scores_and_metadata(session: Session) -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle

    from kgmed.integrate.llama_index import KgmedNodeRetriever

    retriever = KgmedNodeRetriever(session)
    assert isinstance(retriever, BaseRetriever)
    found = retriever.retrieve(QUESTION)
    assert [type(n) for n in found] == [NodeWithScore] * len(found)
    assert [n.text for n in found] == [e.text for e in session.retrieve(QUESTION).context.cited]
    assert found[0].node.metadata["triples"] == [["gout", "has_symptom", "toe pain"]]
    assert "PMID:7" in found[0].node.get_content(MetadataMode.LLM)
    assert [n.text for n in asyncio.run(retriever.aretrieve(QueryBundle(QUESTION)))] == [n.text for n in found]
    assert KgmedNodeRetriever(session, keep=1).retrieve("gout and toe pain and colchicine")[1:] == []
    assert retriever.retrieve("What is the boiling point of tungsten?") == []
