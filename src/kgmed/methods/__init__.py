"""Each paper's method in one file, and the baselines."""
