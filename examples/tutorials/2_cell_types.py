"""
Cell types with AnnData
=======================

A Poincaré map of single cells shows how they differentiate: stem cells near the
centre, mature cells towards the rim. Some cells have a type, from markers or from
a reference; the others are to get one. This is label transfer, in the style of
scanpy: results are stored in the AnnData object under names of your choice.

The data are simulated, 400 cells of five types with 20 genes, so that the page
runs anywhere. scanpy itself is not needed.
"""

# %%
# The data
# --------
# Replace this block by ``adata = anndata.read_h5ad("cells.h5ad")``. What is needed
# is an embedding in ``adata.obsm`` and a column of ``adata.obs`` with the types.
import anndata as ad
import numpy as np
import pandas as pd

import hypermargin as hm
from hypermargin.geometry import from_lorentz, lift

rng = np.random.default_rng(3)
types = np.array(["stem", "erythroid", "megakaryocyte", "monocyte", "neutrophil"])
direction = np.array([0.0, 0.4, 1.7, 3.5, 4.6])
kind = rng.integers(5, size=400)
time = np.where(
    kind == 0, 0.9 * rng.random(400), 0.9 + 2.6 * rng.random(400)
)  # how far a cell has differentiated
angle = np.where(
    kind == 0,
    rng.uniform(0.0, 6.3, 400),
    direction[kind] + rng.normal(scale=0.35, size=400),
)
points = lift(
    np.sinh(time)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
)
genes = rng.poisson(
    np.exp(rng.normal(size=(5, 20))[kind] * np.minimum(time, 2.0)[:, None])
).astype(np.float32)

adata = ad.AnnData(genes, obsm={"X_poincare": from_lorentz(points, "poincare")})
adata.obs_names = [f"cell{i}" for i in range(400)]
adata.obs["cell_type"] = pd.Categorical(types[kind], categories=types)
truth = adata.obs["cell_type"].copy()
adata.obs.loc[rng.random(400) < 0.6, "cell_type"] = (
    None  # 60 % of the cells lose their type
)
adata

# %%
# Classify
# --------
# One call. Cells with a type train the classifier, and all cells get a prediction.
# The geometry is read from the name of the basis, and the model is chosen by
# cross-validation. Any classifier of hypermargin can be passed as ``estimator``.
model = hm.anndata.classify(
    adata, basis="X_poincare", groupby="cell_type", verbose=0
)
settings = adata.uns["hypermargin"]
print(settings["explanation"])
print(f"accuracy in cross-validation {settings['cross_validated_accuracy']:.1%}")
print(f"{settings['labelled_cells']} cells with a type,", end=" ")
print(f"{settings['predicted_cells']} without")

# %%
# What was written
# ----------------
# The predicted type and its probability as columns of ``obs``; all probabilities in
# ``obsm``. With hyperplanes, such as ``estimator=hm.HyperbolicSVC(...)``, a third
# column has the distance within which the prediction provably cannot change. Colours
# of the types are taken over, so that ``scanpy.pl.embedding(adata, "X_poincare",
# color="hypermargin")`` shows the same ones.
columns = ["cell_type", "hypermargin", "hypermargin_probability"]
adata.obs[columns].head(8).round(3)

# %%
# How good is it?
# ---------------
# Here the hidden types are known. The matrix counts true types in rows, predicted
# ones in columns.
hidden = adata.obs["cell_type"].isna()
right = adata.obs["hypermargin"].astype(str) == truth.astype(str)
print(f"{right[hidden].mean():.1%} of the hidden types are recovered\n")
print(pd.crosstab(truth[hidden], adata.obs["hypermargin"][hidden]))

# %%
# Cells that are uncertain
# ------------------------
# A low probability marks cells between two types. Errors are much more frequent
# among them, so they are the ones to look at, or to leave without a type:
# ``reject=0.05`` calls them "unknown" at that rate of errors.
# ``hm.anndata.suspects(adata)`` lists cells whose given type looks wrong.
sure = adata.obs["hypermargin_probability"] > 0.8
print(
    f"probability above 0.8: {sure[hidden].sum()} cells, {right[hidden & sure].mean():.1%} correct"
)
print(
    f"all others:            {(~sure)[hidden].sum()} cells, {right[hidden & ~sure].mean():.1%} correct"
)

# %%
# Pictures
# --------
# On the disk, with the regions of the classifier. ``hm.explore(model,
# adata.obsm["X_poincare"], adata.obs["hypermargin"], ids=adata.obs_names)`` makes
# an interactive page.
hm.anndata.plot(adata).figure_.savefig("cells.png", dpi=120)

# %%
# Save and share
# --------------
# The classifier is stored in ``adata.uns`` and travels with the ``.h5ad`` file.
adata.write_h5ad("cells.h5ad")
again = ad.read_h5ad("cells.h5ad")
classifier = hm.anndata.model(again)
new_cells = adata.obsm["X_poincare"][:3]
print(
    classifier.predict(new_cells),
    classifier.predict_proba(new_cells).max(axis=1).round(3),
)
