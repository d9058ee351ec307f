"""Hyperbolic geometry: coordinates, distances, isometries, means and hyperplanes, as pure functions of arrays."""

from hypermargin.geometry.hyperplanes import (
    Arc,
    arc_points,
    boundary_arc,
    hyperplane_through,
    nearest_on_hyperplane,
    reflect,
    reflection,
    signed_distance,
)
from hypermargin.geometry.isometries import (
    boost,
    inverse,
    is_isometry,
    move_from_origin,
    move_to_origin,
    orthogonal,
    random_isometry,
    rotation,
    transform_normal,
    transform_points,
    translation,
    translation_to_origin,
)
from hypermargin.geometry.lorentz import covector, lift, minkowski_dot, origin, quadratic_form, radius
from hypermargin.geometry.mean import frechet_mean, lorentz_centroid
from hypermargin.geometry.metric import distance, pairwise_distance
from hypermargin.geometry.models import convert, distance_in, from_lorentz, to_lorentz
from hypermargin.geometry.tangent import exp_map, exp_origin, log_map, log_origin, project_to_tangent, tangent_norm
from hypermargin.geometry.validation import GEOMETRIES, check_coordinates, check_lorentz, check_points

__all__ = [
    "GEOMETRIES",
    "Arc",
    "arc_points",
    "boost",
    "boundary_arc",
    "check_coordinates",
    "check_lorentz",
    "check_points",
    "convert",
    "covector",
    "distance",
    "distance_in",
    "exp_map",
    "exp_origin",
    "frechet_mean",
    "from_lorentz",
    "hyperplane_through",
    "inverse",
    "is_isometry",
    "lift",
    "log_map",
    "log_origin",
    "lorentz_centroid",
    "minkowski_dot",
    "move_from_origin",
    "move_to_origin",
    "nearest_on_hyperplane",
    "origin",
    "orthogonal",
    "pairwise_distance",
    "project_to_tangent",
    "quadratic_form",
    "radius",
    "random_isometry",
    "reflect",
    "reflection",
    "rotation",
    "signed_distance",
    "tangent_norm",
    "to_lorentz",
    "transform_normal",
    "transform_points",
    "translation",
    "translation_to_origin",
]
