"""Takes secrets out of descriptions and results before a model sees them.

Works on text only: base64 data, URIs, names and schemas pass as they are.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from wf_mcp.plugin import (
    CallInfo,
    Component,
    ComponentTransform,
    ConfigSection,
    ContentBlock,
    Result,
    ResultTransform,
    Sections,
    impl,
)

__all__ = ["DEFAULT_PATTERNS", "RedactSettings"]

DEFAULT_PATTERNS = (
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",  # AWS access key ids
    r"\bgh[oprsu]_[A-Za-z0-9]{36,}\b",  # GitHub tokens
    r"\bgithub_pat_[A-Za-z0-9_]{22,}\b",
    r"\bsk-[A-Za-z0-9_-]{20,}",  # keys of model APIs
    r"(?i:\bbearer)\s+[A-Za-z0-9._~+/-]{16,}=*",  # Authorization headers
    r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----[\s\S]*?(?:-----END (?:[A-Z]+ )*PRIVATE KEY-----|\Z)",
)


class RedactSettings(BaseModel):
    """`wf.plugins.redact` in the configuration."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    patterns: list[str] = Field(default=list(DEFAULT_PATTERNS), description="Regular expressions for what to take out.")
    values: list[str] = Field(default=[], description="Exact strings to take out; `${VAR}` keeps them out of the file.")
    replacement: str = Field(default="[redacted]", description="What is put in their place.")

    @field_validator("patterns")
    @classmethod
    def _compile(cls, patterns: list[str]) -> list[str]:
        for place, pattern in enumerate(patterns):
            try:
                matches_nothing = re.compile(pattern).search("")
            except re.error as error:
                raise ValueError(f"number {place + 1} is no regular expression: {error}") from error
            if matches_nothing:
                raise ValueError(f"number {place + 1} matches the empty string, so it would be found everywhere")
        return patterns

    def scrub(self) -> Callable[[str], str]:
        """Return the function that takes the secrets out of a text; longer values first, as one may hold another."""
        exact = [re.escape(value) for value in sorted(self.values, key=len, reverse=True) if value]
        compiled = [re.compile(pattern) for pattern in ["|".join(exact), *self.patterns] if pattern]

        def scrubbed(text: str) -> str:
            for pattern in compiled:
                text = pattern.sub(lambda found: self.replacement, text)
            return text

        return scrubbed


@impl
def wf_config_section() -> ConfigSection:
    """Declare `wf.plugins.redact`."""
    return ConfigSection("redact", RedactSettings)


@impl
def wf_component_transforms(sections: Sections) -> Iterable[ComponentTransform]:
    """Offer to clean titles and descriptions."""
    scrub = sections.get(RedactSettings).scrub()
    return [lambda component: _described(component, scrub)]


@impl
def wf_result_transforms(sections: Sections) -> Iterable[ResultTransform]:
    """Offer to clean the text of results, and the strings in structured content."""
    scrub = sections.get(RedactSettings).scrub()

    def clean_block(block: ContentBlock) -> ContentBlock:
        cleaned = block if block.text is None else block.with_text(scrub(block.text))
        return cleaned if block.description is None else cleaned.replace(description=scrub(block.description))

    def clean(result: Result, info: CallInfo) -> Result:
        cleaned = result.map_content(clean_block)
        if result.structured_content is not None:
            cleaned = cleaned.replace(structuredContent=_strings(result.structured_content, scrub))
        if result.description is not None:
            cleaned = cleaned.replace(description=scrub(result.description))
        return cleaned

    return [clean]


def _described(component: Component, scrub: Callable[[str], str]) -> Component:
    texts = {"title": component.title, "description": component.description}
    return component.replace(**{field: scrub(text) for field, text in texts.items() if text is not None})


def _strings(value: Any, scrub: Callable[[str], str]) -> Any:
    match value:
        case str():
            return scrub(value)
        case list():
            return [_strings(item, scrub) for item in value]
        case dict():
            return {key: _strings(item, scrub) for key, item in value.items()}
        case _:
            return value
