"""The graph as reward (RLKGF): one scorer that ranks diagnoses, checks a model's answer and trains it."""
