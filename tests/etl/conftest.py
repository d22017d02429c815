"""WordNet's hypernyms, read once for all tests of published data."""

import pyarrow as pa
import pytest

from adnominal.conf import UserError
from adnominal.etl.knowledge import wordnet


@pytest.fixture(scope="session")
def wordnet_hypernyms() -> pa.Table:
    """The hypernyms of the installed WordNet; without it, the test is skipped."""
    try:
        return wordnet.hypernyms(wordnet.find())
    except UserError as error:
        pytest.skip(str(error))
