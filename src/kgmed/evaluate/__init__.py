"""What a run is worth: data sets, metrics, tables."""
