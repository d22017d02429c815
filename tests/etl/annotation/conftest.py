import pytest

from tests.etl.annotation.study import Study


@pytest.fixture
def study(tmp_path):
    return Study(tmp_path)
