"""Results of IO500, IOR and mdtest as they come: texts and directories in, runs out."""
