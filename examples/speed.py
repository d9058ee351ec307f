"""
Speed against other solvers
===========================

Time of one binary problem as the number of points grows: the exact method with its
proof, linear SVMs of scikit-learn (another problem, on the same coordinates), and
projected gradient descent as in the paper. The measured tables are on the page
Performance.
"""

import time
import warnings

import matplotlib.pyplot as plt
from sklearn.svm import SVC, LinearSVC

from hypermargin import HyperbolicSVC
from hypermargin.datasets import make_gaussian_mixture

models = {
    "exact, proved": HyperbolicSVC(C=1.0),
    "LinearSVC": LinearSVC(C=1.0),
    "SVC(kernel='linear')": SVC(kernel="linear", C=1.0),
    "projected gradient, 2000 steps": HyperbolicSVC(C=1.0, solver="pgd"),
}
sizes = [200, 600, 2000, 6000]
seconds = {name: [] for name in models}
for size in sizes:
    X, y = make_gaussian_mixture(
        size // 2, 2, scale=0.8, random_state=0, return_X_y=True
    )
    for name, model in models.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # LinearSVC does not always converge
            start = time.process_time()
            model.fit(X, y)
            seconds[name].append(max(time.process_time() - start, 1e-4))
figure, ax = plt.subplots(figsize=(6.8, 5.0), layout="constrained")
print(f"{'':<32}{''.join(f'n = {size:<8}' for size in sizes)}")
for name, row in seconds.items():
    print(f"{name:<32}{''.join(f'{1e3 * value:8.1f} ms ' for value in row)}")
    ax.plot(sizes, row, marker="o", label=name)
ax.set(
    xscale="log",
    yscale="log",
    xlabel="points",
    ylabel="seconds",
    xticks=sizes,
    xticklabels=map(str, sizes),
)
ax.legend(frameon=False)
figure.savefig("speed.png", dpi=150)
