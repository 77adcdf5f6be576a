/* What stays on a node of processes whose profile could not be written (store/keep.h), and what is noted of processes that have none
 * (store/job_page.h): this user's, below the directory of segments and TMPDIR. */
#ifndef SLICEWISE_LEFT_H
#define SLICEWISE_LEFT_H

#include <stdbool.h>

/* Prints what there is, of this user or of all, and touches nothing. Returns the exit status: 1 if there is anything. */
int left(bool is_for_all);

/* Removes what has stayed for too long, and says on standard error how much that was. */
void left_remove_old(const char *segment_dir);

/* The same, and says there what processes of a job (NULL: of all jobs) could put into no profile: once, and then it is forgotten. */
void left_say_and_remove_old(const char *segment_dir, const char *job);

#endif
