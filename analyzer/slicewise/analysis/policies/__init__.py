"""Taking turns: what jobs that share a storage would have gained or lost if somebody had decided who may go."""
