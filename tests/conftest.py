import pytest
from tests.field_run import FieldRun


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):  # one of several workers; the process that started them hears of every test
        return
    config.pluginmanager.register(FieldRun(config), "field-run")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
