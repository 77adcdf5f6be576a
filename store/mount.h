/* What descriptors and names lead to: the system's mounts, as /proc/self/mountinfo lists them, and the process's own table of those that it
 * touched, in the segment. Lookups of known mounts are for any thread; a new one is entered under the engine's lock. */
#ifndef SLICEWISE_MOUNT_H
#define SLICEWISE_MOUNT_H

#include "clock.h"
#include "segment.h"

#include <sys/stat.h>

#define MOUNT_PROCESS 0u /* the kernel's count of the process */
#define MOUNT_OTHER 1u   /* what could not be looked at, or did not fit */
#define MOUNT_NOT_KNOWN UINT32_MAX

/* Enters the two mounts that every process has. */
void mount_start(struct segment_home *home);

/* The mount of an object on a device, or MOUNT_NOT_KNOWN if it was not entered yet. Pipes, sockets and devices have one mount each, whatever
 * their st_dev. */
uint32_t mount_find(const struct segment *segment, enum object object, uint64_t device);

/* The exports of an NFS server may have one st_dev: `id`, the kernel's stx_mnt_id of what was found there, tells their mounts apart. */
uint32_t mount_find_one(const struct segment *segment, uint64_t device, uint64_t id);
extern bool mount_has_ids HIDDEN;

/* The one that was seen, for the process's own segment. `id`: 0, as old kernels say: any. */
static inline uint32_t mount_find_seen(const struct segment *segment, enum object object, uint64_t device, uint64_t id)
{
    if (__builtin_expect(mount_has_ids, false) && object == OBJECT_file && id != 0)
        return mount_find_one(segment, device, id);
    return mount_find(segment, object, device);
}

/* The same, entering it if need be. `path` (may be NULL) helps where the device is not in the system's list. */
uint32_t mount_enter(struct segment_home *home, enum object object, uint64_t device, uint64_t id, const char *path);

/* The same of a file by what raw_statx said of it; MOUNT_NOT_KNOWN if the kernel has no more to say. */
uint32_t mount_enter_seen(struct segment_home *home, const struct statx *status);

/* Whether file systems of this type are windows into the kernel that look like files, or have their files in memory alone. */
bool mount_is_pseudo(const char *type);
bool mount_is_in_memory(const char *type);

/* Whether its files are in memory alone, so that nobody waits for a storage there; whether they are on a disk of this node, whose page cache
 * takes writes, and where the kernel counts what a thread fetches. */
bool mount_is_memory(const struct segment *segment, uint32_t mount);
bool mount_is_on_disk(const struct segment *segment, uint32_t mount);

/* Ends the field of mountinfo at `*at`, undoes its octal escapes, and moves on to the next one. Returns the field. */
char *mount_next_field(char **at);

/* A mount of the system. `address`: by its options (schema/tables.def), without the disk beneath a volume. */
struct system_mount {
    uint64_t device, id;
    const char *point, *type, *source, *address;
};

/* What a line of mountinfo says, whose fields then lie in it. Returns false if it is none. */
bool mount_of_line(char *line, struct system_mount *mount);

/* What an st_mode says a thing is. */
enum object object_of_mode(uint32_t mode);

#endif
