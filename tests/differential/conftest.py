import pytest
from tests.differential.stage import Recordings


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Recordings:
    return Recordings(lambda name: tmp_path_factory.mktemp(name))
