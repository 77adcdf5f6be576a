/* Where processes without the library read and write: the kernel moves the positions of their descriptors on (/proc/PID/fdinfo). What it counted as
 * read from and written to storage is shared out among the file systems of the descriptors that moved. No file system is asked anything, and the
 * process nothing either. Called by the collector's one thread.
 *
 * Calls that give their own position (pread, io_uring) and maps move none: then it is the latest descriptor that stands still. */
#ifndef SLICEWISE_DESCRIPTORS_H
#define SLICEWISE_DESCRIPTORS_H

#include "procfs.h"
#include "segment.h"

enum {
    DESCRIPTORS_TRACKED = 24,       /* of a process, */
    DESCRIPTORS_LISTED = 24,        /* and others that a look reads, in turn */
    DESCRIPTORS_A_LOOK = 128,       /* of all processes: another process is asked only before so many are read */
    LEAST_STORED_BYTES = 1 << 20,   /* whoever moved less since the look before is not asked where */
    LEAST_MOVED_BYTES = 64 << 10,   /* a descriptor that moved less may be that of a log */
    FILE_SYSTEMS_MAX = 32,          /* of the node; those beyond have no rows */
    FILE_SYSTEMS_OF_ONE = 4,        /* likewise of a process */
    MOUNT_IDS_MAX = 64,
    FILE_SYSTEM_TEXT_BYTES = 256,
    FILE_SYSTEM_TEXTS = NODE_MOUNT_COLUMNS - 1,
    DIRECTIONS = 2,                 /* read, write: as counts stand */
};

/* The file systems on which somebody read or wrote. */
struct file_systems {
    const char *root;
    unsigned used, written; /* rows of the first ones are kept */
    struct {
        char text[FILE_SYSTEM_TEXTS][FILE_SYSTEM_TEXT_BYTES]; /* in the order of node_mounts */
        uint64_t row[NODE_MOUNT_COLUMNS]; /* once it has one */
        bool has_row;
    } of[FILE_SYSTEMS_MAX];
    /* The kernel's numbers of mounts that were looked up lately, and their places; FILE_SYSTEMS_MAX: none with storage behind it. */
    unsigned ids_used, looks;
    struct {
        uint64_t id;
        unsigned at;
    } ids[MOUNT_IDS_MAX];
};

struct tracked {
    uint32_t number;
    unsigned file_system;
    bool can[DIRECTIONS], is_append;
    bool is_new;   /* it was not there at the look before */
    bool is_mover; /* in some look it moved LEAST_MOVED_BYTES */
    uint64_t inode, position, moved;
};

/* What is known of one process. */
struct descriptors {
    uint64_t counts[KERNEL_COUNTS]; /* at the last look */
    unsigned waits[DIRECTIONS];     /* looks since one that told where */
    bool is_begun;                  /* positions from before the counts begin are known */
    uint32_t next;                  /* the number from which on others are listed */
    struct tracked closed;          /* one that moved, and is closed since the look before; it can nothing: there is none */
    unsigned used, file_systems_used;
    struct tracked of[DESCRIPTORS_TRACKED];
    struct {
        unsigned at;
        uint64_t bytes[DIRECTIONS], in_row[DIRECTIONS]; /* of which no row is kept yet; as the row that was made last has them */
    } file_systems[FILE_SYSTEMS_OF_ONE];
};

/* Counts begin here. is_from_start: with the process, so that its files began at their beginning. */
void descriptors_begin(struct descriptors *own, const uint64_t counts[KERNEL_COUNTS], bool is_from_start);

/* Looks where a process moved what it moved since the look before. Returns how many descriptors were read. */
unsigned descriptors_look(struct file_systems *systems, struct descriptors *own, uint32_t pid, const uint64_t counts[KERNEL_COUNTS]);

/* A round of looks is over: numbers of mounts are used again, so what is known of them is forgotten after some. */
void file_systems_end_round(struct file_systems *systems);

/* Rows of those file systems of which none are kept yet (FILE_SYSTEMS_MAX at most), and of one process (`most` at most). Return how many there
 * are. */
unsigned file_systems_rows(struct file_systems *systems, struct segment_home *home, uint64_t *rows);
unsigned descriptors_rows(struct descriptors *own, uint64_t number, uint64_t *rows, unsigned most);

/* The rows that were made last are kept. */
void file_systems_are_kept(struct file_systems *systems);
void descriptors_are_kept(struct descriptors *own);

/* The point of the mount that a descriptor of a process leads to, as that process sees it; empty: it is none of a file. */
void descriptors_mount_of(const char *root, uint32_t pid, uint32_t descriptor, char *point, size_t room);

/* The same of its latest descriptor that leads to a file of a file system with storage behind it. */
void descriptors_latest_mount(const char *root, uint32_t pid, char *point, size_t room);

#endif
