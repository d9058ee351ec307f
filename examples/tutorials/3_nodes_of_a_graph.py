"""
Nodes of a graph
================

From a list of edges to labels for all nodes. The network is real: which of the 77
characters of Victor Hugo's *Les Misérables* appear in the same chapter, as counted
by Donald Knuth. A few characters are assigned to their circle by hand (the
bishop's household, the revolutionary students, a gang of criminals ...); the
classifier does the rest.
"""

# %%
# Read the edges
# --------------
# A text file with two names per line. Any graph of networkx will do:
# ``nx.read_edgelist``, ``nx.read_gml``, ``nx.from_pandas_edgelist``.
import networkx as nx

nx.write_edgelist(
    nx.les_miserables_graph(), "miserables.txt", delimiter=",", data=False
)
graph = nx.read_edgelist("miserables.txt", delimiter=",")
print(graph)

# %%
# Embed
# -----
# ``embed_graph`` places every node of the network near its neighbours in the
# hyperbolic plane; in trees, distances follow the number of steps. Networks with a
# core and many branches fit into this plane better than into a Euclidean one. With
# ``dim=10`` there is more room, and no picture. The result says how well distances
# are kept.
from hypermargin.embedding import embed_graph

embedding = embed_graph(graph)
print(embedding)

# %%
# Labels for some nodes
# ---------------------
# Two or three characters of each circle are known.
circles = {
    "bishop": "Myriel MmeMagloire Napoleon",
    "Fantine's friends": "Tholomyes Favourite",
    "court": "Judge Brevet",
    "criminals": "Thenardier Babet Montparnasse",
    "students": "Enjolras Joly Combeferre",
}
known = {
    name: circle for circle, names in circles.items() for name in names.split()
}
rows = embedding.rows(known)
print(f"{len(known)} of {len(graph)} characters have a label")

# %%
# Fit and predict
# ---------------
from textwrap import fill

from hypermargin import HyperbolicSVC

model = HyperbolicSVC(C=10.0).fit(embedding.X[rows], list(known.values()))
circle = dict(zip(embedding.nodes, model.predict(embedding.X), strict=True))
for name in model.classes_:
    others = [node for node in graph if circle[node] == name and node not in known]
    print(fill(f"{name}: {', '.join(others)}", width=80), end="\n\n")

# %%
# Is it right?
# ------------
# For 27 more characters the circle is beyond dispute. ``embedding.rows`` finds the
# rows of nodes.
import numpy as np

members = {
    "bishop": "MlleBaptistine CountessDeLo Geborand Champtercier Cravatte Count OldMan",
    "Fantine's friends": "Listolier Fameuil Blacheville Dahlia Zephine",
    "court": "Champmathieu Chenildieu Cochepaille",
    "criminals": "Gueulemer Claquesous Brujon Anzelma",
    "students": "Prouvaire Feuilly Courfeyrac Bahorel Bossuet Grantaire Gavroche MmeHucheloup",
}
truth = {name: kind for kind, names in members.items() for name in names.split()}
right = [circle[name] == kind for name, kind in truth.items()]
print(f"{np.mean(right):.0%} of {len(truth)} characters are put into their circle")

# %%
# Who stands between the circles?
# -------------------------------
# The hero belongs to none of them, and the probabilities show it.
import pandas as pd

names = ["Valjean", "Javert", "Marius", "Grantaire", "Geborand"]
probabilities = model.predict_proba(embedding.X[embedding.rows(names)])
print(pd.DataFrame(probabilities, index=names, columns=model.classes_).round(2))

# %%
# The picture
# -----------
from hypermargin.plotting import PoincareDisplay

edges = embedding.rows(np.ravel(list(graph.edges))).reshape(-1, 2)
display = PoincareDisplay.from_estimator(
    model, embedding.X, [circle[node] for node in embedding.nodes], edges=edges
)
display.figure_.savefig("miserables.png", dpi=120)

# %%
# ``hm.graphs.classify(graph, "label")`` does all of this in one call, chooses the
# dimension and the model by cross-validation, and writes the labels into the graph.
# The command for it is ``hypermargin classify graph.graphml --label club``.
