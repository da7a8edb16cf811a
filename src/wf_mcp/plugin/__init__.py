'''The public surface for authors of plug-ins: everything to import is here.

A complete plug-in is one module:

```python
"""Say on every tool which upstream it comes from."""

from collections.abc import Iterable

from wf_mcp.plugin import Component, ComponentTransform, Namespace, Tool, impl


@impl
def wf_component_transforms(mount: Namespace) -> Iterable[ComponentTransform]:
    def credit(component: Component) -> Component:
        if not isinstance(component, Tool):
            return component
        return component.replace(description=f"[{mount.label}] {component.description or ''}")

    return [credit]
```

and a package that announces it, under the name by which the configuration and `wf-mcp plugins` call it:

```toml
[project.entry-points.wf_mcp]
credit = "my_package.my_module"
```

A hook takes any of its parameters, by name. `docs/plugins/first.md` goes on from here, `docs/plugins/hooks.md` has
every hook.
'''

from typing import Final

import pluggy

from wf_mcp.core.errors import InvalidParams, WfMcpError
from wf_mcp.core.events import (
    ConfigReloaded,
    Event,
    PluginFailed,
    PromptsChanged,
    ReloadRefused,
    ResourcesChanged,
    ToolsChanged,
    UpstreamAsleep,
    UpstreamFailed,
    UpstreamGone,
    UpstreamReady,
    UpstreamStarting,
    as_json,
    describe,
    kind_of,
)
from wf_mcp.core.namespace import Namespace
from wf_mcp.core.reports import EventRecord, Inventory, ReloadReport, Status
from wf_mcp.core.view import DROP
from wf_mcp.core.views import Component, ContentBlock, Prompt, Resource, ResourceTemplate, Result, Tool
from wf_mcp.core.wire import JsonObject
from wf_mcp.plugin.types import (
    Admin,
    AdminTool,
    CallInfo,
    CallInterceptor,
    CallNext,
    CallRequest,
    ComponentTransform,
    ConfigSection,
    EventSink,
    ResultTransform,
    Sections,
)

NAME: Final = "wf_mcp"
"""The pluggy project, and the entry-point group in which packages announce plug-ins."""

impl: Final = pluggy.HookimplMarker(NAME)
"""Marks a function as the implementation of the hook whose name it has."""

__all__ = [
    "DROP",
    "NAME",
    "Admin",
    "AdminTool",
    "CallInfo",
    "CallInterceptor",
    "CallNext",
    "CallRequest",
    "Component",
    "ComponentTransform",
    "ConfigReloaded",
    "ConfigSection",
    "ContentBlock",
    "Event",
    "EventRecord",
    "EventSink",
    "InvalidParams",
    "Inventory",
    "JsonObject",
    "Namespace",
    "PluginFailed",
    "Prompt",
    "PromptsChanged",
    "ReloadRefused",
    "ReloadReport",
    "Resource",
    "ResourceTemplate",
    "ResourcesChanged",
    "Result",
    "ResultTransform",
    "Sections",
    "Status",
    "Tool",
    "ToolsChanged",
    "UpstreamAsleep",
    "UpstreamFailed",
    "UpstreamGone",
    "UpstreamReady",
    "UpstreamStarting",
    "WfMcpError",
    "as_json",
    "describe",
    "impl",
    "kind_of",
]
