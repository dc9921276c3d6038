"""`kgmed serve`: a page, REST, the OpenAI interface and MCP over the same functions."""
