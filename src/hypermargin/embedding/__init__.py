"""Points from graphs and finite metrics, embedded in the hyperbolic plane, and from the vectors of gensim."""

from hypermargin.embedding.graph import GraphEmbedding, embed_graph, keyed_vectors
from hypermargin.embedding.metric import Distortion, distortion, embed_metric

__all__ = ["Distortion", "GraphEmbedding", "distortion", "embed_graph", "embed_metric", "keyed_vectors"]
