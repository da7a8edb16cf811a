"""For comparison: FastMCP's own way to the same end, one `create_proxy` per server, each mounted under its name.

python bench/fastmcp_mount.py CONFIG [PORT]
"""

import json
import sys
from pathlib import Path

from fastmcp import FastMCP
from fastmcp.server import create_proxy


def main(config: str, port: str | None = None) -> None:
    """Serve what the config file names, over stdio or on a port."""
    hub: FastMCP = FastMCP("hub")
    for name, entry in json.loads(Path(config).read_text(encoding="utf-8"))["mcpServers"].items():
        hub.mount(create_proxy({"mcpServers": {name: entry}}), namespace=name)
    if port is None:
        hub.run(show_banner=False, log_level="ERROR")
    else:
        hub.run("http", host="127.0.0.1", port=int(port), show_banner=False, log_level="ERROR")


if __name__ == "__main__":
    main(*sys.argv[1:])
