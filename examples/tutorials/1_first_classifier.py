"""
Your first classifier
=====================

You have points in hyperbolic space and a label for each. In a few minutes you have
a classifier, its accuracy on points it has not seen, a picture, and a file to
keep.

The data are real: in 1977 Wayne Zachary described a karate club of 34 people that
split in two. The club's friendships were embedded in the hyperbolic plane; the
question is who joined which of the two new clubs.
"""

# %%
# Load the data
# -------------
# A table with one row per person: two coordinates on the Poincaré disk, and a
# label. With your own data this is ``pd.read_csv("points.csv")``.
import pandas as pd

import hypermargin as hm
from hypermargin.geometry import from_lorentz

karate = hm.datasets.load_karate()
table = pd.DataFrame(from_lorentz(karate.X, "poincare"), columns=["x", "y"])
table["club"] = karate.target_names[karate.y]
table.head()

# %%
# Fit
# ---
# The parameter ``geometry`` says what the columns are: ``"poincare"``,
# ``"lorentz"``, ``"klein"``, ``"halfspace"``, ``"polar"`` and others. A wrong
# guess ends in an error that describes what the numbers look like. Coordinates
# must not be standardised.
X, club = table[["x", "y"]], table["club"]
model = hm.HyperbolicSVC(geometry="poincare", C=1.0).fit(X, club)
print(f"{model.score(X, club):.0%} of the training points are classified correctly")

# %%
# How accurate is it on new points?
# ---------------------------------
# Cross-validation answers this. The classifier follows scikit-learn's conventions,
# so that every tool of scikit-learn works with it.
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score

folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=4, random_state=0)
scores = cross_val_score(model, X, club, cv=folds)
print(f"accuracy {scores.mean():.1%} ± {scores.std():.1%} over {len(scores)} folds")

# %%
# Choose C
# --------
# A large ``C`` follows the training points closely, a small one keeps a wide
# margin. ``HyperbolicSVCCV`` chooses it by cross-validation;
# ``HyperbolicClassifierCV`` chooses among curves, kernels, forests and neighbours
# as well.
search = hm.HyperbolicSVCCV(geometry="poincare", Cs=[0.1, 1.0, 10.0, 100.0]).fit(
    X, club
)
for C, score in zip(search.Cs_, search.scores_.mean(axis=0), strict=True):
    print(f"C = {C:<6g} accuracy {score:.1%}")

# %%
# Predict
# -------
# Probabilities come with every classifier. ``certified_radius`` is the distance by
# which a point may move, in any direction, without a change of its predicted
# class: small values mark the people who sit between the two clubs.
answers = pd.DataFrame(model.predict_proba(X), columns=model.classes_).round(3)
answers["predicted"] = model.predict(X)
answers["radius"] = model.certified_radius(X).round(3)
print(answers.assign(club=club).sort_values("radius").head())

# %%
# Look at it
# ----------
# ``explore(model, X, club)`` shows an interactive page in a notebook, and
# ``.save("karate.html")`` writes it to one file. The static picture is a
# ``PoincareDisplay``. The shade is the predicted class, the lines are the
# friendships.
from hypermargin.plotting import PoincareDisplay

PoincareDisplay.from_estimator(model, X, club, edges=karate.edges).figure_.savefig(
    "karate.png", dpi=120
)

# %%
# Keep it
# -------
# Model files contain numbers only: loading one runs no code.
hm.save_model(model, "karate.npz")
same = hm.load_model("karate.npz")
print(
    f"{(same.predict(X) == model.predict(X)).sum()} of {len(X)} predictions of the loaded model are the same"
)

# %%
# The status of the fit says whether the optimum of the training problem is proved:
# see :ref:`the tutorial on certificates
# <sphx_glr_tutorials_5_reading_a_certificate.py>`. The same steps without Python
# are ``hypermargin fit``, ``hypermargin cv``, ``hypermargin predict`` and
# ``hypermargin explore`` on the command line.
print(model.statuses_[0].name, "-", model.statuses_[0].value)
