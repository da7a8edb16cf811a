"""The hooks: when each is called, what it is given, what it may return, in which order, what happens if it raises.

All are synchronous and return offers; `plugin/chain.py` applies them. The bodies never run: they say what "nothing
offered" is. `docs/plugins/hooks.md` says the same with
examples, and a test compares the two.
"""

from collections.abc import Iterable

import pluggy

from wf_mcp.core.namespace import Namespace
from wf_mcp.plugin import NAME
from wf_mcp.plugin.types import (
    Admin,
    AdminTool,
    CallInterceptor,
    ComponentTransform,
    ConfigSection,
    EventSink,
    ResultTransform,
    Sections,
)

spec = pluggy.HookspecMarker(NAME)


@spec
def wf_config_section() -> ConfigSection | None:
    """Declare the settings of this plug-in.

    Called once each time plug-ins are built: at the start and on each reload, before any other hook of the plug-in.
    Order does not matter, since a section belongs to one plug-in. If it raises, names another plug-in, or its model
    refuses the settings, the plug-in is not used and the status says why.

    :returns: the section, or ``None`` for a plug-in without settings

    .. versionadded:: 0.1
    """
    return None


@spec
def wf_component_transforms(mount: Namespace, sections: Sections) -> Iterable[ComponentTransform]:
    """Offer transforms for the tools, prompts, resources and templates of one mount.

    Called once when `mount` becomes ready and again after a reload, never per request. The transforms run over each
    listed component, those of installed plug-ins first, in plug-in order, then in the order offered; wf-mcp's own
    namespacing is last, so that plug-ins see the upstream's names and URIs. If the hook raises, this plug-in offers
    nothing for this mount. If a transform raises, it is skipped for that component; one of a required plug-in hides it.

    :param mount: the mount whose components are about to be listed
    :param sections: the settings of this plug-in
    :returns: zero or more transforms; one that returns ``None`` hides the component, which then cannot be used either

    .. versionadded:: 0.1
    """
    return ()


@spec
def wf_result_transforms(mount: Namespace, sections: Sections) -> Iterable[ResultTransform]:
    """Offer transforms for the results of `tools/call`, `prompts/get` and `resources/read` of one mount.

    Called once when `mount` becomes ready and again after a reload, never per request. The transforms run over each
    result, those of installed plug-ins first, in plug-in order, then in the order offered; wf-mcp's own rewriting of
    links is last, so that plug-ins see the upstream's URIs. If the hook raises, this plug-in offers nothing for this
    mount. If a transform raises, it is skipped for that result; one of a required plug-in makes the call an error.

    :param mount: the mount whose results are about to be relayed
    :param sections: the settings of this plug-in
    :returns: zero or more transforms

    .. versionadded:: 0.1
    """
    return ()


@spec
def wf_call_interceptors(sections: Sections) -> Iterable[CallInterceptor]:
    """Offer async wrappers around every `tools/call`, `prompts/get` and `resources/read`.

    Called once at the start and on each reload. In plug-in order, the first interceptor is outermost; all run around
    the upstream's answer and the result transforms, so they see public names and URIs both ways. If the hook raises,
    this plug-in offers nothing. If an interceptor raises before the rest of the call began, the call goes on without
    it; afterwards the result of the rest stands; the rest is never run again. A `WfMcpError` is no failure but its
    answer to the client. A failing interceptor of a required plug-in makes the call an error.

    :param sections: the settings of this plug-in
    :returns: zero or more interceptors

    .. versionadded:: 0.1
    """
    return ()


@spec
def wf_event_sinks(sections: Sections) -> Iterable[EventSink]:
    """Offer listeners for everything that happens inside wf-mcp.

    Called once at the start and on each reload, when the sinks of the last time have been let go. Each sink hears every
    event in the order of publishing, wf-mcp's own sinks first, then in plug-in order. If the hook raises, this plug-in
    offers nothing; if a sink's ``offer`` raises, that sink misses that event and no other does.

    :param sections: the settings of this plug-in
    :returns: zero or more sinks

    .. versionadded:: 0.1
    """
    return ()


@spec
def wf_admin_tools(admin: Admin, sections: Sections) -> Iterable[AdminTool]:
    """Offer tools of wf-mcp itself, listed as ``wf.admin.<name>``.

    Called once at the start and on each reload, unless admin tools are switched off. wf-mcp's own tools come first,
    then plug-in order; a tool whose name is taken is refused. If the hook raises, this plug-in offers nothing. What a
    tool raises is that call's error.

    :param admin: what a tool may ask of the running proxy
    :param sections: the settings of this plug-in
    :returns: zero or more tools

    .. versionadded:: 0.1
    """
    return ()


HOOKS = (
    wf_config_section,
    wf_component_transforms,
    wf_result_transforms,
    wf_call_interceptors,
    wf_event_sinks,
    wf_admin_tools,
)
"""Every hook."""
