"""A provider's server over real HTTP, in the vendors' own words, before the simulated model."""
