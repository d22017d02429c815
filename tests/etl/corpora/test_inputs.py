"""The files of an input: paths, globs, folders, URIs, links."""

import os
from datetime import UTC, datetime
from types import SimpleNamespace

import fsspec
import pytest

from adnominal.conf import UserError
from adnominal.etl.corpora.files import Unreadable, open_input
from adnominal.etl.corpora.inputs import InputFile, _remote_file, list_inputs
from tests.etl.corpora.test_files import put
from tests.etl.corpora.web import FileServer, serve


def paths(*patterns: str) -> list[str]:
    return [file.path for file in list_inputs(patterns)]


class TestListInputs:
    def test_a_path_has_its_size_and_time(self, tmp_path):
        path = put(tmp_path / "a.txt", b"12345")
        os.utime(path, (1_600_000_000, 1_600_000_000))
        when = datetime.fromtimestamp(1_600_000_000, UTC)
        assert list_inputs([path]) == [InputFile(path, 5, when)]

    def test_relative_paths_become_absolute(self, tmp_path, monkeypatch):
        path = put(tmp_path / "a.txt")
        monkeypatch.chdir(tmp_path)
        assert paths("a.txt", "./a.txt", "*.txt") == [path]

    def test_globs_are_expanded(self, tmp_path):
        a, b = put(tmp_path / "a1.gz"), put(tmp_path / "deep" / "er" / "a2.gz")
        put(tmp_path / "b.txt")
        assert paths(f"{tmp_path}/**/*.gz") == [a, b]
        assert paths(f"{tmp_path}/a?.gz") == [a]
        assert paths(f"{tmp_path}/[ax]1.gz") == [a]

    def test_a_folder_gives_all_files_below_it_except_hidden_ones(self, tmp_path):
        a, b = put(tmp_path / "a"), put(tmp_path / "sub" / "b")
        for name in ("_SUCCESS", ".a.crc", "_temporary/x", ".git/x"):
            put(tmp_path / name)
        assert paths(str(tmp_path)) == [a, b]
        assert paths(f"{tmp_path}/**") == [a, b]

    def test_hidden_names_can_be_selected(self, tmp_path):
        path = put(tmp_path / "_odd.txt")
        assert paths(path) == paths(f"{tmp_path}/_*.txt") == [path]

    def test_a_hidden_folder_above_a_glob_hides_nothing(self, tmp_path):
        path = put(tmp_path / ".cache" / "a.txt")
        assert paths(f"{tmp_path}/.cache/*.txt") == [path]

    def test_an_existing_name_is_not_a_glob(self, tmp_path):
        path = put(tmp_path / "part[1].gz")
        put(tmp_path / "part1.gz")
        assert paths(path) == [path]

    def test_a_pipe_is_refused_without_waiting_for_its_writer(self, tmp_path):
        put(tmp_path / "a")
        os.mkfifo(tmp_path / "b")
        for pattern in (tmp_path, tmp_path / "b"):
            with pytest.raises(UserError, match="/b: expected a regular file, not a pipe"):
                list_inputs([str(pattern)])

    def test_a_name_that_is_not_utf8_is_refused(self, tmp_path):
        put(tmp_path / os.fsdecode(b"caf\xe9.txt"))
        with pytest.raises(UserError, match=r"caf\\udce9.txt': the name is not UTF-8; rename"):
            list_inputs([str(tmp_path)])

    def test_files_are_sorted_and_listed_once(self, tmp_path):
        b, a = put(tmp_path / "b"), put(tmp_path / "a")
        assert paths(b, str(tmp_path), a, f"file://{a}") == [a, b]

    def test_only_file_uris_are_decoded(self, tmp_path):
        space, percent = put(tmp_path / "sp ace"), put(tmp_path / "sp%20ace")
        assert paths(f"file://{tmp_path}/sp%20ace") == paths(f"file://{tmp_path}/sp ac*") == [space]
        assert paths(f"file://{tmp_path}/sp%2520ace") == paths(percent) == [percent]

    def test_the_index_of_a_dump_is_skipped(self, tmp_path):
        dump = put(tmp_path / "enwiki-pages-articles-multistream1.xml-p1p2.bz2")
        index = put(tmp_path / "enwiki-pages-articles-multistream-index1.txt-p1p2.bz2")
        assert paths(str(tmp_path)) == [dump]
        with pytest.raises(UserError, match="only the index"):
            list_inputs([index])

    @pytest.mark.parametrize("pattern", ["none.gz", "*.gz", "sub"])
    def test_a_pattern_without_files_is_refused(self, tmp_path, pattern):
        (tmp_path / "sub").mkdir()
        with pytest.raises(UserError, match=pattern.replace("*", r"\*")):
            list_inputs([f"{tmp_path}/{pattern}"])

    def test_an_empty_list_of_inputs_is_refused(self):
        with pytest.raises(UserError, match="no input"):
            list_inputs([])

    def test_an_empty_file_is_refused(self, tmp_path):
        path = put(tmp_path / "a", b"")
        with pytest.raises(UserError, match="is empty"):
            list_inputs([path])

    def test_a_broken_link_is_refused(self, tmp_path):
        (tmp_path / "a").symlink_to(tmp_path / "gone")
        with pytest.raises(UserError, match=r"cannot be read|no such file"):
            list_inputs([str(tmp_path)])

    def test_links_to_folders_are_followed_without_cycles(self, tmp_path):
        real = put(tmp_path / "real" / "a")
        corpus = tmp_path / "corpus"
        b = put(corpus / "sub" / "b")
        (corpus / "linked").symlink_to(tmp_path / "real")
        (corpus / "again").symlink_to(corpus / "sub")
        (corpus / "sub" / "circle").symlink_to(corpus)
        (corpus / ".hidden").symlink_to(tmp_path / "real")
        (tmp_path / "real" / "back").symlink_to(tmp_path)
        linked = f"{corpus}/linked/a"
        assert paths(str(corpus)) == paths(f"{corpus}/*") == [linked, b]
        assert paths(str(corpus), real) == [b, real]

    def test_a_link_and_its_target_are_one_file(self, tmp_path, caplog):
        target, single = put(tmp_path / "b"), put(tmp_path / "elsewhere" / "x")
        for link, to in (("a", target), ("c", target), ("d", single), ("e", single)):
            (tmp_path / link).symlink_to(to)
        d, e = f"{tmp_path}/d", f"{tmp_path}/e"
        assert paths(f"{tmp_path}/[abc]") == [target]
        assert "2 paths of the input are links" in caplog.text
        assert f"for example {target}, not {tmp_path}/a" in caplog.text
        assert paths(d, e) == [d]
        caplog.clear()
        assert paths(f"{tmp_path}/a", e) == [f"{tmp_path}/a", e]
        assert not caplog.text

    def test_a_file_is_listed_by_its_name_rather_than_by_a_link_below_another_link(self, tmp_path):
        put(tmp_path / "disk" / "b" / "x")
        (tmp_path / "disk" / "a").symlink_to(tmp_path / "disk" / "b")
        (tmp_path / "data").symlink_to(tmp_path / "disk")
        for pattern in ("data", "data/*", "data/**"):
            assert paths(f"{tmp_path}/{pattern}") == [f"{tmp_path}/data/b/x"]

    def test_uris_are_listed_and_opened(self):
        store = fsspec.filesystem("memory")
        store.pipe({"/corpus/a.txt": b"123", "/corpus/sub/b.txt": b"1", "/corpus/_c": b"1"})
        try:
            both = ["memory:///corpus/a.txt", "memory:///corpus/sub/b.txt"]
            assert paths("memory:///corpus") == both
            assert paths("memory:///corpus/*.txt") == both[:1]
            assert paths("memory:///corpus/**/*.txt") == both
            first = list_inputs([both[0]])[0]
            assert first.bytes == 3
            assert first.modified.tzinfo == UTC
            assert open_input(both[0]).read() == b"123"
            with pytest.raises(UserError, match="no such file"):
                list_inputs(["memory:///none"])
            with pytest.raises(UserError, match="no file found"):
                list_inputs(["memory:///corpus/*.gz"])
            with pytest.raises(Unreadable, match="cannot be opened"):
                open_input("memory:///none")
        finally:
            store.rm("/corpus", recursive=True)

    @pytest.mark.parametrize(
        "when",
        [
            {"LastModified": datetime(2020, 1, 2, 3, tzinfo=UTC)},
            {"mtime": datetime(2020, 1, 2, 3)},
            {"mtime": 1577934000.0},
            {"updated": "2020-01-02T03:00:00.000Z"},
            {"modificationTime": 1577934000000},
            {"Last-Modified": "Thu, 02 Jan 2020 03:00:00 GMT"},
            {"last_commit": SimpleNamespace(date=datetime(2020, 1, 2, 3, tzinfo=UTC))},
        ],
    )
    def test_the_time_of_a_file_in_each_store(self, when):
        expected = InputFile("s3://b/x", 5, datetime(2020, 1, 2, 3, tzinfo=UTC))
        assert _remote_file("s3://b/x", {"size": 5, **when}) == expected

    def test_files_of_a_web_server_are_listed_and_read(self):
        when = datetime(2020, 1, 2, 3, tzinfo=UTC)
        with serve(FileServer, {"/data/a.txt": b"12345"}) as address:
            uri = f"{address}/data/a.txt"
            assert list_inputs([uri]) == [InputFile(uri, 5, when)]
            assert open_input(uri).read() == b"12345"
            with pytest.raises(UserError, match="no such file or folder"):
                list_inputs([f"{address}/data/b.txt"])

    def test_a_large_file_of_a_web_server_without_ranges_is_refused(self):
        files = {"/a.txt": bytes(6 << 20)}
        refusal = pytest.raises(Unreadable, match="support range requests")
        with serve(FileServer, files, has_ranges=False) as address, refusal:
            open_input(f"{address}/a.txt").read()

    def test_a_store_may_lack_times_but_not_sizes(self):
        assert _remote_file("http://x", {"size": 5}).modified == datetime(1970, 1, 1, tzinfo=UTC)
        with pytest.raises(UserError, match="does not report its size"):
            _remote_file("http://x", {"size": None})

    def test_the_package_of_a_missing_backend_is_named(self, monkeypatch):
        def missing(*args, **keywords):
            raise ImportError("Install s3fs to access S3")

        monkeypatch.setattr(fsspec.core, "url_to_fs", missing)
        with pytest.raises(UserError, match=r"s3:// needs a package: .*s3fs"):
            list_inputs(["s3a://bucket/x"])

    def test_an_unknown_protocol_is_refused(self):
        with pytest.raises(UserError, match="nonsense"):
            list_inputs(["nonsense://x/y"])
