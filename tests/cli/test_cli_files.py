"""Readers of .npz, .npy and .csv: what goes in comes out, and what cannot is said in one sentence."""

import numpy as np
import pytest

from hypermargin.cli.console import CommandError, check_output, make_folder, write_csv
from hypermargin.cli.reading import Wanted, read_points

X = np.array([[1.0, 0.0], [np.cosh(0.3), np.sinh(0.3)], [np.cosh(1e-9), 1e-9]])


def test_csv_round_trip_is_exact(tmp_path):
    path = tmp_path / "points.csv"
    write_csv(path, X, np.array(["a", "b", "a"]))
    points = read_points(str(path))
    np.testing.assert_array_equal(points.X, X)
    assert points.y.tolist() == ["a", "b", "a"]


def test_npz_npy_and_csv_agree(tmp_path):
    y = np.array([0, 1, 1], dtype=np.uint8)
    np.savez(tmp_path / "d.npz", X=X, y=y)
    np.save(tmp_path / "d.npy", X)
    np.save(tmp_path / "y.npy", y)
    (tmp_path / "y.txt").write_text("0\n1\n\n1\n")
    write_csv(tmp_path / "d.csv", X, y)
    read = [
        read_points(str(tmp_path / "d.npz")),
        read_points(str(tmp_path / "d.npy"), Wanted(labels=str(tmp_path / "y.npy"))),
        read_points(str(tmp_path / "d.npy"), Wanted(labels=str(tmp_path / "y.txt"))),
        read_points(str(tmp_path / "d.csv")),
    ]
    for points in read:
        np.testing.assert_array_equal(points.X, X)
        np.testing.assert_array_equal(points.y, y)


@pytest.mark.parametrize(
    ("text", "column", "labels"),
    [
        ("kind,x0,x1\na,1,0\nb,2,3\n", "kind", ["a", "b"]),
        ("a,1,0\nb,2,3\n", "1", ["a", "b"]),
        ("\ufeffx0,kind,x1\n1,a,0\n\n2,b,3\n", "kind", ["a", "b"]),
        ('x0,x1,kind\n1,0,"a, b"\n2,3,c\n', None, ["a, b", "c"]),
        ("1,0,7\n2,3,8\n", None, [7, 8]),
    ],
)
def test_the_label_column_is_found_by_name_by_number_or_as_the_last(tmp_path, text, column, labels):
    (tmp_path / "d.csv").write_text(text, encoding="utf-8")
    points = read_points(str(tmp_path / "d.csv"), Wanted(label=column))
    np.testing.assert_array_equal(points.X, [[1.0, 0.0], [2.0, 3.0]])
    assert points.y.tolist() == labels


def test_a_csv_as_wide_as_the_model_has_no_labels(tmp_path):
    (tmp_path / "d.csv").write_text("x0,x1\n1,0\n")
    assert read_points(str(tmp_path / "d.csv"), Wanted(width=2)).y is None
    assert read_points(str(tmp_path / "d.csv"), Wanted(width=1)).y.tolist() == [0]


BAD = {
    "empty.csv": ("", "is empty"),
    "header.csv": ("x0,x1,label\n", "has a header and no rows"),
    "ragged.csv": ("1,0,a\n1,a\n", "line 2 has 2 columns, the first line has 3"),
    "words.csv": ("x0,x1,label\n1,zero,a\n", "line 2, column 'x1' is 'zero', not a number"),
    "nan.csv": ("x0,x1,label\n1,0,a\nnan,0,b\n", "line 3, column 'x0' is nan"),
    "infinite.csv": ("1,0,0\n1,inf,1\n", "line 2, column 2 is inf"),
    "points.dat": ("1 0 0\n", r"unknown kind of file; give \.csv, \.tsv"),
    "text.npz": ("not an archive", "damaged"),
    "text.npy": ("not an array", "damaged"),
}


@pytest.mark.parametrize("name", BAD)
def test_unreadable_text_is_told_in_one_sentence(tmp_path, name):
    text, message = BAD[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        read_points(str(tmp_path / name))
    assert name in str(caught.value)


def test_files_that_could_run_code_are_refused(tmp_path):
    class Surprise:
        def __reduce__(self):
            return (pytest.fail, ("code in a data file was run",))

    np.save(tmp_path / "d.npy", np.array([Surprise()], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "d.npz", X=np.array([Surprise()], dtype=object))
    for name in ("d.npy", "d.npz"):
        with pytest.raises(CommandError, match="plain"):
            read_points(str(tmp_path / name))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"Z": X}, "has no array X; it holds Z"),
        ({"X": X, "y": [0, 1]}, "3 points and 2 labels"),
        ({"X": X[0], "y": [0, 1]}, "must be a table of numbers"),
        ({"X": X[:0], "y": []}, "at least one row"),
        ({"X": [["a", "b"]], "y": [0]}, "must be a table of numbers"),
        ({"X": np.where(X > 1.01, np.inf, X), "y": [0, 1, 1]}, r"X\[1, 0\] is inf"),
        ({"X": X, "y": [0, 1, 1], "ids": ["a"]}, "3 points and 1 ids"),
    ],
)
def test_archives_that_do_not_hold_points(tmp_path, arrays, message):
    np.savez(tmp_path / "d.npz", **arrays)
    with pytest.raises(CommandError, match=message):
        read_points(str(tmp_path / "d.npz"))


def test_a_truncated_archive_is_damaged(tmp_path):
    np.savez(tmp_path / "d.npz", X=X, y=[0, 1, 1])
    whole = (tmp_path / "d.npz").read_bytes()
    for length in (len(whole) // 2, len(whole) - 30):
        (tmp_path / "d.npz").write_bytes(whole[:length])
        with pytest.raises(CommandError, match="damaged"):
            read_points(str(tmp_path / "d.npz"))


def test_binary_rubbish_called_csv(tmp_path):
    (tmp_path / "d.csv").write_bytes(bytes(range(128, 256)))
    with pytest.raises(ValueError, match="not a text file in UTF-8"):
        read_points(str(tmp_path / "d.csv"))


def test_missing_files_folders_and_columns(tmp_path):
    write_csv(tmp_path / "d.csv", X, np.array([0, 1, 1]))
    np.save(tmp_path / "d.npy", X)
    with pytest.raises(CommandError, match="there is no file"):
        read_points(str(tmp_path / "absent.csv"))
    with pytest.raises(CommandError, match="is a folder, not a file"):
        read_points(str(tmp_path))
    with pytest.raises(ValueError, match="has no column 'kind'; its columns are x0, x1, label"):
        read_points(str(tmp_path / "d.csv"), Wanted(label="kind"))
    with pytest.raises(CommandError, match=r"--label names a column of a table"):
        read_points(str(tmp_path / "d.npy"), Wanted(label="kind"))


def test_outputs_are_checked_before_work(tmp_path):
    (tmp_path / "file").write_text("")
    assert check_output(str(tmp_path / "new.npz"), (".npz",)) == tmp_path / "new.npz"
    with pytest.raises(CommandError, match=r"must end in \.npz"):
        check_output(str(tmp_path / "new.pkl"), (".npz",))
    with pytest.raises(CommandError, match="is a folder"):
        check_output(str(tmp_path))
    with pytest.raises(CommandError, match="there is no folder"):
        check_output(str(tmp_path / "absent" / "new.npz"))
    with pytest.raises(CommandError, match="cannot make the folder"):
        make_folder(str(tmp_path / "file" / "below"))
