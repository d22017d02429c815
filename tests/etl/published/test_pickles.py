import pickle

import numpy as np
import pytest

from adnominal.conf import UserError
from adnominal.etl.published.pickles import array, read_plain_values

ROWS = [["A weekly load is a load", 1, "I", "weekly", "load", "weight"]]


class Trap:
    """An object whose pickle calls a function that creates a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def write(path, value, protocol=4):
    path.write_bytes(pickle.dumps(value, protocol=protocol))
    return path


def test_lists_of_texts_and_numbers_are_read(tmp_path):
    assert read_plain_values(write(tmp_path / "rows.pkl", ROWS)) == ROWS


@pytest.mark.parametrize("read", [read_plain_values, array])
def test_a_pickle_that_names_a_function_is_refused_and_runs_nothing(tmp_path, read):
    trace = tmp_path / "trace"
    file = write(tmp_path / "trap.pkl", [Trap(trace)])
    with pytest.raises(UserError, match=r"names (_io|io)\.open, which could run any code"):
        read(file)
    assert not trace.exists()


def test_only_arrays_may_name_the_array_of_numpy(tmp_path):
    file = tmp_path / "load.pkl"
    file.write_bytes(b"cnumpy\nload\n.")
    with pytest.raises(UserError, match=r"names numpy\.load, which"):
        array(file)
    file.write_bytes(b"cnumpy\nndarray\n.")
    with pytest.raises(UserError, match=r"names numpy\.ndarray, which.*no class or function"):
        read_plain_values(file)


def test_arrays_of_old_and_new_versions_of_numpy_are_read(tmp_path):
    file = write(tmp_path / "curve.pkl", np.array([0.0, 0.25, 1.0]), protocol=3)
    assert array(file).tolist() == [0.0, 0.25, 1.0]
    old = file.read_bytes().replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    assert b"numpy.core.multiarray" in old
    file.write_bytes(old)
    assert array(file).tolist() == [0.0, 0.25, 1.0]


def test_arrays_without_numbers_and_truncated_pickles_are_refused(tmp_path):
    with pytest.raises(UserError, match="expected an array of numbers"):
        array(write(tmp_path / "texts.pkl", np.array(["a"]), protocol=3))
    with pytest.raises(UserError, match="expected an array of numbers"):
        array(write(tmp_path / "objects.pkl", np.array([None], dtype=object), protocol=3))
    (tmp_path / "half.pkl").write_bytes(pickle.dumps(ROWS)[:-9])
    with pytest.raises(UserError, match="not readable as a pickle"):
        read_plain_values(tmp_path / "half.pkl")


@pytest.mark.parametrize("read", [read_plain_values, array])
@pytest.mark.parametrize("store", [b"r\xff\xff\xff\x7f", b"p2147483647\n"])
def test_a_number_of_a_stored_object_that_would_reserve_all_memory_is_refused(
    tmp_path, read, store
):
    file = tmp_path / "rows.pkl"
    file.write_bytes(b"\x80\x03]" + store + b".")
    with pytest.raises(UserError, match="not readable as a pickle: an object has the number 2147"):
        read(file)


def test_an_array_of_more_numbers_than_the_file_has_is_refused(tmp_path):
    file = tmp_path / "curve.pkl"
    file.write_bytes(b"cnumpy\nndarray\n(I100000000\ntR.")
    with pytest.raises(UserError, match=r"the shape \(100000000,\) has more numbers than the file"):
        array(file)
    assert array(write(tmp_path / "list.pkl", [1, 2, 3])).tolist() == [1.0, 2.0, 3.0]
