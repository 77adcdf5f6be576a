/* The profile of a job that still runs, as far as it has come. */
#ifndef SLICEWISE_SNAPSHOT_H
#define SLICEWISE_SNAPSHOT_H

/* Writes what this node's living processes have counted and not yet drained to `into`/JOB/HOST.swz, behind what is there: those of the job whose
 * profile is to lie in `dir`, or of all jobs whose profiles are to lie below. The processes take no notice. Prints how many they were. Returns the
 * exit status. */
int snapshot(const char *dir, const char *into);

#endif
