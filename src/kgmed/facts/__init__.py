"""The answer without a language model: a frame executed on the graph by a table of plans and six operators."""
