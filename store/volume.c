#include "volume.h"

#include "raw.h"
#include "text.h"

#include <dirent.h>
#include <string.h>
#include <sys/sysmacros.h>

/* A volume on an encrypted one on a RAID of one on a partition is five. */
enum { DEEPEST = 8, PATH_BYTES = 256 };

bool volume_is(const char *source)
{
    if (strncmp(source, "/dev/", 5) != 0)
        return false;
    return strchr(source + 5, '/') != NULL || strncmp(source + 5, "dm-", 3) == 0 || strcmp(source + 5, "root") == 0;
}

__attribute__((noinline)) static void put_path(char path[PATH_BYTES], const char *sys, const char *dir, const char *name, const char *file)
{
    char *end = path + PATH_BYTES, *at = text_put(text_put(path, end, sys), end, dir);
    text_put(text_put(at, end, name), end, file);
}

/* Btrfs and its like have device numbers of their own. */
static uint64_t number_of(const char *source, uint64_t device)
{
    struct statx status;
    if (raw_statx(AT_FDCWD, source, 0, &status) != 0 || (status.stx_mode & S_IFMT) != S_IFBLK)
        return device;
    return makedev(status.stx_rdev_major, status.stx_rdev_minor);
}

static bool name_of_number(const char *sys, uint64_t number, char name[DISK_NAME_BYTES])
{
    char path[PATH_BYTES], link[512], *end = path + sizeof path;
    put_path(path, sys, "/dev/block/", "", "");
    text_put_number(text_put(text_put_number(strchr(path, '\0'), end, major(number)), end, ":"), end, minor(number));
    long length = raw_readlink(path, link, sizeof link - 1);
    if (length <= 0)
        return false;
    link[length] = '\0';
    return text_put(name, name + DISK_NAME_BYTES, text_last_part(link)) < name + DISK_NAME_BYTES;
}

/* What a device is made of, if that is one other. */
static bool name_of_only_part(const char *sys, const char *whole, char name[DISK_NAME_BYTES])
{
    char path[PATH_BYTES], entries[512] __attribute__((aligned(8)));
    put_path(path, sys, "/class/block/", whole, "/slaves");
    int dir = raw_open(path, O_RDONLY | O_DIRECTORY, 0), parts = 0;
    for (long bytes; dir >= 0 && (bytes = raw_result(syscall(SYS_getdents64, dir, entries, sizeof entries))) > 0;)
        for (long at = 0; at < bytes; at += ((struct dirent64 *)(entries + at))->d_reclen) {
            const char *entry = ((const struct dirent64 *)(entries + at))->d_name;
            if (entry[0] != '.' && parts++ == 0)
                text_put(name, name + DISK_NAME_BYTES, entry);
        }
    if (dir >= 0)
        raw_close(dir);
    return parts == 1;
}

/* A pool of thin volumes and a ram disk count nothing. */
static bool is_counted(const char *sys, const char *name)
{
    char path[PATH_BYTES], counts[256];
    put_path(path, sys, "/class/block/", name, "/stat");
    size_t bytes = raw_read_at_once(path, counts, sizeof counts);
    return counts[strspn(counts, " 0\n")] != '\0' && bytes > 0;
}

const char *volume_disk(const char *sys, const char *source, uint64_t device, char name[DISK_NAME_BYTES])
{
    char part[DISK_NAME_BYTES];
    if (!name_of_number(sys, number_of(source, device), name))
        return "";
    for (int depth = 0; depth < DEEPEST && name_of_only_part(sys, name, part) && is_counted(sys, part); depth++)
        memcpy(name, part, DISK_NAME_BYTES);
    return strncmp(name, "dm-", 3) != 0 ? name : ""; /* the next boot may number them otherwise */
}
