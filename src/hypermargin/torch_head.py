"""A classifier as a layer of PyTorch: points to the hyperboloid, a linear map, logits. Imported when it is used."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.geometry.lorentz import covector, curvature_scale
from hypermargin.geometry.validation import check_geometry, dimension_of

try:
    import torch
except ImportError as error:
    raise ImportError("to_torch and from_torch need PyTorch: pip install torch") from error


def _squares(X: torch.Tensor) -> torch.Tensor:
    return torch.sum(X * X, dim=-1, keepdim=True)


def _of_halfspace(X: torch.Tensor) -> torch.Tensor:
    floor, height = X[..., :-1], X[..., -1:]
    return torch.cat([floor, 0.5 * (height * height - 1.0 + _squares(floor))], dim=-1) / height


def _of_tangent(V: torch.Tensor) -> torch.Tensor:
    length = torch.sqrt(_squares(V).clamp_min(1e-24))  # a derivative at the origin too
    return V * torch.sinh(length) / length


def _of_polar(X: torch.Tensor, scale: float) -> torch.Tensor:
    radius, rest = scale * X[..., :1], X[..., 1:]
    if X.shape[-1] == 2:
        rest = torch.cat([torch.cos(rest), torch.sin(rest)], dim=-1)
    return torch.sinh(radius) * rest


#: The space part of the unit Lorentz point from coordinates X and the root s of the curvature (`geometry.models`).
TO_SPACE: dict[str, Callable[[torch.Tensor, float], torch.Tensor]] = {
    "lorentz": lambda X, s: s * X[..., 1:],
    "lorentz-last": lambda X, s: s * X[..., :-1],
    "hyperboloid": lambda X, s: s * X,
    "poincare": lambda X, s: 2.0 * s * X / (1.0 - _squares(s * X)),
    "klein": lambda X, s: s * X / torch.sqrt(1.0 - _squares(s * X)),
    "halfspace": lambda X, s: _of_halfspace(X),
    "tangent": lambda X, s: _of_tangent(s * X),
    "polar": _of_polar,
}


class LorentzHead(torch.nn.Module):
    """Logits of points in hyperbolic space: their softmax has the probabilities of the classifier that it is made of.

    ``linear`` has the parameters and may be trained further; `HyperbolicSVC.from_torch` takes the head back.

    Parameters
    ----------
    n_features : int
        Columns of the points.
    classes : sequence
        Labels in the order of the logits.
    geometry, curvature
        As in `HyperbolicSVC`.
    calibration : {"softmax", "platt"}, default="softmax"
        What the linear map gives with more than two classes: logits of a softmax, or of each class against the rest.
    """

    def __init__(
        self,
        n_features: int,
        classes: Sequence[Any],
        geometry: str = "lorentz",
        curvature: float = 1.0,
        calibration: str = "softmax",
    ) -> None:
        super().__init__()
        check_geometry(geometry)
        self.n_features, self.classes = n_features, list(classes)
        self.geometry, self.curvature, self.calibration = geometry, float(curvature), calibration
        self._scale = curvature_scale(curvature)
        rows = 1 if len(self.classes) == 2 else len(self.classes)
        self.linear = torch.nn.Linear(dimension_of(n_features, geometry) + 1, rows, dtype=torch.float64)

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """Logits, shape (..., n_classes), of points in coordinates `geometry`, shape (..., n_features)."""
        space = TO_SPACE[self.geometry](X.to(self.linear.weight.dtype), self._scale)
        scores = self.linear(torch.cat([torch.sqrt(1.0 + _squares(space)), space], dim=-1))
        if len(self.classes) == 2:
            return torch.cat([torch.zeros_like(scores), scores], dim=-1)
        return scores if self.calibration == "softmax" else torch.nn.functional.logsigmoid(scores)

    def predict_proba(self, X: torch.Tensor) -> torch.Tensor:
        """Class probabilities, shape (..., n_classes)."""
        return torch.softmax(self(X), dim=-1)

    def set_planes(self, normals: Array, offsets: Array) -> "LorentzHead":
        """Make the linear map ``x * w + b`` for normals w, shape (k, d + 1), and offsets b, shape (k,)."""
        with torch.no_grad():
            self.linear.weight.copy_(torch.as_tensor(covector(normals)))
            self.linear.bias.copy_(torch.as_tensor(np.asarray(offsets, dtype=np.float64)))
        return self

    def planes(self) -> tuple[Array, Array]:
        """Normals and offsets of the linear map, as `set_planes` takes them."""
        weight, bias = (part.detach().cpu().double().numpy() for part in (self.linear.weight, self.linear.bias))
        return covector(weight), bias.copy()
