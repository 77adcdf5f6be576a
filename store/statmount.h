/* One mount by its number, from kernels that tell of one alone (statmount, 6.8). The list in /proc tells of all: the kernel writes a line for
 * each, which takes a short process longer than all its own calls. */
#ifndef SLICEWISE_STATMOUNT_H
#define SLICEWISE_STATMOUNT_H

#include <stdbool.h>
#include <sys/stat.h>

/* Texts of `room`. */
struct one_mount {
    const char *point, *type, *source;
    struct {
        unsigned char head[512];
        char text[512];
    } room __attribute__((aligned(8)));
};

/* The mount that raw_statx found something on. Returns false where the kernel does not say: it is old, the mount is none of this
 * process's namespace, its texts are long, or a filter of system calls is in force, which may answer an unknown one by a signal. */
bool statmount_of(const struct statx *status, struct one_mount *mount);

/* Its file system's options, in the room of `mount`, whose texts are lost; NULL where the kernel does not say (it does since 6.11). */
char *statmount_options(const struct statx *status, struct one_mount *mount);

#endif
