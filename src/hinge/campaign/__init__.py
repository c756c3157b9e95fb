"""Campaigns: many simulations with drawn numbers, in a store on disk, on one machine or on a cluster."""

from hinge.campaign.campaign import Campaign
from hinge.campaign.distributions import (
    Attitude,
    Choice,
    Distribution,
    Given,
    LogUniform,
    Normal,
    Uniform,
)

__all__ = ["Attitude", "Campaign", "Choice", "Distribution", "Given", "LogUniform", "Normal", "Uniform"]
