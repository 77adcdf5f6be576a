/* What a Lustre server's parameter files say, entry by entry: job_stats of 2.5 to 2.17, and a client's statistics (exports). Pure but for reading
 * the file: in one pass, by a buffer of its own, whatever the file's size. Called by the collector's one thread. */
#ifndef SLICEWISE_JOB_STATS_H
#define SLICEWISE_JOB_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    JOB_NAME_ROOM = 64, /* Lustre's own is 32 bytes; a client's address may be longer */
};

/* The counts of an entry, in the order of server_slices. */
enum served_count { SERVED_read_bytes, SERVED_write_bytes, SERVED_read_ops, SERVED_write_ops, SERVED_meta_ops, SERVED_busy_ns, SERVED_COUNTS };

struct job_entry {
    char name[JOB_NAME_ROOM];
    uint64_t changed_ns, start_ns; /* 0: it does not say */
    bool is_changed_exactly;       /* to the nanosecond: an entry that says the same time is the same */
    bool is_metadata;              /* it has counts that metadata targets alone have */
    uint64_t counts[SERVED_COUNTS];
};

struct job_stats {
    void *argument;
    bool (*is_known)(void *argument, const struct job_entry *entry); /* asked once its times are read: the rest of it may be passed over */
    void (*take)(void *argument, const struct job_entry *entry);
    unsigned entries; /* that were met, known ones included */
};

/* Reads a file of job_stats. Returns 0, or -errno if it could not be read to its end; what was whole until there is taken. */
int job_stats_read(struct job_stats *reader, const char *path);

/* `write_bytes 12 samples [bytes] 4096 1048576 9437184`: a number of operations, and where there are three more, the sum of what they had. */
struct stats_line {
    char name[64], unit[16];
    uint64_t samples, sum;
};
bool job_stats_line(struct stats_line *said, const char *line);

/* Reads the statistics of one client, which are such lines. Returns 0 or -errno. */
int job_stats_read_client(struct job_entry *entry, const char *path);

#endif
