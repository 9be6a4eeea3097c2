"""A local model as judge of finished runs: a system of independent stages over replies that are there already."""
