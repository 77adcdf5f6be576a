"""Storage for tests and the demo that several jobs have to share, made on one machine."""
