/* The programs that this process became or began and that could not be profiled: a table in its segment, which a vforked child (in our memory,
 * with the engine's lock) adds to as well. For any thread; errno is kept. */
#ifndef SLICEWISE_UNPROFILED_H
#define SLICEWISE_UNPROFILED_H

/* `pid` (0: not known) runs, or is about to run, the file `path` (relative to `dirfd`), or a command that the PATH is searched for. Returns why it
 * cannot be profiled: as the file says, else `known`. UNPROFILED_NOT_YET as `pid`: nothing is noted. */
enum { UNPROFILED_NOT_YET = -1 };
enum reason unprofiled_note(int pid, int dirfd, const char *path, enum reason known);
enum reason unprofiled_note_command(int pid, const char *command, enum reason known);

/* It could not run it after all. */
void unprofiled_take_back(int pid);

#endif
