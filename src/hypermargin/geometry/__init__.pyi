"""The public names, which `__init__.py` imports when they are first used."""

from hypermargin.geometry.hyperplanes import Arc as Arc
from hypermargin.geometry.hyperplanes import arc_points as arc_points
from hypermargin.geometry.hyperplanes import boundary_arc as boundary_arc
from hypermargin.geometry.hyperplanes import hyperplane_through as hyperplane_through
from hypermargin.geometry.hyperplanes import nearest_on_hyperplane as nearest_on_hyperplane
from hypermargin.geometry.hyperplanes import reflect as reflect
from hypermargin.geometry.hyperplanes import reflection as reflection
from hypermargin.geometry.hyperplanes import signed_distance as signed_distance
from hypermargin.geometry.isometries import boost as boost
from hypermargin.geometry.isometries import inverse as inverse
from hypermargin.geometry.isometries import is_isometry as is_isometry
from hypermargin.geometry.isometries import move_from_origin as move_from_origin
from hypermargin.geometry.isometries import move_to_origin as move_to_origin
from hypermargin.geometry.isometries import orthogonal as orthogonal
from hypermargin.geometry.isometries import random_isometry as random_isometry
from hypermargin.geometry.isometries import rotation as rotation
from hypermargin.geometry.isometries import transform_normal as transform_normal
from hypermargin.geometry.isometries import transform_points as transform_points
from hypermargin.geometry.isometries import translation as translation
from hypermargin.geometry.isometries import translation_to_origin as translation_to_origin
from hypermargin.geometry.lorentz import covector as covector
from hypermargin.geometry.lorentz import lift as lift
from hypermargin.geometry.lorentz import minkowski_dot as minkowski_dot
from hypermargin.geometry.lorentz import origin as origin
from hypermargin.geometry.lorentz import quadratic_form as quadratic_form
from hypermargin.geometry.lorentz import radius as radius
from hypermargin.geometry.mean import frechet_mean as frechet_mean
from hypermargin.geometry.mean import lorentz_centroid as lorentz_centroid
from hypermargin.geometry.metric import distance as distance
from hypermargin.geometry.metric import exp_map as exp_map
from hypermargin.geometry.metric import exp_origin as exp_origin
from hypermargin.geometry.metric import log_map as log_map
from hypermargin.geometry.metric import log_origin as log_origin
from hypermargin.geometry.metric import pairwise_distance as pairwise_distance
from hypermargin.geometry.metric import project_to_tangent as project_to_tangent
from hypermargin.geometry.metric import tangent_norm as tangent_norm
from hypermargin.geometry.models import convert as convert
from hypermargin.geometry.models import distance_in as distance_in
from hypermargin.geometry.models import from_lorentz as from_lorentz
from hypermargin.geometry.models import to_lorentz as to_lorentz
from hypermargin.geometry.validation import GEOMETRIES as GEOMETRIES
from hypermargin.geometry.validation import check_coordinates as check_coordinates
from hypermargin.geometry.validation import check_lorentz as check_lorentz
from hypermargin.geometry.validation import check_points as check_points

__all__: list[str]
