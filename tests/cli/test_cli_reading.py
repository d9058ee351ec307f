"""Files as people have them: columns and ids by name, indices recognised, missing labels, other kinds of text."""

import csv
import gzip
import time
from io import StringIO

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from hypermargin.cli import main
from hypermargin.cli.console import CommandError
from hypermargin.cli.reading import Wanted, read_points
from hypermargin.estimators import HyperbolicSVC, HyperbolicSVCCV, load_model
from hypermargin.progress import Progress
from reference.objective import lift

TABLE = "cell_id,x,batch,y,type\nAA,0.1,1,0.2,red\nBB,0.3,2,-0.1,blue\nCC,-0.2,1,0.4,red\n"
X = np.array([[0.1, 0.2], [0.3, -0.1], [-0.2, 0.4]])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name, text):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)
    return name


@pytest.mark.parametrize("sign", [",", "\t", ";", "|"])
@pytest.mark.parametrize("suffix", ["csv", "txt", "csv.gz"])
def test_delimiters_are_found_and_archives_opened(folder, sign, suffix):
    text = TABLE.replace(",", sign)
    if suffix.endswith("gz"):
        (folder / "d.csv.gz").write_bytes(gzip.compress(text.encode()))
    else:
        write(f"d.{suffix}", text)
    points = read_points(f"d.{suffix}", Wanted(columns=("x", "y"), label="type", id="cell_id"))
    np.testing.assert_array_equal(points.X, X)
    assert (points.y.tolist(), points.ids, points.names) == (["red", "blue", "red"], ["AA", "BB", "CC"], ("x", "y"))


def test_a_delimiter_that_is_said_is_taken(folder, capsys):
    write("d.csv", "x,a;y,b;kind\n1;2;u,v\n3;4;w,x\n")
    points = read_points("d.csv", Wanted(delimiter=";"))
    np.testing.assert_array_equal(points.X, [[1.0, 2.0], [3.0, 4.0]])
    assert (points.names, points.y.tolist()) == (("x,a", "y,b"), ["u,v", "w,x"])
    code = main(["fit", "d.csv", "--delimiter", "ab", "-o", "m.npz"])
    assert code == 2
    assert "must be one sign" in capsys.readouterr().err


def frame_text(frame, **options):
    buffer = StringIO()
    frame.to_csv(buffer, **options)
    return buffer.getvalue()


FRAME = pd.DataFrame({"x": [0.1, 0.3, -0.2, 0.0], "y": [0.2, -0.1, 0.4, 0.0], "type": ["r", "b", "r", "b"]})


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (frame_text(FRAME), ["0", "1", "2", "3"]),
        (frame_text(FRAME, sep="\t"), ["0", "1", "2", "3"]),
        (frame_text(FRAME, index_label="index"), ["0", "1", "2", "3"]),
        (frame_text(FRAME.set_index(pd.Index([7, 3, 9, 1]))), ["7", "3", "9", "1"]),
        (frame_text(FRAME.set_index(pd.Index(list("abcd"), name="gene"))), ["a", "b", "c", "d"]),
        (frame_text(FRAME.set_index(pd.Index([1, 2, 3, 4], name="cell"))), ["1", "2", "3", "4"]),
        # R's write.table: the header lacks the name of the rows.
        ('"x" "y" "type"\n"1" 0.1 0.2 r\n"2" 0.3 -0.1 b\n"3" -0.2 0.4 r\n"4" 0 0 b\n'.replace('"', ""), list("1234")),
    ],
    ids=["pandas", "tab", "named", "shuffled", "words", "counting", "R"],
)
def test_an_index_column_is_recognised_and_never_fitted(folder, text, ids):
    points = read_points(write("d.csv", text))
    np.testing.assert_array_equal(points.X, FRAME[["x", "y"]])
    assert (points.ids, points.y.tolist()) == (ids, ["r", "b", "r", "b"])


def test_an_index_of_parquet_and_labels_of_its_types(folder):
    frame = FRAME.set_index(pd.Index(["c1", "c2", "c3", "c4"]))
    frame["type"] = pd.Categorical(["r", None, "r", "b"])
    frame.to_parquet("d.parquet")
    points = read_points("d.parquet", Wanted(label="type"))
    np.testing.assert_array_equal(points.X, FRAME[["x", "y"]])
    assert points.ids == ["c1", "c2", "c3", "c4"]
    assert points.missing.tolist() == [False, True, False, False]
    write("e.parquet", "no")
    with pytest.raises(ValueError, match="is not a Parquet file"):
        read_points("e.parquet")


def test_word_vectors_as_gensim_writes_them(folder):
    write("d.vec", "2 3\nmammal.n.01 0.1 0.2 0.3\ncat.n.01 -0.1 0.5 0.25\n")
    points = read_points("d.vec", Wanted(width=3))
    np.testing.assert_array_equal(points.X, [[0.1, 0.2, 0.3], [-0.1, 0.5, 0.25]])
    assert points.ids == ["mammal.n.01", "cat.n.01"]
    write("d.kv", "")
    with pytest.raises(CommandError, match=r"is a pickle.*save_word2vec_format"):
        read_points("d.kv")


@pytest.mark.parametrize("gap", ["", "NA", "nan"])
def test_the_line_without_a_label_is_named(folder, capsys, gap):
    write("d.csv", f"x,y,type\n0.1,0.2,r\n\n0.3,0.1,{gap}\n0.1,0.4,b\n")
    assert main(["fit", "d.csv", "--geometry", "poincare", "-o", "m.npz"]) == 2
    assert "d.csv: line 4 has no label; fill it in, or leave such rows out" in capsys.readouterr().err


def test_the_line_of_a_bad_point_is_named(folder, capsys):
    """Not its row after sorting, nor its row without the header."""
    rng = np.random.default_rng(0)
    disk = 0.3 * rng.normal(size=(30, 2)).clip(-2.0, 2.0)
    disk[7] = [1.5, 0.0]
    pd.DataFrame({"x": disk[:, 0], "y": disk[:, 1], "type": np.arange(30) % 3}).to_csv("d.csv", index=False)
    for command in (
        ["fit", "d.csv", "-o", "m.npz"],
        ["cv", "d.csv"],
        ["compare", "d.csv"],
        ["plot", "d.csv", "-o", "p.png"],
    ):
        assert main([*command, "--geometry", "poincare"]) == 2
        assert "d.csv: line 9 is not inside the unit ball" in capsys.readouterr().err


class TestNamesInTheModel:
    @pytest.fixture
    def model(self, folder, capsys):
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1], 15)
        disk = 0.1 * rng.normal(size=(30, 2)) + np.where(y[:, None] == 1, 0.4, -0.3)
        self.table = pd.DataFrame({"cell": [f"c{k}" for k in range(30)], "u": disk[:, 0], "v": disk[:, 1], "kind": y})
        self.table.to_csv("d.csv", index=False)
        assert main(["fit", "d.csv", "--id", "cell", "--geometry", "poincare", "-o", "m.npz"]) == 0
        capsys.readouterr()
        self.expected = HyperbolicSVC(geometry="poincare", random_state=0).fit(disk, y).predict(disk)
        return load_model("m.npz")

    def run(self, capsys, *arguments):
        code = main(["predict", "m.npz", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    def test_they_are_kept_and_ids_go_through(self, model, capsys):
        assert model.feature_names_in_.tolist() == ["u", "v"]
        code, _, err = self.run(capsys, "d.csv", "--id", "cell", "-o", "answers.csv", "-p", "--radii")
        assert (code, err) == (0, "")
        with open("answers.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["cell"] for row in rows] == self.table["cell"].tolist()
        assert [int(row["label"]) for row in rows] == self.expected.tolist()
        radii = model.certified_radius(self.table[["u", "v"]])
        np.testing.assert_allclose([float(row["certified_radius"]) for row in rows], radii)

    def test_extra_columns_are_left_out_with_a_word(self, model, capsys):
        self.table.assign(batch=3, day="mon")[["day", "u", "batch", "v"]].to_csv("wide.csv", index=False)
        code, out, err = self.run(capsys, "wide.csv")
        assert code == 0
        assert "left out, because the model does not know them: 'day', 'batch'" in err
        assert [int(line) for line in out.split()] == self.expected.tolist()

    def test_exchanged_columns_are_an_error_unless_said(self, model, capsys):
        self.table[["v", "u"]].to_csv("turned.csv", index=False)
        code, out, err = self.run(capsys, "turned.csv")
        assert code == 2
        assert "in the order v, u, and the model was fitted to u, v" in err
        code, out, _ = self.run(capsys, "turned.csv", "--columns", "u,v")
        assert [int(line) for line in out.split()] == self.expected.tolist()
        code, _, err = self.run(capsys, "turned.csv", "--columns", "v,u")
        assert code == 2
        assert "fitted to the columns u, v, and --columns names v, u" in err

    def test_missing_columns_are_an_error(self, model, capsys):
        self.table.rename(columns={"v": "w"}).to_csv("other.csv", index=False)
        code, _, err = self.run(capsys, "other.csv")
        assert code == 2
        assert "has no column 'v': the model was fitted to u, v, and the columns here are cell, u, w, kind" in err

    def test_arrays_and_tables_without_names_go_by_their_order(self, model, capsys):
        np.save("d.npy", self.table[["u", "v"]].to_numpy())
        self.table[["u", "v"]].to_csv("bare.csv", index=False, header=False)
        for name in ("d.npy", "bare.csv"):
            code, out, err = self.run(capsys, name)
            assert (code, err) == (0, "")
            assert [int(line) for line in out.split()] == self.expected.tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--columns", "x,z"), "has no column 'z'; its columns are cell_id, x, batch, y, type"),
        (("--columns", "x,x"), "names a column twice"),
        (("--columns", "x,y"), "say with --label which column holds the labels: 'batch', 'type'"),
        (("--id", "cell"), "has no column 'cell'"),
        (("--obsm", "X"), "--obsm is for .h5ad files"),
        (("--label", "y", "--columns", "x,type"), "line 2, column 'type' is 'red', not a number"),
    ],
)
def test_what_is_not_in_the_table(folder, capsys, arguments, message):
    write("d.csv", TABLE)
    assert main(["fit", "d.csv", "--geometry", "poincare", *arguments, "-o", "m.npz"]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_coordinates_are_not_taken_for_labels(folder, capsys):
    write("d.csv", "type,x,y\nr,0.1,0.2\nb,0.3,0.4\n")
    assert main(["fit", "d.csv", "--geometry", "poincare", "-o", "m.npz"]) == 2
    assert (
        "column 'y' was taken for the labels and holds numbers with fractions, such as 0.2" in capsys.readouterr().err
    )


def test_labels_that_pandas_made_floats_are_whole_numbers(folder):
    write("d.csv", "x,y,type\n0.1,0.2,1.0\n0.3,0.4,2.0\n")
    assert read_points("d.csv").y.tolist() == [1, 2]


@pytest.fixture
def three(folder):
    rng = np.random.default_rng(1)
    y = np.concatenate([np.repeat(["a", "b"], 25), ["rare"] * 3])
    centres = {"a": [1.0, 0.0], "b": [-0.6, 0.8], "rare": [-0.5, -1.6]}
    points = lift(0.5 * rng.normal(size=(53, 2)) + np.array([centres[name] for name in y]))
    frame = pd.DataFrame(points, columns=["t", "u", "v"], index=[f"n{k}" for k in range(53)]).assign(kind=y)
    frame.to_csv("three.csv")
    return frame


def test_cv_measures_what_scikit_learn_measures(three, folder, capsys):
    assert main(["cv", "three.csv", "-C", "1", "--folds", "3", "-o", "out.csv", "--picture", "confusion.png"]) == 0
    captured = capsys.readouterr()
    X, y = three[["t", "u", "v"]].to_numpy(), three["kind"].to_numpy()
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    expected = cross_val_predict(HyperbolicSVC(), X, y, cv=folds)
    answers = pd.read_csv("out.csv")
    assert answers["predicted"].tolist() == expected.tolist()
    assert answers["id"].tolist() == three.index.tolist()
    scores = [np.mean(expected[test] == y[test]) for _, test in folds.split(X, y)]
    assert f"cross-validated accuracy {100 * np.mean(scores):.1f} %" in captured.out
    table = captured.out[captured.out.index("Confusion matrix") :].splitlines()
    for name, row in zip("ab", confusion_matrix(y, expected), strict=False):
        (line,) = [line.split() for line in table if line.split()[:1] == [name]]
        assert line[1:] == [str(count) if count else "·" for count in row]
    assert (folder / "confusion.png").read_bytes().startswith(b"\x89PNG")
    assert captured.err == ""


def test_cv_chooses_C_inside_and_warns_of_small_classes(three, capsys):
    assert main(["cv", "three.csv"]) == 0
    captured = capsys.readouterr()
    assert "C chosen inside each fold:" in captured.out
    assert captured.err.count("\n") == 1
    assert "1 of 3 classes have fewer samples than the 5 folds" in captured.err
    assert "rare (3)" in captured.err
    for folds, message in (("1", "--folds must be at least 2"), ("26", "fewer than the 26 folds: say --folds 25")):
        assert main(["cv", "three.csv", "--folds", folds]) == 2
        assert message in capsys.readouterr().err


def test_fit_tells_the_cross_validated_accuracy_where_it_chose_C(three, capsys):
    assert main(["fit", "three.csv", "-C", "auto", "--folds", "3", "-o", "m.npz"]) == 0
    out = capsys.readouterr().out
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    search = HyperbolicSVCCV(cv=folds).fit(three[["t", "u", "v"]].to_numpy(), three["kind"].to_numpy())
    assert f"C = {search.C_:g}, the best of 10" in out
    assert f"cross-validated accuracy {100 * search.scores_.mean(axis=0).max():.1f} %" in out
    assert "accuracy on these points" not in out
    assert load_model("m.npz").C == search.C_


def test_long_work_tells_of_itself_in_a_log(capsys):
    with Progress("counting", 4, interval=0.05) as progress:
        progress.at(3, "sheep")
        time.sleep(0.3)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("counting: sheep, 3 of 4 (75%) after")
    with Progress("counting", 4) as progress:
        progress.at(4)
    assert capsys.readouterr().err == ""  # short work says nothing


def test_models_without_their_proofs(three, folder, capsys):
    assert main(["fit", "three.csv", "-o", "whole.npz"]) == 0
    assert main(["fit", "three.csv", "--no-certificates", "-o", "small.npz"]) == 0
    assert (folder / "small.npz").stat().st_size < (folder / "whole.npz").stat().st_size
    capsys.readouterr()
    assert main(["certificate", "save", "small.npz", "-o", "proofs"]) == 2
    assert "holds no certificates" in capsys.readouterr().err


def test_graph_in_three_commands(folder, capsys):
    """A network scientist's five minutes."""
    nx.write_graphml(nx.karate_club_graph(), "club.graphml")
    assert main(["embed", "club.graphml", "--label", "club", "-o", "points.csv"]) == 0
    assert main(["cv", "points.csv", "--label", "club"]) == 0
    assert main(["fit", "points.csv", "--label", "club", "-o", "m.npz"]) == 0
