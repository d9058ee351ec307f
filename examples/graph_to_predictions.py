"""
A graph with six labelled nodes
===============================

From a networkx graph with a few labelled nodes to predictions for the rest: who
joined which karate club?
"""

import networkx as nx
import numpy as np

from hypermargin import HyperbolicSVC
from hypermargin.embedding import embed_graph
from hypermargin.plotting import PoincareDisplay

graph = nx.karate_club_graph()
embedding = embed_graph(graph)  # neighbours are near; labels play no part
print(embedding)

known = {
    0: "Mr. Hi",
    1: "Mr. Hi",
    4: "Mr. Hi",
    33: "Officer",
    32: "Officer",
    29: "Officer",
}
rest = [node for node in embedding.nodes if node not in known]
model = HyperbolicSVC(C=10.0).fit(
    embedding.X[embedding.rows(known)], list(known.values())
)
predicted = model.predict(embedding.X[embedding.rows(rest)])

truth = np.array([graph.nodes[node]["club"] for node in embedding.nodes])
right = np.mean(predicted == truth[embedding.rows(rest)])
print(
    f"{len(known)} members have a label; {right:.0%} of the other {len(rest)} are predicted correctly"
)
display = PoincareDisplay.from_estimator(
    model,
    embedding.X,
    truth,
    edges=embedding.rows(np.ravel(graph.edges)).reshape(-1, 2),
)
display.figure_.savefig("graph_to_predictions.png", dpi=150)
