"""wf-mcp: the MCP proxy that loses nothing.

The command line is `wf-mcp` (`wf_mcp.cli`); what plug-ins import is `wf_mcp.plugin`.
"""

from wf_mcp.version import VERSION as __version__

__all__ = ["__version__"]
