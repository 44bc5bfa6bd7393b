"""``budget-envs bench``: what one environment costs, measured here and now."""
