"""Nodes of graphs classified: planted classes found again, what is left out is told, files written and read again."""

import csv

import networkx as nx
import numpy as np
import pytest

import hypermargin as hm
from hypermargin.cli import main

SIZES = (30, 30)


@pytest.fixture
def graph():
    """Two planted blocks, of whose nodes every fifth has its label."""
    found = nx.stochastic_block_model(SIZES, [[0.3, 0.01], [0.01, 0.3]], seed=0)
    for node in found:
        if node % 5 == 0:
            found.nodes[node]["club"] = "left" if node < SIZES[0] else "right"
    found.graph.clear()
    return found


def truth(node):
    return "left" if int(node) < SIZES[0] else "right"


def test_planted_classes_are_found_in_the_plane_and_beyond(graph):
    for options in ({}, {"dim": 3, "estimator": hm.HyperbolicSVC(C=10.0)}):
        found = hm.graphs.classify(graph, "club", **options)
        assert np.mean([label == truth(node) for node, label in found.labels.items()]) > 0.95
        assert found.given == {node: truth(node) for node in range(0, 60, 5)}
        best = found.model
        expected = best.predict(found.embedding.X)
        assert [graph.nodes[node]["hypermargin"] for node in found.embedding.nodes] == expected.tolist()
        node = found.embedding.nodes[7]
        sure = best.predict_proba(found.embedding.X)[7]
        assert graph.nodes[node]["hypermargin_probability"] == sure.max()
        assert graph.nodes[node]["hypermargin_p_left"] == sure[0]
        assert graph.nodes[node]["hypermargin_radius"] == best.certified_radius(found.embedding.X)[7]
    assert found.embedding.X.shape[1] == 4


def test_what_is_left_out_is_told_in_a_line_each(graph):
    many = nx.MultiDiGraph(graph)
    many.add_edge(0, 0)
    many.add_node("alone", club="left")
    many.add_edges_from([("x", "y"), ("y", "z")])
    nx.set_edge_attributes(many, 2.0, "weight")
    found = hm.graphs.classify(many, "club", dim=2)
    assert found.remarks == [
        "directions of edges are ignored",
        "1 loops are left out",
        f"{graph.number_of_edges()} parallel edges are left out: the shortest counts",
        "edges have a weight, which is not used: say whether it is a length (weight) or a strength",
        "the graph has 3 components, of which 1 are classified",
        "1 isolated nodes get no label: nothing joins them to one",
        "3 nodes in 1 components without a label get none",
    ]
    assert set(found.labels) == set(graph)
    assert "hypermargin" not in many.nodes["x"]
    plain = hm.graphs.classify(graph, "club", dim=2)
    np.testing.assert_array_equal(plain.embedding.X, found.embedding.X)


def test_strengths_are_inverse_lengths_and_the_strongest_of_parallel_edges_counts(graph):
    strong, long = nx.MultiGraph(), nx.Graph()
    for k, (a, b) in enumerate(graph.edges):
        strong.add_edge(a, b, weight=1.0 + k % 3)
        strong.add_edge(a, b, weight=0.5)
        long.add_edge(a, b, length=1.0 / (1.0 + k % 3))
    labels = {node: truth(node) for node in range(0, 60, 5)} | {7: float("nan"), 8: "nan", 9: None, 11: ""}
    first = hm.graphs.classify(strong, labels=labels, strength="weight", dim=2)
    second = hm.graphs.classify(long, labels=labels, weight="length", dim=2)
    np.testing.assert_array_equal(first.embedding.X, second.embedding.X)
    assert first.given == second.given == {node: truth(node) for node in range(0, 60, 5)}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ValueError, "say where labels are"),
        ({"label": "kind"}, ValueError, "0 nodes with an edge have a label, of 0 classes"),
        ({"label": "club", "strength": "weight"}, ValueError, "has weight=None; it must be a positive number"),
        ({"label": "club", "strength": "a", "weight": "b"}, ValueError, "not both"),
        ({"label": "club", "estimator": hm.HyperbolicSVC(geometry="klein")}, ValueError, "geometry='lorentz'"),
    ],
)
def test_what_cannot_be_classified(graph, options, error, message):
    with pytest.raises(error, match=message):
        hm.graphs.classify(graph, **options)
    with pytest.raises(TypeError, match="networkx graph, got list"):
        hm.graphs.classify([(0, 1)], "club")


@pytest.mark.parametrize("kind", ["graphml", "gml", "gexf"])
def test_the_command_writes_the_format_it_reads(graph, tmp_path, monkeypatch, capsys, kind):
    monkeypatch.chdir(tmp_path)
    graph = nx.Graph(graph)
    for node in graph:
        graph.nodes[node].pop("block", None)
    getattr(nx, f"write_{kind}")(graph, f"in.{kind}")
    command = ["classify", f"in.{kind}", "--label", "club", "--dim", "2", "-o", f"out.{kind}"]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "48 nodes labelled; cross-validated accuracy on the 12 others" in out
    again = getattr(nx, f"read_{kind}")(f"out.{kind}")
    assert again.number_of_edges() == graph.number_of_edges()
    right = [data["hypermargin"] == truth(node) for node, data in again.nodes(data=True)]
    assert len(right) == 60
    assert np.mean(right) > 0.95
    assert all(0.5 <= data["hypermargin_probability"] <= 1.0 for _, data in again.nodes(data=True))
    assert main([*command[:3], "kind", "-o", "other.gml"]) == 2
    assert "no node has 'kind'; nodes have club" in capsys.readouterr().err


def test_the_command_joins_labels_by_id_and_writes_a_table_a_picture_and_a_page(graph, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    nx.write_edgelist(nx.relabel_nodes(graph, "n{}".format), "edges.txt", data=False)
    (tmp_path / "who.csv").write_text(
        "person,age,club\n" + "".join(f"n{node},{node},{truth(node)}\n" for node in range(0, 60, 4)) + "n99,3,left\n"
    )
    command = ["classify", "edges.txt", "--labels", "who.csv", "--label", "club", "--dim", "2", "-o", "out.csv"]
    assert main([*command, "--picture", "nodes.png", "--page", "page.html"]) == 0
    assert "1 rows name no node of the graph" in capsys.readouterr().err
    with open("out.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert np.mean([row["label"] == truth(row["node"][1:]) for row in rows]) > 0.95
    assert {row["node"]: row["given"] for row in rows}["n4"] == "left"
    assert {"probability", "radius", "p_left", "p_right"} <= set(rows[0])
    assert (tmp_path / "nodes.png").stat().st_size > 10_000
    assert '"n59"' in (tmp_path / "page.html").read_text()
