"""Which runs are compared: who ran beside whom, on what storage, and what stands out among repeats."""
