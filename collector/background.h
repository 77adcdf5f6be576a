/* What commands that stay in the background have in common: one instance each, signals, turns, going on without a terminal. Called by the
 * collector's one thread. */
#ifndef SLICEWISE_BACKGROUND_H
#define SLICEWISE_BACKGROUND_H

#include "segment_dir.h"
#include "settings.h"

#include <fcntl.h>

/* From here on signals come only while background_sleep_until sleeps; those that end a program make it return false. */
void background_take_signals(void);

/* For settings_read. */
void background_complain(const char *variable, const char *value, const char *wrong);

/* The file that a job's collector holds locked, and its path. Returns its descriptor, or -errno. */
int background_open_lock(const struct settings *settings, const char *job, bool may_make, char path[SEGMENT_DIR_PATH_BYTES]);

extern const struct flock background_whole_file;

/* Returns false if somebody else is a job's collector; else it is ours to be, though without a file where none can be made. */
bool background_take_lock(const struct settings *settings, const char *job, char path[SEGMENT_DIR_PATH_BYTES]);

uint64_t background_next_multiple(uint64_t now, uint64_t of);

/* Sleeps until a time of CLOCK_REALTIME, a signal, or the parent's end (-1: there is none). Returns false after the latter two. */
bool background_sleep_until(uint64_t until_ns, int parent_fd);

/* Goes on in a child without a terminal, whose pipe is returned. In the parent, which waits until the child is ready or has ended, `status`
 * is the exit status. */
int background_detach(int *status);

/* The parent may go on; nothing of its is held any longer. */
void background_let_go(int ready);

#endif
