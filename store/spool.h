/* Appending frames to a job's spool. An order holds all that there is to know, so that carrying it out takes system calls alone: no lock, no
 * memory of libc's or of ours, no text to be made. So a process that shares our memory for a while can do it as well (async_drain.c). */
#ifndef SLICEWISE_SPOOL_H
#define SLICEWISE_SPOOL_H

#include "segment.h"

/* What is wrong with a spool beyond the system's own errors; spool_words has the words for both. */
enum spool_trouble {
    SPOOL_DIR_OF_ANOTHER = 10000, /* greater than any errno */
    SPOOL_DIR_OPEN_TO_OTHERS,
    SPOOL_OF_ANOTHER,
    SPOOL_OPEN_TO_OTHERS,
    SPOOL_UNDER_ANOTHER_ROOT,
    SPOOL_WITHOUT_PLACE,
    SPOOL_LATE,
    SPOOL_UNASKED, /* it may be slow, and nobody may wait for it now: somebody else may */
};

struct spool_order {
    char profiles[sizeof((struct segment *)0)->spool_dir]; /* SLICEWISE_DIR in full */
    const int *profiles_fd; /* a descriptor of it, where there is one already; the caller's to close */
    char job[256], file[256];
    struct spool_anchor anchor;
    unsigned user;
    bool is_shared;    /* with the group */
    bool is_last_hope; /* of a segment in private memory: what is not written is lost */
    bool is_kept;      /* ask the file system to keep it (fdatasync) before it counts as written */
    bool is_torn;      /* the last write ended in the middle; afterwards, whether this one did */
    const void *frames;
    size_t bytes;
    uint64_t writes, written_bytes; /* what it took */
};

/* Fills an order to append whole frames. Returns 0, or -error if there is no place that they could go to. */
int spool_order(struct spool_order *order, const struct segment *segment, const void *frames, size_t bytes);

/* Carries an order out. Returns 0 or -error; then nothing counts as written. */
int spool_carry_out(struct spool_order *order);

/* Notes in the segment, and in what we count of our own I/O, what an order that was carried out took. */
void spool_settle(struct segment *segment, const struct spool_order *order);

/* Appends whole frames to the spool of the segment's process, however long that takes. `profiles`: a descriptor of SLICEWISE_DIR, or NULL.
 * Returns 0 or -error. */
int spool_append_ourselves(struct segment *segment, const void *frames, size_t bytes, const int *profiles);

/* The same, or what `spool_carrier` does in its place, where there is one. */
int spool_append(struct segment *segment, const void *frames, size_t bytes);
extern int (*spool_carrier)(struct segment *segment, const void *frames, size_t bytes);

/* Whether spool_append has the file system keep what was written before it says so. */
extern bool spool_is_kept;

/* A directory that all spools go to, a job's into a directory of its name, wherever their processes wanted them; NULL: there. */
extern const char *spool_into;

/* The file that a segment drains to. */
void spool_path(char *path, size_t room, const struct segment *segment);

/* Notes the root directory that paths begin at. Looks at nothing else, and opens nothing. */
void spool_anchor_root(struct spool_anchor *anchor);

/* Notes where a spool_dir leads to at this moment, by looks that ask no server; nothing if the root directory is no longer the one noted. The text
 * is cut meanwhile, and is whole again afterwards. */
void spool_anchor(struct spool_anchor *anchor, char *spool_dir);

/* Opens a directory if that asks no server and waits for no disk (O_PATH). Returns a descriptor, or -errno: -EAGAIN if it cannot be known at once. */
int spool_open_known(const char *path);

/* Why something could not be written. */
const char *spool_words(int error);

#endif
