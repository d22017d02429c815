from adnominal.analysis.rendering.numbers import p_value, signed_number
from adnominal.training.finished_runs import model_name


def test_p_values_are_rounded():
    assert [p_value(p) for p in (0.0, 0.0004, 0.0006, 0.5)] == [
        "< 0.001",
        "< 0.001",
        "0.001",
        "0.500",
    ]


def test_numbers_are_signed_after_rounding():
    assert [signed_number(v) for v in (1.25, -0.04, 0.04, -2.0)] == ["+1.2", "0.0", "0.0", "−2.0"]
    assert signed_number(-0.004, 2) == "0.00"


def test_models_are_named_by_the_end_of_their_path():
    names = ["bert-base-cased", "FacebookAI/roberta-base", "/data/runs/3b3f/model", "runs/tiny/"]
    assert [model_name(model) for model in names] == [
        "bert-base-cased",
        "roberta-base",
        "3b3f/model",
        "tiny",
    ]
