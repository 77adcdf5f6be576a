/* Records of 512 B into a file, in a way that costs much or little:
 *     habits WAY FILE SECONDS|RECORDS
 * syncs: one after each record, for so many seconds; synced: so many records, one sync for a hundred
 * small: synchronous writes of 4 KiB, after 20 of 1 MiB to another file; large: as many bytes in writes of 1 MiB
 * Prints how many records it were. */
#include "scenario.h"

#include <stdbool.h>
#include <time.h>

enum { SYNCHRONOUS = O_CREAT | O_WRONLY | O_TRUNC | O_DSYNC };
enum { RECORD = 512, SMALL = 4096, LARGE = 1 << 20, LARGE_FIRST = 20, A_BATCH = 100 };

static char block[LARGE];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void put(int file, size_t bytes)
{
    REQUIRE(write(file, block, bytes) == (ssize_t)bytes);
}

static long records(int file, bool is_synced_each, double until, long count)
{
    long done = 0;
    for (; until > 0 ? now() < until : done < count; done++) {
        put(file, RECORD);
        if (is_synced_each || done % A_BATCH == A_BATCH - 1)
            REQUIRE(fsync(file) == 0);
    }
    return done;
}

static long pieces(int file, const char *path, size_t piece, double until, long count)
{
    char other[4096];
    long done = 0;
    REQUIRE(snprintf(other, sizeof other, "%s.large", path) < (int)sizeof other);
    int large = open(other, SYNCHRONOUS, 0600);
    for (int i = 0; i < LARGE_FIRST; i++)
        put(large, LARGE);
    for (long bytes = 0; until > 0 ? now() < until : bytes < count * SMALL; bytes += (long)piece, done++)
        put(file, piece);
    return done;
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 4);
    const char *way = argv[1];
    bool is_syncs = strcmp(way, "syncs") == 0, is_small = strcmp(way, "small") == 0;
    bool is_of_records = is_syncs || strcmp(way, "synced") == 0;
    double until = is_syncs || is_small ? now() + atof(argv[3]) : 0;
    long count = atol(argv[3]);
    int file = open(argv[2], is_of_records ? O_CREAT | O_WRONLY | O_TRUNC : SYNCHRONOUS, 0600);
    REQUIRE(file >= 0);
    if (is_of_records)
        count = records(file, is_syncs, until, count);
    else
        count = pieces(file, argv[2], is_small ? SMALL : LARGE, until, count);
    printf("%ld\n", count);
    return 0;
}
