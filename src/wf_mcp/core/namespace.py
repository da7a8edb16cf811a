"""One upstream's mapping between its own names and URIs and the public ones, as one value to carry (design D6, D7).

The rules are in `names.py` and `uris.py`. Names have no way back here: the routes resolve them by table.
"""

from dataclasses import dataclass

from wf_mcp.core.names import dotted_name
from wf_mcp.core.uris import template_to_public, to_public, to_upstream


@dataclass(frozen=True, slots=True)
class Namespace:
    """How the upstream `connection_id` appears to clients; an empty `label` leaves all as it is (design D6)."""

    connection_id: str
    label: str

    def public_name(self, name: str) -> str:
        """Return the dotted public form of a tool's or prompt's name (design D6)."""
        return dotted_name(self.label, name)

    def public_uri(self, uri: str) -> str:
        """Return the public form of a URI (design D7)."""
        return to_public(self.label, uri)

    def public_template(self, template: str) -> str:
        """Return the public form of a URI template (design D7, matrix F.3)."""
        return template_to_public(self.label, template)

    def local_uri(self, public: str) -> str | None:
        """Return what the upstream calls a public URI, or None where it is not this upstream's (design D7)."""
        return to_upstream(self.label, public)
