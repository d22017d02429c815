"""pip's configuration becomes variables for uv."""

from adnominal.conf.uv_settings import exports


def test_existing_indexes_and_folders_become_variables(tmp_path):
    (tmp_path / "wheels").mkdir()
    listing = (
        f":env:.find-links='{tmp_path}/wheels'\n"
        "global.find-links='/no/such/folder'\n"
        "global.index-url='https://example.org/simple'\n"
        f"global.extra-index-url='file://{tmp_path}/wheels file:///no/such/index'\n"
        ":env:.default-timeout='180'\n"
    )
    assert exports(listing) == {
        "UV_FIND_LINKS": f"{tmp_path}/wheels",
        "UV_DEFAULT_INDEX": "https://example.org/simple",
        "UV_INDEX": f"file://{tmp_path}/wheels",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }


def test_without_usable_configuration_there_are_no_variables():
    assert exports("") == {}
    assert exports("global.extra-index-url='file:///no/such/index'\n") == {}
