"""The one diagnosis engine: diseases ranked by the findings present, denied and not mentioned, and why."""
