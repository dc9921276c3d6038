"""Reports of finished evaluations: tables, plots, and one page that stands on its own."""
