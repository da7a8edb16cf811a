"""`python -m wf_mcp`."""

from wf_mcp.cli import main

main()
