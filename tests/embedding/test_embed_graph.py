"""Graphs to points: lengths, parts, directions and what is refused; the command; vectors of gensim."""

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from hypermargin.cli import main
from hypermargin.cli.reading import Wanted, read_points
from hypermargin.embedding import embed_graph, keyed_vectors
from hypermargin.geometry import distance


def test_lengths_of_edges_become_distances():
    graph = nx.Graph()
    graph.add_weighted_edges_from([("a", "b", 0.5), ("b", "c", 2.0), ("c", "d", 1.0)])
    found = embed_graph(graph, weight="weight", scale=0.7)
    for (a, b), wanted in {("a", "b"): 0.5, ("a", "c"): 2.5, ("a", "d"): 3.5, ("b", "d"): 3.0}.items():
        first, second = found.X[found.rows([a, b])]
        assert distance(first, second) == pytest.approx(0.7 * wanted, rel=1e-3)
    unit = embed_graph(graph)
    assert distance(*unit.X[unit.rows(["a", "d"])]) == pytest.approx(3.0, rel=1e-3)


def test_directions_loops_and_parallel_edges_do_not_matter():
    plain = embed_graph(nx.path_graph(6)).X
    many = nx.MultiDiGraph([(1, 0), (1, 2), (2, 3), (3, 4), (5, 4), (0, 0), (1, 2)])
    many.add_edge(2, 3, length=9.0)
    ordered = nx.MultiDiGraph()
    ordered.add_nodes_from(range(6))
    ordered.add_edges_from(many.edges)
    np.testing.assert_array_equal(embed_graph(ordered).X, plain)
    adjacency = nx.to_numpy_array(nx.path_graph(6))
    np.testing.assert_array_equal(embed_graph(adjacency).X, plain)
    np.testing.assert_array_equal(embed_graph(sparse.csr_array(adjacency)).X, plain)


def test_a_graph_in_parts_is_refused_or_its_largest_part_taken():
    graph = nx.Graph([(0, 1), (1, 2), ("x", "y")])
    with pytest.raises(ValueError, match=r"falls into 2 parts \(the largest has 3 of 5 nodes\)"):
        embed_graph(graph)
    assert embed_graph(graph, largest_component=True).nodes == [0, 1, 2]


def test_a_long_graph_is_shrunk_to_what_double_precision_holds():
    found = embed_graph(nx.path_graph(101))
    assert found.scale == pytest.approx(0.24)
    assert distance(*found.X[found.rows([0, 100])]) == pytest.approx(24.0, rel=1e-3)


@pytest.mark.parametrize(
    ("graph", "options", "error", "message"),
    [
        (nx.Graph(), {}, ValueError, "no nodes"),
        ([(0, 1)], {}, TypeError, "networkx graph or an adjacency matrix, got list"),
        (nx.path_graph(3), {"weight": "length"}, ValueError, "has no attribute 'length'"),
        (nx.from_numpy_array(np.array([[0, -1], [-1, 0]])), {"weight": "weight"}, ValueError, "lengths are positive"),
        (nx.path_graph(3), {"scale": -1.0}, ValueError, "scale must be a positive number"),
        (nx.path_graph(3), {"scale": 30.0}, ValueError, "multiply them by a factor"),
    ],
)
def test_what_cannot_be_embedded(graph, options, error, message):
    with pytest.raises(error, match=message):
        embed_graph(graph, **options)


def test_one_node_and_two():
    np.testing.assert_array_equal(embed_graph(nx.path_graph(1)).X, [[1.0, 0.0, 0.0]])
    assert distance(*embed_graph(nx.path_graph(2)).X) == pytest.approx(1.0, rel=1e-4)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_writes_points_that_fit_reads(folder, capsys):
    graph = nx.karate_club_graph()
    for node in (0, 33):
        graph.nodes[node]["club"] = ""  # two members have not said yet
    nx.write_gml(graph, "club.gml")
    nx.write_edgelist(graph, "edges.txt", data=False)
    assert main(["embed", "club.gml", "--label", "club", "--geometry", "poincare", "-o", "points.csv"]) == 0
    out = capsys.readouterr().out
    assert "34 nodes, 78 edges" in out
    assert "--skip-unlabelled" in out
    points = read_points("points.csv", Wanted(label="club"))
    assert points.ids == [str(node) for node in graph]
    assert points.missing.sum() == 2
    np.testing.assert_array_equal(points.X, embed_graph(graph).coordinates("poincare"))
    space = ("--geometry", "poincare", "--label", "club")
    assert main(["fit", "points.csv", *space, "-o", "model.npz"]) == 2
    assert "points.csv: line 2 has no label (2 rows have none)" in capsys.readouterr().err
    assert main(["fit", "points.csv", *space, "--skip-unlabelled", "-o", "model.npz"]) == 0
    assert main(["predict", "model.npz", "points.csv", "--label", "club"]) == 0
    answers = dict(line.split(",") for line in capsys.readouterr().out.splitlines()[-34:])
    assert (answers["0"], answers["33"]) == ("Mr. Hi", "Officer")  # the two leaders, as they did
    assert main(["embed", "edges.txt", "-o", "again.csv"]) == 0
    assert len(read_points("again.csv", Wanted(width=3)).X) == 34


def test_lengths_in_a_column(folder, capsys):
    (folder / "edges.csv").write_text("from,to,km\na,b,2\nb,c,1\na,b,5\nz,z,1\n")
    assert main(["embed", "edges.csv", "--weight", "km", "-o", "points.csv"]) == 2
    assert "falls into 2 parts" in capsys.readouterr().err
    assert main(["embed", "edges.csv", "--weight", "km", "--largest-component", "-o", "points.csv"]) == 0
    assert "1 nodes outside" in capsys.readouterr().err
    X = read_points("points.csv", Wanted(width=3)).X
    assert [distance(X[0], X[1]), distance(X[1], X[2])] == pytest.approx([2.0, 1.0], rel=1e-3)


@pytest.mark.parametrize(
    ("text", "edges", "header"),
    [
        ("anna bert\nbert carl\n", 2, None),
        ("anna,bert\nbert,carl\nanna,carl\n", 3, None),
        ("anna bert {}\nbert carl {}\n", 2, None),  # as networkx writes them
        ("anna bert\ncarl bert\nanna dora\n", 3, None),
        ("who\twhom\nanna\tbert\nbert\tcarl\n", 2, "who, whom"),
        ("Source,Target\nsource,anna\nanna,bert\n", 2, "Source, Target"),
        ("anna bert 2\nbert carl 1\n", 2, None),
    ],
)
def test_the_first_edge_of_nodes_with_names_is_no_header(folder, capsys, text, edges, header):
    (folder / "edges.txt").write_text(text)
    assert main(["embed", "edges.txt", "-o", "points.csv"]) == 0
    out = capsys.readouterr().out
    nodes = {"source"} & set(text.replace(",", " ").split()) | {"anna", "bert"}
    assert f"{edges} edges" in out
    assert ("first line is read as a header" in out) == (header is not None)
    assert header is None or f"header: {header}" in out
    assert nodes <= set(read_points("points.csv", Wanted(width=3)).ids)


def test_what_networkx_writes_keeps_its_nodes(folder, capsys):
    graph = nx.relabel_nodes(nx.karate_club_graph(), "member_{}".format)
    nx.write_edgelist(graph, "edges.txt", data=["weight"])
    assert main(["embed", "edges.txt", "-o", "points.csv"]) == 0
    assert "34 nodes, 78 edges" in capsys.readouterr().out
    nx.write_edgelist(nx.Graph(graph.edges), "edges.txt")
    assert main(["embed", "edges.txt", "-o", "points.csv"]) == 0
    assert "34 nodes, 78 edges" in capsys.readouterr().out


def test_a_length_that_is_none_is_named_on_the_first_line_too(folder, capsys):
    (folder / "edges.txt").write_text("anna bert far\nbert carl 1\n")
    assert main(["embed", "edges.txt", "--weight", "3", "-o", "points.csv"]) == 2
    assert "the first line, column 3 is 'far', not a number" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("g.gml", "graph [ node [ id 1", "cannot be read as .gml"),
        ("g.xyz", "", "unknown kind of graph"),
        ("g.csv", "a\nb\n", "two nodes in each line"),
    ],
)
def test_files_that_are_no_graphs(folder, capsys, name, text, message):
    (folder / name).write_text(text)
    assert main(["embed", name, "-o", "points.csv"]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_vectors_of_gensim_by_their_attributes():
    kv = SimpleNamespace(vectors=np.array([[0.1, 0.2], [0.3, 0.4]], dtype=np.float32), index_to_key=["mammal", "cat"])
    for source in (kv, SimpleNamespace(kv=kv), SimpleNamespace(wv=kv)):
        X, words = keyed_vectors(source)
        assert words == ["mammal", "cat"]
        np.testing.assert_array_equal(X, kv.vectors.astype(float))
    with pytest.raises(TypeError, match="KeyedVectors, or a model with them, got list"):
        keyed_vectors([1.0])
