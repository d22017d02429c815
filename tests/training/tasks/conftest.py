import pytest

from tests.training.tasks import lake as tables


@pytest.fixture(scope="session")
def task_lake(tmp_path_factory):
    """A lake with the tables of every task, for reading only."""
    root = str(tmp_path_factory.mktemp("tasks") / "lake")
    for write in (tables.adept, tables.plane, tables.asp, tables.nli, tables.sygns):
        write(root)
    return root
