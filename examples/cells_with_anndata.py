"""
Cell types in AnnData
=====================

Cells have a Poincaré map in ``adata.obsm`` and a type in ``adata.obs``; some types
are unknown. One call fits a classifier and writes its predictions, probabilities
and certified radii back. The cells here are simulated (stem cells near the origin,
three lineages that leave it); with your own data, replace the first block by
``anndata.read_h5ad``.
"""

import anndata as ad
import numpy as np
from sklearn.metrics import accuracy_score

import hypermargin as hm
from hypermargin.geometry import from_lorentz, lift

rng = np.random.default_rng(0)
types = np.array(["stem", "erythroid", "myeloid", "lymphoid"])
kind = rng.integers(4, size=240)
radius = np.where(
    kind == 0, rng.uniform(0.0, 0.8, 240), rng.uniform(0.8, 3.2, 240)
)  # later cells are farther out
angle = 2.1 * kind + rng.normal(scale=0.45, size=240)
points = lift(
    np.sinh(radius)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
)

adata = ad.AnnData(
    np.zeros((240, 1)), obsm={"X_poincare": from_lorentz(points, "poincare")}
)
adata.obs["cell_type"] = types[kind]
unknown = rng.random(240) < 0.5
adata.obs.loc[unknown, "cell_type"] = None

hm.anndata.classify(adata, basis="X_poincare", groupby="cell_type", C=1.0)
predicted = adata.obs["hypermargin"].astype(str)
accuracy = accuracy_score(types[kind][unknown], predicted[unknown])
print(f"{unknown.sum()} cells without a type: {accuracy:.1%} predicted correctly")
print(adata.obs[unknown].head().round(3).to_string())
print(f"settings in adata.uns['hypermargin']: {sorted(adata.uns['hypermargin'])}")
hm.anndata.plot(adata).figure_.savefig("cells.png", dpi=150)
