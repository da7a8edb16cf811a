"""The built-in plug-in that lists components under their public names and URIs (design D6, D7; matrix C.1).

It runs after all other plug-ins, so that those see what the upstream calls things. The rules are `core/names.py`'s and
`core/uris.py`'s; results are `builtin/links.py`'s.
"""

from collections.abc import Iterable

from wf_mcp.core.rewrite import map_tool_meta
from wf_mcp.plugin import (
    Component,
    ComponentTransform,
    Namespace,
    Prompt,
    Resource,
    ResourceTemplate,
    Tool,
    impl,
)


@impl
def wf_component_transforms(mount: Namespace) -> Iterable[ComponentTransform]:
    """Offer the naming of `mount`; a bare mount's names and URIs are public already."""
    if not mount.label:
        return
    yield lambda component: publish(mount, component)


def publish(mount: Namespace, component: Component) -> Component:
    """Return the component under its public name or URI; a malformed one that has none stays without."""
    match component:
        case Tool(name=name):
            linked = Tool(map_tool_meta(component.raw, mount.public_uri))
            return linked.replace(name=mount.public_name(name)) if name else linked
        case Prompt(name=name):
            return component.replace(name=mount.public_name(name)) if name else component
        case Resource(uri=uri):
            return component.replace(uri=mount.public_uri(uri)) if uri else component
        case ResourceTemplate(uri_template=template):
            return component.replace(uriTemplate=mount.public_template(template)) if template else component
