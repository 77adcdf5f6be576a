"""What a folder of runs shows of competition: throughput, slowdown, and how well that is predicted."""
