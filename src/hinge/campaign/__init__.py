"""Campaigns: many simulations with drawn numbers, in a store on disk, on one machine or on a cluster."""

from hinge.campaign.campaign import Campaign, read_specification, resume
from hinge.campaign.distributions import (
    Attitude,
    Choice,
    Distribution,
    Given,
    LogUniform,
    Normal,
    Uniform,
)
from hinge.campaign.pictures import plot_envelopes, plot_histograms, plot_scatter
from hinge.campaign.results import Results, Status
from hinge.campaign.running import CampaignInterrupted

__all__ = [
    "Attitude",
    "Campaign",
    "CampaignInterrupted",
    "Choice",
    "Distribution",
    "Given",
    "LogUniform",
    "Normal",
    "Results",
    "Status",
    "Uniform",
    "plot_envelopes",
    "plot_histograms",
    "plot_scatter",
    "read_specification",
    "resume",
]
