"""Pages to open in the browser of the tests."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))


from hypermargin import HyperbolicSVC, explore
from reference.objective import lift

SCRIPT = "<script>document.title = 'taken over'</script><img src=x onerror=\"document.title='taken over'\">"


@pytest.fixture(scope="session")
def two_classes():
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], 30)
    X = lift(0.9 * rng.normal(size=(60, 2)) + np.where(y[:, None] == 1, [1.2, 0.4], [-0.8, 0.1]))
    names = np.array([SCRIPT, "plain"])
    return X, names[y], [f"cell {k:03d}" for k in range(60)]


@pytest.fixture(scope="session")
def two_class_model(two_classes):
    X, y, _ = two_classes
    return HyperbolicSVC(C=1.0).fit(X[::2], y[::2])


@pytest.fixture(scope="session")
def page(two_classes, two_class_model, tmp_path_factory):
    """Training and test points of two classes, one of which is called after a script, and a path."""
    X, y, ids = two_classes
    made = explore(
        two_class_model,
        X[::2],
        y[::2],
        X_test=X[1::2],
        y_test=y[1::2],
        ids=ids[::2],
        ids_test=ids[1::2],
        path=[0.1, 1.0, 10.0],
        center="origin",
        title=f"A page {SCRIPT}",
    )
    return made.save(tmp_path_factory.mktemp("explorer") / "page.html")
