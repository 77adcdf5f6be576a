/* Who this process is: job, host, program. Reads the environment and the kernel; enters text into the segment. */
#ifndef SLICEWISE_IDENTITY_H
#define SLICEWISE_IDENTITY_H

#include "segment.h"
#include "settings.h"

/* A job's name: the setting, the scheduler's, or one made of program and process id. Characters that do not belong in a file's name
 * become '_'. Returns whether it had to be made. */
bool identity_job(char *name, size_t room, const struct settings *settings);

/* The scheduler's id of the job in this environment; NULL: there is none. */
const char *identity_scheduler_job(void);

/* Notes where the command line lies, as constructors are told. */
void identity_note_arguments(int count, char *const *arguments);

/* Notes what the environment and the working directory say, at the process's beginning. */
void identity_note(const struct settings *settings, const char *job);

/* Fills the segment's process row and spool directory. */
void identity_fill(struct segment_home *home, const struct settings *settings, const char *job);

/* Whether the launcher says that this is a rank other than 0: those leave talking to rank 0. */
bool identity_is_further_rank(void);

/* Where the process's profile goes, as noted: SLICEWISE_DIR/JOB in full. */
const char *identity_spool_dir(void);

#endif
