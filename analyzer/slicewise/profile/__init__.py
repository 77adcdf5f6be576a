"""Reading profiles: from the bytes of `.swz` files to data frames."""
