"""
Word vectors from a text file
=============================

Hyperbolic word vectors come as text, one word and its coordinates per line
(gensim's ``save_word2vec_format`` writes it; a model in memory goes through
``hypermargin.embedding.keyed_vectors``). Here a small hierarchy of words is
embedded to have such a file.
"""

import networkx as nx
import numpy as np

from hypermargin import HyperbolicSVC, explore
from hypermargin.embedding import embed_graph
from hypermargin.plotting import PoincareDisplay

animals = "animal: mammal bird fish\nmammal: dog cat horse whale\nbird: robin eagle owl\nfish: trout shark eel"
plants = "plant: tree flower grass\ntree: oak pine beech\nflower: rose tulip daisy\ngrass: wheat barley reed"
pairs = [
    line.split(": ")
    for line in f"thing: animal plant\n{animals}\n{plants}".splitlines()
]
embedded = embed_graph(
    nx.Graph([(word, below) for word, words in pairs for below in words.split()])
)
with open("words.txt", "w") as file:
    file.writelines(
        f"{word} {x:.12f} {y:.12f}\n"
        for word, (x, y) in zip(embedded.nodes, embedded.coordinates(), strict=True)
    )

table = np.loadtxt("words.txt", dtype=str)  # your file
words, X = table[:, 0], table[:, 1:].astype(float)
known = {
    "dog": "animal",
    "eagle": "animal",
    "trout": "animal",
    "oak": "plant",
    "rose": "plant",
    "barley": "plant",
}
rows = [list(words).index(word) for word in known]
model = HyperbolicSVC(geometry="poincare", C=10.0).fit(
    X[rows], list(known.values())
)
kind = model.predict(X)
for name in model.classes_:
    print(f"{name}: {', '.join(words[kind == name])}")
explore(
    model, X, kind, ids=words
)  # in a notebook: a page on which every word can be found
PoincareDisplay.from_estimator(model, X, kind).figure_.savefig("words.png", dpi=150)
