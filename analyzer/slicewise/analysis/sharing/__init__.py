"""How a storage is shared: the model, what it is fitted from, what it predicts."""
