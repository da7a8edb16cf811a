"""Known chat hosts, by the name that they give at `initialize`, and what follows for each (design D6, matrix F.2).

Every fact has a public source, which dates it; what nobody has shown is None. A host is recognised by
`clientInfo.name` alone, so that a client of 2026-07-28 is never looked up: that revision asks servers not to vary.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from wf_mcp.core.config_values import NamesStyle

Style = Literal["dotted", "safe"]

_REGISTRY: Final = "apify/mcp-client-capabilities"


@dataclass(frozen=True, slots=True)
class Host:
    """One host. `patterns` are names it gives, without regard to case; a `*` at the end stands for anything.

    `safe_names`: whether it fails with names that have dots. `reads_resources`: whether its model can have a resource
    read. `keeps_tools`: whether a conversation goes on with the tools that were listed at its start. `name_limit`:
    characters that a name may have there, the host's own prefix included. `echoes_session`: whether it gives back the
    session id that it got over HTTP. None where it is not known.
    """

    name: str
    patterns: tuple[str, ...]
    source: str
    safe_names: bool | None = None
    reads_resources: bool | None = None
    keeps_tools: bool | None = None
    name_limit: int | None = None
    echoes_session: bool | None = None

    def called(self, name: str) -> bool:
        """Whether a client of this `clientInfo.name` is this host."""
        lower = name.lower()
        return any(
            lower.startswith(pattern[:-1].lower()) if pattern.endswith("*") else lower == pattern.lower()
            for pattern in self.patterns
        )


HOSTS: Final = (
    Host(
        "Claude Code",
        ("claude-code*",),
        "modelcontextprotocol/modelcontextprotocol#1345 and valon-technologies/gestalt#1284 (names), "
        "anthropics/claude-code#2485 (limit), github/copilot-cli#1803 (resources), "
        "anthropics/claude-code#79826 and #77314 (old list)",
        safe_names=True,
        reads_resources=True,
        keeps_tools=True,
        name_limit=64,
    ),
    Host(
        "Claude Desktop, claude.ai",
        ("claude-ai*",),
        "anthropics/claude-code#57813 and loomle/loomle#168 (names, limit), modelcontextprotocol/python-sdk#1016 and "
        "modelcontextprotocol/docs#59 (resources), anthropics/claude-ai-mcp#960 (old list)",
        safe_names=True,
        reads_resources=False,
        keeps_tools=True,
        name_limit=64,
    ),
    Host(
        "Cursor",
        ("cursor-vscode*",),
        "webstudio-is/webstudio#5960 and gemini-cli-extensions/workspace#168 (names), ComposioHQ/composio#2788 and "
        f"sparfenyuk/mcp-proxy#45 (limit), {_REGISTRY} (resources), {_REGISTRY}#17 (old list)",
        safe_names=True,
        reads_resources=True,
        keeps_tools=False,
        name_limit=60,
    ),
    Host(
        "VS Code Copilot",
        ("Visual Studio Code*", "Visual-Studio-Code*"),
        f"microsoft/vscode#308463 (names), {_REGISTRY} (resources, old list)",
        safe_names=False,
        reads_resources=True,
        keeps_tools=False,
    ),
    Host(
        "Copilot CLI",
        ("github-copilot-developer*",),
        "github/copilot-cli#2581 and #1879 (names, limit), github/copilot-cli#1803 and #1518 (resources)",
        safe_names=True,
        reads_resources=False,
        name_limit=128,
    ),
    Host(
        "Gemini CLI",
        ("gemini-cli-mcp-client*",),
        "google-gemini/gemini-cli#20987 and #21039 (names, limit), google-gemini/gemini-cli#25335 (resources)",
        safe_names=False,
        reads_resources=False,
        name_limit=63,
    ),
    Host(
        "ChatGPT, OpenAI API",
        ("openai-mcp*", "ChatGPT*"),
        "microsoft/foundry-dev-tools#201 (names, limit), oaslananka/kicad-studio-kit#34 (session)",
        safe_names=True,
        name_limit=64,
        echoes_session=False,
    ),
    Host(
        "Codex",
        ("codex-mcp-client*", "Codex"),
        "openai/codex#8174 (names), microsoft/foundry-dev-tools#201 (limit), openai/codex#5239 (resources), "
        "openai/codex#37417 and #33266 (old list)",
        safe_names=True,
        reads_resources=True,
        keeps_tools=True,
        name_limit=64,
    ),
    Host(
        "Windsurf",
        ("windsurf-client*", "Windsurf"),
        f"{_REGISTRY} (resources, old list)",
        reads_resources=True,
        keeps_tools=False,
    ),
    Host("Cline", ("Cline",), f"{_REGISTRY} (resources, old list)", reads_resources=True, keeps_tools=False),
    Host("Roo Code", ("Roo-Code", "Roo Code"), f"{_REGISTRY} (resources)", reads_resources=True),
    Host(
        "OpenCode",
        ("opencode",),
        "anomalyco/opencode#2289 and #38891 and ihor-sokoliuk/mcp-searxng#173 (session)",
        echoes_session=False,
    ),
    Host("Zed", ("Zed",), f"{_REGISTRY} (its name only)"),
    Host(
        "MCP Inspector",
        ("mcp-inspector*", "inspector-client*", "inspector-cli"),
        "modelcontextprotocol/inspector 2.12.0 (names, resources)",
        safe_names=False,
        reads_resources=True,
    ),
)

_BRIDGED: Final = " (via "
"""What mcp-remote appends to the name of the host behind it (punkpeye/mcp-remote#63)."""


def host_of(client_info: Mapping[str, Any] | None) -> Host | None:
    """The host that gave this `clientInfo`; None for one that is not in the table, and for what is no `clientInfo`."""
    name = client_info.get("name") if client_info is not None else None
    if not isinstance(name, str):
        return None
    bare = name.partition(_BRIDGED)[0].strip()
    return next((host for host in HOSTS if host.called(bare)), None)


@dataclass(frozen=True, slots=True)
class Choice:
    """The form of names that one client gets in lists, and `why`, in words for people."""

    style: Style
    why: str


def choose_names(setting: NamesStyle, asked: Style | None, modern: bool, client_info: Mapping[str, Any]) -> Choice:
    """The form of names for one client (design D6): what it `asked` for in its URL, else what the front is set to,
    else, for handshake clients only, what its host needs.
    """
    if asked is not None:
        return Choice(asked, f"its URL says names={asked}")
    if setting != "auto":
        return Choice(setting, f"names.style is {setting}")
    if modern:
        return Choice("dotted", "names.style is auto, and clients of 2026-07-28 are all treated alike")
    host = host_of(client_info)
    if host is None:
        return Choice("dotted", "names.style is auto, and the client is none of the hosts in the table")
    if host.safe_names:
        return Choice("safe", f"names.style is auto, and {host.name} needs safe names")
    known = "takes dotted names" if host.safe_names is False else "is not known to need safe names"
    return Choice("dotted", f"names.style is auto, and {host.name} {known}")
