"""Frame in, Plotly figure out."""
