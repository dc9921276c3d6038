"""Language models, encoders and pair scorers behind their protocols."""
