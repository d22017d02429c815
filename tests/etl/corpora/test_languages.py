import pytest

from adnominal.conf import UserError
from adnominal.etl.corpora.languages import check_language, header_languages, identify


def test_the_language_of_a_text_is_identified():
    assert identify("The red apple fell from the old tree near the river.") == "en"
    assert identify("Der rote Apfel fiel vom alten Baum am Fluss.") == "de"


def test_headers_have_codes_of_three_letters():
    assert header_languages("eng,fra") == ["en", "fr"]
    assert header_languages("ENG, xxx") == ["en", "xxx"]
    assert header_languages(None) == header_languages("") == []


def test_an_unknown_language_is_refused():
    check_language(None)
    check_language("en")
    with pytest.raises(UserError, match="language=english: expected a code of ISO 639-1"):
        check_language("english")
