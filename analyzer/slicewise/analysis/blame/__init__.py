"""Who slowed a job, by how much, and how sure that is."""
