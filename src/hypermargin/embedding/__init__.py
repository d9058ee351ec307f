"""Points from what is no point yet: graphs and finite metrics, embedded in the hyperbolic plane; vectors of gensim."""

from hypermargin.embedding.distortion import Distortion, distortion
from hypermargin.embedding.graph import GraphEmbedding, embed_graph
from hypermargin.embedding.stress import embed_metric
from hypermargin.embedding.vectors import keyed_vectors

__all__ = ["Distortion", "GraphEmbedding", "distortion", "embed_graph", "embed_metric", "keyed_vectors"]
