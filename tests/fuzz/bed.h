/* What the C targets of libFuzzer share: a directory of their own in shared memory, and files in it. Each target has the system calls of
 * tests/unit/fake_system.c under it, so that no input makes the engine write elsewhere. */
#ifndef SLICEWISE_TESTS_FUZZ_BED_H
#define SLICEWISE_TESTS_FUZZ_BED_H

#include "fake_system.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *count, char ***arguments);

static char bed[64];

static inline void bed_remove(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", bed);
    if (system(command) != 0)
        fprintf(stderr, "fuzz: %s stays\n", bed);
}

static inline void bed_make(void)
{
    fake_system_reset();
    snprintf(bed, sizeof bed, "/dev/shm/slicewise-fuzz-XXXXXX");
    if (mkdtemp(bed) == NULL)
        abort();
    atexit(bed_remove);
}

/* A path below the bed; valid until the next but three. */
static inline const char *bed_path(const char *name)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", bed, name);
    return path;
}

static inline void bed_write(const char *path, const void *content, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, content, size) != (ssize_t)size)
        abort();
    close(fd);
}

#endif
