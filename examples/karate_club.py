"""
Zachary's karate club
=====================

Zachary's karate club, embedded from its friendships alone: who will join which
club?
"""

from sklearn.model_selection import StratifiedKFold, cross_val_score

from hypermargin.datasets import load_karate
from hypermargin.estimators import HyperbolicSVC
from hypermargin.plotting import PoincareDisplay

karate = load_karate()
club = karate.target_names[karate.y]
model = HyperbolicSVC(C=1.0, solver="exact")
folds = StratifiedKFold(5, shuffle=True, random_state=0)
print(
    f"accuracy in five folds {cross_val_score(model, karate.X, club, cv=folds).mean():.1%}"
)

model.fit(karate.X, club)
display = PoincareDisplay.from_estimator(model, karate.X, club, edges=karate.edges)
display.figure_.savefig("karate.png", dpi=150)
