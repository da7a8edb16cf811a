import pytest

from wf_mcp.core.config import BadConfig, load_config

FILE = "/home/ann/wf-mcp.json"


def load(text: str, **env: str):
    return load_config(text, file=FILE, base="/home/ann", env=env)


def test_every_string_of_a_section_is_expanded_and_what_came_from_a_variable_is_secret() -> None:
    config = load(
        "{mcpServers: {}, wf: {plugins: {redact: {"
        'values: ["${DB_PASSWORD}", 3, null], deep: {a: "x-${DB_PASSWORD}$$"}}}}}',
        DB_PASSWORD="hunter-seven",
    )
    assert config.plugins == {"redact": {"values": ["hunter-seven", 3, None], "deep": {"a": "x-hunter-seven$"}}}
    assert "hunter-seven" in config.secrets


def test_values_are_not_expanded_again() -> None:
    config = load('{mcpServers: {}, wf: {plugins: {p: {a: "${A}"}}}}', A="${B}", B="no")
    assert config.plugins == {"p": {"a": "${B}"}}


def test_a_missing_variable_is_an_error_that_names_it_and_its_place() -> None:
    with pytest.raises(BadConfig) as caught:
        load('{mcpServers: {},\n wf: {plugins: {redact: {values: ["ok", "secret-${NOPE}"]}}}}')
    assert str(caught.value) == (
        f"{FILE}:2:41: $.wf.plugins.redact.values[1]: found the variable NOPE, which is not set, "
        "expected a variable that is set, or ${VAR:-default}"
    )


def test_a_default_takes_the_place_of_a_missing_variable() -> None:
    assert load('{mcpServers: {}, wf: {plugins: {p: {a: "${NOPE:-x}"}}}}').plugins == {"p": {"a": "x"}}
