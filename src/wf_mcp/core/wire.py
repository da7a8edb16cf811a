"""What passes over the wire, as Python sees it: JSON objects, and nothing that rebuilds them."""

from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
"""One JSON object. Functions of the core never change one that they were given; they return a new one."""
