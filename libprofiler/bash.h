/* Where a script is that bash runs, by variables that bash shows to its loadable builtins. They are read where a load would not crash, and
 * nothing of bash is called. Guarded by the engine's lock. */
#ifndef SLICEWISE_BASH_H
#define SLICEWISE_BASH_H

#include "python.h"

/* Where bash runs commands, 0 if this is no bash: its C frames stand for the script's. */
uint64_t bash_loop(void);

/* A frame as Python's are, with no code. Returns how many: 0 if no script runs. */
unsigned bash_frames(struct python_frame *frame);

/* A frame's function and script, and the line, or 0: of a function, or of another script that this one reads, it is not known in which file. */
bool bash_describe(const struct python_frame *frame, char *function, char *file, uint64_t *line);

#endif
