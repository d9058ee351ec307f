"""`hypermargin classify`: label the nodes of a graph that have no label."""

import argparse
from pathlib import Path
from typing import Any

import networkx as nx

from hypermargin.cli.console import CommandError, check_output, percent, say, warn, write_columns
from hypermargin.cli.embed import EDGE_LISTS, READERS, read_graph, shows_progress
from hypermargin.graphs import LabelledGraph, classify

EXAMPLES = """examples:
  hypermargin classify graph.graphml --label club --output out.graphml
      embed the graph, choose a model by cross-validation, and write labels, probabilities and certified radii into it
  hypermargin classify edges.csv --labels people.csv --label club --output labels.csv --page page.html
      labels from a table whose first column names nodes; a table out, and a page to look at
  hypermargin classify graph.gml --label club --strength weight --output for_gephi.gexf --picture club.png
      edges with a large weight are short
"""
WRITERS = {".gml": nx.write_gml, ".graphml": nx.write_graphml, ".gexf": nx.write_gexf}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("graph", help=f"a graph: {', '.join(READERS)}, or a list of edges ({', '.join(EDGE_LISTS)})")
    parser.add_argument("--label", metavar="NAME", help="attribute of nodes (or column of --labels) that holds labels")
    parser.add_argument("--labels", metavar="FILE", help="labels in a table whose first column names nodes")
    parser.add_argument(
        "--output", "-o", required=True, metavar="FILE", help=f"a graph ({', '.join(WRITERS)}) or a table (.csv)"
    )
    parser.add_argument("--weight", metavar="NAME", help="attribute (or column) that holds lengths of edges")
    parser.add_argument("--strength", metavar="NAME", help="attribute (or column) that holds strengths of edges")
    parser.add_argument(
        "--dim", type=int, metavar="D", help="dimension of the embedding (default: 2 or 10, by accuracy)"
    )
    parser.add_argument("--radii", action="store_true", help="certified radii of every model that has them")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers (%(default)s)")
    parser.add_argument("--picture", metavar="FILE", help="draw nodes, edges and regions (.png, .pdf, .svg)")
    parser.add_argument("--page", metavar="FILE", help="a page to look at the nodes with their edges (.html)")


def run(args: argparse.Namespace) -> None:
    inputs = (args.graph, args.labels)
    output = check_output(args.output, (".csv", *WRITERS), inputs=inputs)
    picture = check_output(args.picture, (".png", ".pdf", ".svg"), inputs=inputs) if args.picture else None
    page = check_output(args.page, (".html", ".htm"), inputs=inputs) if args.page else None
    if args.label is None and args.labels is None:
        raise CommandError("say where labels are: --label NAME of an attribute, or --labels FILE")
    graph, column = read_graph(args.graph, args.weight or args.strength)
    say(f"{args.graph}: {graph.number_of_nodes()} nodes, {graph.number_of_edges()} edges")
    if args.labels is None and not nx.get_node_attributes(graph, args.label):
        known = sorted({str(name) for _, data in graph.nodes(data=True) for name in data})
        raise CommandError(
            f"{args.graph}: no node has {args.label!r}; nodes have {', '.join(known) or 'no attributes'}"
        )
    found = classify(
        graph,
        args.label if args.labels is None else None,
        labels=None if args.labels is None else _labels_of(args.labels, args.label, graph),
        weight=None if args.weight is None else column,
        strength=None if args.strength is None else column,
        dim=args.dim,
        radii=True if args.radii else None,
        seed=args.seed,
        verbose=shows_progress(graph),
    )
    for remark in found.remarks:
        say(remark)
    say(f"{found.embedding.X.shape[1] - 1} dimensions: {found.model.explanation_}")
    new = sum(node not in found.given for node in found.labels)
    say(
        f"{new} nodes labelled; cross-validated accuracy on the {len(found.labels) - new} others {percent(found.score)}"
    )
    _write(output, graph, found)
    if picture is not None:
        from hypermargin.cli.pictures import save_picture

        save_picture(found.plot(graph), picture)
        say(f"wrote {picture}")
    if page is not None:
        say(f"wrote {found.explore(graph, Path(args.graph).name).save(page)}")


def _labels_of(path: str, column: str | None, graph: nx.Graph) -> dict[Any, str]:
    """The labels of a table by node; its first column names them, and the last one holds labels unless one is named."""
    from hypermargin.data.readers import TextFile

    table = next(TextFile(path).tables(whole=True), None)
    if table is None or len(table.columns) < 2:
        raise CommandError(f"{path}: a table of labels names a node in its first column and has its label in another")
    texts = table.texts(len(table.columns) - 1 if column is None else table.find(column))
    named = dict(zip((str(name).strip() for name in table.columns[0]), texts, strict=True))
    found = {node: named[str(node)] for node in graph if str(node) in named}
    if not found:
        raise CommandError(f"{path}: its first column names no node of the graph")
    if len(found) < len(named):
        warn(f"{path}: {len(named) - len(found)} rows name no node of the graph")
    return found


def _write(output: Path, graph: nx.Graph, found: LabelledGraph) -> None:
    """Write the graph with its new attributes, or a table with a row for each node of the embedding."""
    if output.suffix.lower() != ".csv":
        WRITERS[output.suffix.lower()](graph, output)
    else:
        columns = {f"label{name}" if not name else name[1:]: values for name, values in found.columns().items()}
        given = [found.given.get(node, "") for node in found.embedding.nodes]
        columns = {"node": found.embedding.nodes, "given": given, **columns}
        write_columns(output, columns, columns.values())
    say(f"wrote {output}")
