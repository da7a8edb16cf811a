"""Three small servers that `wf-mcp demo` puts wf-mcp in front of; each runs as `python -m` and knows nothing of it."""
