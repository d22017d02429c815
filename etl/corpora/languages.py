"""The language of a text: from the header of its record, or identified by py3langid.

py3langid (BSD; a maintained version of Lui and Baldwin's langid.py, 2012) needs no separate model
file and takes about a tenth of a millisecond per text. Only the beginning of a text is examined.
"""

import importlib.util
from functools import cache
from typing import Any

from adnominal.conf import UserError

_CHARACTERS = 2000  # of a text, enough to identify its language

# ISO 639-3, as in Common Crawl's headers, to ISO 639-1, for CLD2's languages that have both codes.
_CODES = (
    "afr:af amh:am ara:ar asm:as aze:az bak:ba bel:be ben:bn bos:bs bre:br bul:bg cat:ca ces:cs "
    "cym:cy dan:da deu:de dzo:dz ell:el eng:en epo:eo est:et eus:eu fao:fo fas:fa fin:fi fra:fr "
    "fry:fy gle:ga gla:gd glg:gl guj:gu hat:ht hau:ha heb:he hin:hi hrv:hr hun:hu hye:hy ibo:ig "
    "ind:id isl:is ita:it jav:jv jpn:ja kan:kn kat:ka kaz:kk khm:km kin:rw kir:ky kor:ko kur:ku "
    "lao:lo lat:la lav:lv lin:ln lit:lt ltz:lb lug:lg mal:ml mar:mr mkd:mk mlg:mg mlt:mt mon:mn "
    "msa:ms mya:my nep:ne nld:nl nno:nn nor:no oci:oc ori:or orm:om pan:pa pol:pl por:pt pus:ps "
    "que:qu ron:ro rus:ru san:sa sin:si slk:sk slv:sl sme:se sna:sn som:so sot:st spa:es sqi:sq "
    "srp:sr swa:sw swe:sv tam:ta tat:tt tel:te tgk:tg tgl:tl tha:th tuk:tk tur:tr uig:ug ukr:uk "
    "urd:ur uzb:uz vie:vi vol:vo wln:wa xho:xh yor:yo zho:zh zul:zu "
)
_ISO_639_1 = dict(code.split(":") for code in _CODES.split())
LANGUAGES = frozenset(_ISO_639_1.values())
"""The languages that can be selected, by their ISO 639-1 codes."""


def check_language(language: str | None) -> None:
    """Raise `UserError` for an unknown language, or if py3langid is not installed."""
    if language is None:
        return
    if language not in LANGUAGES:
        raise UserError(
            f"language={language}: expected a code of ISO 639-1, such as language=en; known: "
            f"{', '.join(sorted(LANGUAGES))}"
        )
    if importlib.util.find_spec("py3langid") is None:
        raise UserError(
            "language= needs py3langid, which is not installed: pip install 'adnominal[corpora]'"
        )


def header_languages(header: str | None) -> list[str]:
    """``eng,fra`` (``WARC-Identified-Content-Language``) as ``["en", "fr"]``, in that order."""
    codes = [code.strip().lower() for code in (header or "").split(",")]
    return [_ISO_639_1.get(code, code) for code in codes if code]


def identify(text: str) -> str:
    """The most likely language of `text`, by its ISO 639-1 code if it has one."""
    code, _ = _identifier()(text[:_CHARACTERS])
    return str(code)


@cache
def _identifier() -> Any:
    # Imported here because unpacking the model takes most of a second.
    from py3langid import langid

    return langid.classify
