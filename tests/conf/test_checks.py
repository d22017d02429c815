"""Checks of setting values that several jobs share."""

import pytest

from adnominal import conf
from adnominal.analysis import reporting
from adnominal.conf import UserError
from adnominal.conf.checks import check_tracking
from adnominal.training import settings as training
from adnominal.training.answering.settings import PredictSettings, ScoreSettings
from adnominal.training.asking import settings as asking

JOBS = [
    (training.Settings, {}),
    (asking.Settings, {"model": "m", "task": "adept"}),
    (PredictSettings, {"model": "m", "table": "adept_items"}),
    (ScoreSettings, {"model": "m"}),
    (reporting.Settings, {}),
]


@pytest.mark.parametrize(("job", "required"), JOBS)
def test_an_address_with_a_password_is_refused_without_showing_it(job, required):
    address = "postgresql://user:hunter2@host/mlflow"
    with pytest.raises(UserError, match="tracking=: expected an address without") as error:
        conf.from_dict(job, {"tracking": address, **required})
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    "address", [None, "", "sqlite:///mlflow.db", "http://tracker:5000", "postgresql://user@host/db"]
)
def test_other_addresses_are_accepted(address):
    check_tracking(address)
