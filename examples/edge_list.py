"""
Node labels from an edge list
=============================

A network as a text file of edges and labels for one node in five: embed the
network in the hyperbolic plane, train on the labelled nodes, and predict the
others. Label propagation on the same graph is the comparison.
"""

import networkx as nx
import numpy as np
from networkx.algorithms.node_classification import harmonic_function

from hypermargin import HyperbolicSVC
from hypermargin.embedding import embed_graph
from hypermargin.plotting import PoincareDisplay

rng = np.random.default_rng(1)
tree = nx.full_rary_tree(3, 85)  # a hierarchy, with a few edges across it
tree.add_edges_from(rng.integers(85, size=(8, 2)).tolist())
tree.remove_edges_from(list(nx.selfloop_edges(tree)))
nx.write_edgelist(tree, "edges.txt", data=False)

graph = nx.read_edgelist("edges.txt", nodetype=int)  # your file
embedding = embed_graph(graph)
print(embedding)
paths = nx.single_source_shortest_path(nx.full_rary_tree(3, 85), 0)
truth = np.array(
    ["ABC"[(paths[node] + [1])[1] - 1] for node in embedding.nodes]
)  # the branch that a node is in

known = rng.random(len(truth)) < 0.2
model = HyperbolicSVC(C=10.0).fit(embedding.X[known], truth[known])
nx.set_node_attributes(
    graph,
    {
        n: c
        for n, c, is_known in zip(embedding.nodes, truth, known, strict=True)
        if is_known
    },
    "label",
)
propagated = dict(zip(graph, harmonic_function(graph), strict=True))
others = np.array([propagated[node] for node in embedding.nodes])
print(
    f"{known.sum()} of {len(truth)} nodes have a label. Correct among the others:"
)
print(
    f"  hyperbolic classifier {np.mean(model.predict(embedding.X) == truth, where=~known):.1%}"
)
print(f"  label propagation     {np.mean(others == truth, where=~known):.1%}")
edges = embedding.rows(np.ravel(list(graph.edges))).reshape(-1, 2)
PoincareDisplay.from_estimator(
    model, embedding.X, truth, edges=edges
).figure_.savefig("edge_list.png", dpi=150)
