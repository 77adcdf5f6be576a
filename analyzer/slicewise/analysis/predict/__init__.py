"""How long jobs would take side by side, by what each did alone and what others did in company."""
