"""The next step that a build suggests is a command for the edition it has built."""

import pytest

from adnominal import conf
from adnominal.etl import build_asp, build_plane, build_sygns

TRAIN = "adnominal train conf/training"


@pytest.mark.parametrize(
    ("script", "words", "command"),
    [
        (
            build_plane,
            ["preset=clean"],
            f"{TRAIN}/plane.yaml task.scheme=published task.edition=clean",
        ),
        (
            build_plane,
            ["edition=mine", "schemes=[strict,two_shot]"],
            f"{TRAIN}/plane.yaml task.scheme=strict task.edition=mine",
        ),
        (
            build_plane,
            ["preset=demo"],
            "adnominal prompt conf/training/plane_prompt.yaml edition=demo",
        ),
        (build_plane, ["schemes=[]"], "adnominal report pages=[plane] edition=clean"),
        (
            build_sygns,
            [],
            f"{TRAIN}/sygns.yaml task.scheme=systematicity task.primitive=one task.edition=clean",
        ),
        (
            build_sygns,
            ["schemes=[productivity]"],
            f"{TRAIN}/sygns.yaml task.scheme=productivity task.primitive= task.edition=clean",
        ),
        (build_sygns, ["schemes=[]"], "adnominal report pages=[sygns] edition=clean"),
        (build_asp, ["preset=demo"], f"{TRAIN}/asp.yaml task.scheme=both task.edition=demo"),
        (
            build_asp,
            ["preset=paper", "degree=0"],
            f"{TRAIN}/asp.yaml task.scheme=adjectives task.edition=paper_tuning",
        ),
        (build_asp, ["splits=false"], "adnominal report pages=[asp] edition=clean"),
    ],
)
def test_a_build_suggests_a_command_for_its_edition(script, words, command):
    settings = conf.load(script.Settings, words)
    assert script.next_step(settings) == f"{command} lake={{lake}}"
