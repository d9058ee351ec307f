"""`hypermargin embed`: a graph to points of hyperbolic space."""

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from hypermargin.cli.console import CommandError, check_output, say, warn, write_csv
from hypermargin.embedding import embed_graph
from hypermargin.embedding.graph import OBJECTIVES
from hypermargin.geometry.validation import GEOMETRIES

EXAMPLES = """examples:
  hypermargin embed graph.gml --output points.csv
      Lorentz coordinates of every node in the plane, which are near where nodes are
  hypermargin embed graph.gml --dim 10 --output points.csv
      in ten dimensions, which hold the neighbourhoods of any graph
  hypermargin embed graph.graphml --label club --geometry poincare --output points.csv
      on the Poincaré disk, with an attribute of the nodes as the last column: ready for `hypermargin fit`
  hypermargin embed edges.csv --weight 3 --largest-component --output points.csv
      pairs of nodes, one per line, with lengths in the third column
"""
#: Files of edges, one per line.
EDGE_LISTS = (".csv", ".tsv", ".txt", ".edges", ".edgelist")
#: What the columns of such files are called, in lower case.
COLUMN_NAMES = {"source", "target", "from", "to", "src", "dst", "tail", "head", "node1", "node2", "weight", "length"}
READERS = {".gml": nx.read_gml, ".graphml": nx.read_graphml, ".gexf": nx.read_gexf, ".net": nx.read_pajek}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("graph", help=f"a graph: {', '.join(READERS)}, or a list of edges ({', '.join(EDGE_LISTS)})")
    parser.add_argument("--output", "-o", required=True, metavar="FILE", help="the points (.csv)")
    parser.add_argument(
        "--weight", metavar="NAME", help="attribute (or column) that holds the lengths of edges (default: all 1)"
    )
    parser.add_argument("--label", metavar="NAME", help="attribute of nodes to write as the last column")
    parser.add_argument("--largest-component", action="store_true", help="take the largest part of a graph in parts")
    parser.add_argument("--scale", type=float, help="hyperbolic length of one unit (default: 1, or what fits)")
    parser.add_argument("--dim", type=int, default=2, metavar="D", help="dimension of the space (%(default)s)")
    parser.add_argument(
        "--objective", choices=OBJECTIVES, default="auto", help="what points follow (auto: distances for trees)"
    )
    parser.add_argument("--max-iter", type=int, default=2000, metavar="N", help="steps at most (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers (%(default)s)")
    parser.add_argument(
        "--geometry", choices=GEOMETRIES, default="lorentz", help="the coordinates to write (%(default)s)"
    )


def run(args: argparse.Namespace) -> None:
    output = check_output(args.output, (".csv",), inputs=(args.graph,))
    graph, weight = read_graph(args.graph, args.weight)
    say(f"{args.graph}: {graph.number_of_nodes()} nodes, {graph.number_of_edges()} edges")
    labels = None if args.label is None else nx.get_node_attributes(graph, args.label)
    if labels is not None and not labels:
        known = sorted({str(name) for _, data in graph.nodes(data=True) for name in data})
        raise CommandError(
            f"{args.graph}: no node has {args.label!r}; nodes have {', '.join(known) or 'no attributes'}"
        )
    embedding = embed_graph(
        graph,
        dim=args.dim,
        objective=args.objective,
        weight=weight,
        scale=args.scale,
        largest_component=args.largest_component,
        max_iter=args.max_iter,
        seed=args.seed,
        verbose=shows_progress(graph),
    )
    X = embedding.coordinates(args.geometry)
    names = [f"x{k}" for k in range(X.shape[1])]
    y = None if labels is None else ["" if labels.get(node) is None else str(labels[node]) for node in embedding.nodes]
    write_csv(output, X, y, names=names, ids=("node", embedding.nodes), label=args.label or "label")
    say(str(embedding))
    if len(embedding.nodes) < graph.number_of_nodes():
        warn(f"{graph.number_of_nodes() - len(embedding.nodes)} nodes outside the largest component are left out")
    say(f"wrote {output}")
    if y is not None:
        skip = " --skip-unlabelled" if "" in y else ""
        geometry = "" if args.geometry == "lorentz" else f" --geometry {args.geometry}"
        say(f"next: hypermargin fit {output} --label {args.label}{geometry}{skip} --output model.npz")


def shows_progress(graph: nx.Graph) -> int:
    """Whether work on a graph shows its progress: small ones take no time."""
    return int(sys.stderr.isatty() or graph.number_of_nodes() > 200)


def edges_among(path: str, ids: Sequence[Any] | None, n_points: int) -> np.ndarray:
    """The edges of a graph as pairs of rows of points, shape (m, 2): nodes are called by ids, or by row numbers."""
    graph, _ = read_graph(path, None)
    row_of = {str(name): row for row, name in enumerate(range(n_points) if ids is None else ids)}
    joined = [(str(one), str(other)) for one, other in graph.edges()]
    pairs = [(row_of[one], row_of[other]) for one, other in joined if one in row_of and other in row_of]
    if joined and not pairs:
        raise CommandError(f"{path}: no edge joins two of the points; its nodes must be called as they are")
    if len(pairs) < len(joined):
        warn(f"{path}: {len(joined) - len(pairs)} edges to nodes that are no points are left out")
    return np.array(pairs, dtype=np.intp).reshape(-1, 2)


def read_graph(path: str, weight: str | None) -> tuple[Any, str | None]:
    """The graph, and the name of the edges' attribute that holds lengths."""
    if not Path(path).is_file():
        raise CommandError(f"there is no file {path}")
    kind = Path(path).suffix.lower()
    if kind in EDGE_LISTS:
        return _read_edges(path, weight)
    if kind not in READERS:
        raise CommandError(f"{path}: unknown kind of graph; give {', '.join(READERS)} or {', '.join(EDGE_LISTS)}")
    try:
        return READERS[kind](path), weight
    except Exception as error:  # the readers raise what their parsers raise
        raise CommandError(f"{path} cannot be read as {kind}: {error}") from error


def _read_edges(path: str, weight: str | None) -> tuple[nx.Graph, str | None]:
    """A graph from rows whose first two columns are nodes."""
    from hypermargin.data.readers import Table, TextFile

    table = next(TextFile(path).tables(whole=True), Table(Path(path), None, [], str))
    if len(table.columns) < 2:
        raise CommandError(f"{path}: a list of edges has two nodes in each line")
    if table.header is not None:
        if _is_header(table.header, table.columns):
            say(f"{path}: its first line is read as a header: {', '.join(table.header)}")
        else:  # an edge between nodes with names
            columns = [[cell, *column] for cell, column in zip(table.header, table.columns, strict=True)]
            below = table.place
            table = replace(
                table, header=None, columns=columns, place=lambda row: below(row - 1) if row else "the first line"
            )
    graph = nx.MultiGraph()
    lengths = None if weight is None else table.finite(table.find(weight)).tolist()
    name = "length" if weight is None or weight.isdigit() else weight
    for row, (a, b) in enumerate(zip(table.columns[0], table.columns[1], strict=True)):
        attributes = {} if lengths is None else {name: lengths[row]}
        graph.add_edge(str(a).strip(), str(b).strip(), **attributes)
    return graph, None if weight is None else name


def _is_header(words: Sequence[str], columns: Iterable[Iterable[Any]]) -> bool:
    """Whether the first line of a list of edges names its columns: its words are names of columns, or occur only there.

    Nodes other than those of a single edge occur again, so that a first edge is taken for a header only if it is a
    component of its own.
    """
    if not words[0]:  # a table with an index
        return True
    cells = {str(cell).strip() for column in columns for cell in column}
    return all(word.lower() in COLUMN_NAMES or word not in cells for word in words)
