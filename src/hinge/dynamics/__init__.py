"""The catalogue of verbs, each an operator expression and a name. Modules export the names in `__all__`."""

from hinge.dynamics import (
    arguments,
    atlas,
    cached,
    centroidal,
    closed,
    closed_derivatives,
    closed_forms,
    compiler,
    contact,
    contact_axes,
    contact_forms,
    derivatives,
    differentials,
    embedding,
    estimation,
    expressions,
    factors,
    floating,
    function,
    grasps,
    hessians,
    homes,
    hybrid,
    identification,
    ik,
    impacts,
    jointwise,
    live,
    loads,
    moving,
    operational,
    own_forces,
    payloads,
    pulled,
    sensitivities,
    stiff,
    substructures,
    verbs,
    vibrations,
    weighted,
)
from hinge.dynamics.arguments import *
from hinge.dynamics.atlas import *
from hinge.dynamics.cached import *
from hinge.dynamics.centroidal import *
from hinge.dynamics.closed import *
from hinge.dynamics.closed_derivatives import *
from hinge.dynamics.closed_forms import *
from hinge.dynamics.compiler import *
from hinge.dynamics.contact import *
from hinge.dynamics.contact_axes import *
from hinge.dynamics.contact_forms import *
from hinge.dynamics.derivatives import *
from hinge.dynamics.differentials import *
from hinge.dynamics.embedding import *
from hinge.dynamics.estimation import *
from hinge.dynamics.expressions import *
from hinge.dynamics.factors import *
from hinge.dynamics.floating import *
from hinge.dynamics.function import *
from hinge.dynamics.grasps import *
from hinge.dynamics.hessians import *
from hinge.dynamics.homes import *
from hinge.dynamics.hybrid import *
from hinge.dynamics.identification import *
from hinge.dynamics.ik import *
from hinge.dynamics.impacts import *
from hinge.dynamics.jointwise import *
from hinge.dynamics.live import *
from hinge.dynamics.loads import *
from hinge.dynamics.moving import *
from hinge.dynamics.operational import *
from hinge.dynamics.own_forces import *
from hinge.dynamics.payloads import *
from hinge.dynamics.pulled import *
from hinge.dynamics.sensitivities import *
from hinge.dynamics.stiff import *
from hinge.dynamics.substructures import *
from hinge.dynamics.verbs import *
from hinge.dynamics.vibrations import *
from hinge.dynamics.weighted import *

__all__: list[str] = []
__all__ += arguments.__all__
__all__ += atlas.__all__
__all__ += cached.__all__
__all__ += centroidal.__all__
__all__ += closed.__all__
__all__ += closed_derivatives.__all__
__all__ += closed_forms.__all__
__all__ += compiler.__all__
__all__ += contact.__all__
__all__ += contact_axes.__all__
__all__ += contact_forms.__all__
__all__ += derivatives.__all__
__all__ += differentials.__all__
__all__ += embedding.__all__
__all__ += estimation.__all__
__all__ += expressions.__all__
__all__ += factors.__all__
__all__ += floating.__all__
__all__ += function.__all__
__all__ += grasps.__all__
__all__ += homes.__all__
__all__ += hessians.__all__
__all__ += hybrid.__all__
__all__ += identification.__all__
__all__ += ik.__all__
__all__ += impacts.__all__
__all__ += jointwise.__all__
__all__ += live.__all__
__all__ += loads.__all__
__all__ += moving.__all__
__all__ += operational.__all__
__all__ += own_forces.__all__
__all__ += payloads.__all__
__all__ += pulled.__all__
__all__ += sensitivities.__all__
__all__ += stiff.__all__
__all__ += substructures.__all__
__all__ += verbs.__all__
__all__ += vibrations.__all__
__all__ += weighted.__all__
