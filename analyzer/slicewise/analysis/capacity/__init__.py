"""What a storage gives at most: of each kind of call (`by_kind`), to several jobs together (`capacity`), and to so many
clients (`by_clients`). No other room answers this (tests/unit/test_capacity.py).
"""
