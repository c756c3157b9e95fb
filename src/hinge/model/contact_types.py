"""Contact types of grasps: closures by another name, with 0, 1 and 3 degrees of freedom.

A fourth, `SoftFinger`, has two (JPL 88-11, part II, appendix A).
"""

from __future__ import annotations

from hinge.model.joints import Fixed, Revolute, Spherical

#: A firm grip: nothing moves.
Rigid = Fixed
#: A contact along a line, `axis`, about which the object turns.
LineContact = Revolute
#: A contact in a point that does not slide.
PointContact = Spherical
