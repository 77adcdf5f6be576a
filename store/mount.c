#include "mount.h"

#include "raw.h"
#include "sections.h"
#include "statmount.h"
#include "volume.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

enum { SYSTEM_MOUNTS_MAX = 4096, MOUNTINFO_BYTES = 1 << 20 };

/* The system's mounts: private memory, read when first needed and again when a device turns up that is not in it. */
static CALL_DATA struct {
    struct system_mount *mounts;
    char *text;
    unsigned count;
} table;

/* The kernel's numbers of those mounts in the segment that are NFS; 0: one mount a device. Touched where there are any. */
static uint64_t ids[MOUNTS_MAX];
CALL_DATA bool mount_has_ids;

enum object object_of_mode(uint32_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
    case S_IFDIR:
    case S_IFLNK: return OBJECT_file;
    case S_IFCHR:
    case S_IFBLK: return OBJECT_device;
    case S_IFIFO: return OBJECT_pipe;
    case S_IFSOCK: return OBJECT_socket;
    default: return OBJECT_other;
    }
}

char *mount_next_field(char **at)
{
    char *field = *at, *out = *at, *in = *at;
    while (*in != ' ' && *in != '\0') {
        if (in[0] == '\\' && in[1] >= '0' && in[1] <= '3' && in[2] != '\0' && in[3] != '\0') {
            *out++ = (char)((in[1] - '0') * 64 + (in[2] - '0') * 8 + (in[3] - '0'));
            in += 4;
        } else {
            *out++ = *in++;
        }
    }
    *at = *in == '\0' ? in : in + 1;
    *out = '\0';
    return field;
}

static bool is_nfs(const char *type)
{
    return strcmp(type, "nfs") == 0 || strcmp(type, "nfs4") == 0;
}

/* The options of a type's mounts that say which file system it is, the better one first: NFS and CIFS have the server's address there; all mounts
 * of BeeGFS have one source, and its management server or the file that names it there. */
static const char *const *telling_options(const char *type)
{
    static const char *const of_server[] = { "addr=", NULL }, *const of_beegfs[] = { "sysMgmtdHost=", "cfgFile=", NULL };
    if (strcmp(type, "beegfs") == 0)
        return of_beegfs;
    return is_nfs(type) || strcmp(type, "cifs") == 0 || strcmp(type, "smb3") == 0 ? of_server : NULL;
}

/* By a mount's options, which this takes apart. */
static const char *server_address(const char *type, char *options)
{
    const char *const *telling = telling_options(type), *found = "";
    for (char *next = options, *option; telling != NULL && (option = strsep(&next, ",\n")) != NULL;)
        for (size_t i = 0; telling[i] != NULL; i++)
            if (strncmp(option, telling[i], strlen(telling[i])) == 0) {
                found = option + strlen(telling[i]);
                if (i == 0)
                    return found;
            }
    return found;
}

/* The line: id parent major:minor root point options [tags...] - type source options. */
bool mount_of_line(char *line, struct system_mount *mount)
{
    char *at = line;
    mount->id = strtoul(mount_next_field(&at), NULL, 10);
    mount_next_field(&at);
    char *numbers = mount_next_field(&at), *end;
    unsigned major_number = (unsigned)strtoul(numbers, &end, 10);
    if (*end != ':')
        return false;
    mount->device = makedev(major_number, (unsigned)strtoul(end + 1, NULL, 10));
    mount_next_field(&at);
    mount->point = mount_next_field(&at);
    while (*at != '\0' && strcmp(mount_next_field(&at), "-") != 0)
        ;
    if (*at == '\0')
        return false;
    mount->type = mount_next_field(&at);
    mount->source = mount_next_field(&at);
    mount->address = server_address(mount->type, at);
    return true;
}

static void load_table(void)
{
    if (table.mounts == NULL) {
        size_t bytes = SYSTEM_MOUNTS_MAX * sizeof *table.mounts + MOUNTINFO_BYTES;
        table.mounts = raw_memory(bytes);
        if (table.mounts == NULL)
            return;
        table.text = (char *)(table.mounts + SYSTEM_MOUNTS_MAX);
    }
    table.count = 0;
    if (raw_read_file("/proc/self/mountinfo", table.text, MOUNTINFO_BYTES) < 0)
        return;
    for (char *line = table.text; *line != '\0' && table.count < SYSTEM_MOUNTS_MAX;) {
        char *end = strchrnul(line, '\n');
        bool is_last = *end == '\0';
        *end = '\0';
        table.count += mount_of_line(line, &table.mounts[table.count]);
        line = is_last ? end : end + 1;
    }
}

static const struct system_mount *by_path(const char *path)
{
    const struct system_mount *best = NULL;
    size_t best_length = 0;
    for (unsigned i = 0; i < table.count; i++) {
        size_t length = strlen(table.mounts[i].point);
        bool is_root = length == 1;
        bool is_below = strncmp(path, table.mounts[i].point, length) == 0 && (is_root || path[length] == '/' || path[length] == '\0');
        /* Of two at one point the later one hides the earlier. */
        if (is_below && length >= best_length) {
            best = &table.mounts[i];
            best_length = length;
        }
    }
    return best;
}

/* A subvolume's files have a device of their own, which the list has not: that of the mount whose root is on it. */
static const struct system_mount *by_subvolume(uint64_t device)
{
    struct statx status;
    for (unsigned i = 0; major(device) == 0 && i < table.count; i++)
        if (strcmp(table.mounts[i].type, "btrfs") == 0 && raw_statx(AT_FDCWD, table.mounts[i].point, 0, &status) == 0 &&
            makedev(status.stx_dev_major, status.stx_dev_minor) == device)
            return &table.mounts[i];
    return NULL;
}

/* By its number, where the kernel says which (until 6.8 its list's), else by the path and the device. */
static const struct system_mount *by_device(uint64_t device, uint64_t id, const char *path)
{
    for (unsigned i = 0; id != 0 && i < table.count; i++)
        if (table.mounts[i].id == id && table.mounts[i].device == device)
            return &table.mounts[i];
    const struct system_mount *hint = path != NULL ? by_path(path) : NULL;
    if (hint != NULL && hint->device == device)
        return hint;
    for (unsigned i = 0; i < table.count; i++)
        if (table.mounts[i].device == device)
            return &table.mounts[i];
    return NULL;
}

uint32_t mount_find(const struct segment *segment, enum object object, uint64_t device)
{
    uint64_t key = object == OBJECT_file ? device : 0;
    uint32_t used = __atomic_load_n(&segment->mounts_used, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < used; i++) /* the kernel's pseudo files are `other` on a device */
        if (segment->mounts[i][mounts_device] == key && (key != 0 || segment->mounts[i][mounts_object] == object))
            return i;
    return MOUNT_NOT_KNOWN;
}

uint32_t mount_find_one(const struct segment *segment, uint64_t device, uint64_t id)
{
    uint32_t used = __atomic_load_n(&segment->mounts_used, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < used; i++) {
        uint64_t own = __atomic_load_n(&ids[i], __ATOMIC_RELAXED);
        if (segment->mounts[i][mounts_device] == device && (own == 0 || own == id))
            return i;
    }
    return MOUNT_NOT_KNOWN;
}

static bool is_text(const struct segment *segment, uint64_t text, const char *string)
{
    return strcmp(segment_text(segment, text), string) == 0;
}

/* Apart, for the room that it takes on the stack. */
__attribute__((noinline)) static uint64_t add_disk(struct segment_home *home, const char *source, uint64_t device)
{
    char disk[DISK_NAME_BYTES];
    return segment_add_text(home, volume_disk("/sys", source, device, disk));
}

static uint32_t add(struct segment_home *home, enum object object, uint64_t device, uint64_t id, const struct system_mount *mount)
{
    struct segment *segment = home->segment;
    uint32_t index = segment->mounts_used;
    uint64_t nfs_id = is_nfs(mount->type) ? id : 0;
    for (uint32_t i = 0; nfs_id != 0 && i < index; i++) {
        const uint64_t *row = segment->mounts[i];
        if (row[mounts_device] == device && is_text(segment, row[mounts_point], mount->point) &&
            is_text(segment, row[mounts_source], mount->source)) {
            __atomic_store_n(&ids[i], nfs_id, __ATOMIC_RELAXED); /* it was mounted again */
            return i;
        }
    }
    if (index == MOUNTS_MAX) {
        segment_count_problem(segment, PROBLEM_mounts_full);
        return MOUNT_OTHER;
    }
    uint64_t *row = segment->mounts[index];
    row[mounts_mount] = index;
    row[mounts_object] = object;
    row[mounts_device] = device;
    row[mounts_point] = segment_add_text(home, mount->point);
    row[mounts_type] = segment_add_text(home, mount->type);
    row[mounts_source] = segment_add_text(home, mount->source);
    row[mounts_address] = volume_is(mount->source) ? add_disk(home, mount->source, device) : segment_add_text(home, mount->address);
    if (nfs_id != 0 || mount_has_ids) {
        __atomic_store_n(&ids[index], nfs_id, __ATOMIC_RELAXED);
        __atomic_store_n(&mount_has_ids, true, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&segment->mounts_used, index + 1, __ATOMIC_RELEASE);
    return index;
}

bool mount_is_pseudo(const char *type)
{
    static const char *const types[] = { "proc",   "sysfs", "cgroup", "cgroup2",  "devpts",    "debugfs", "tracefs",    "securityfs",  "configfs",
                                         "mqueue", "bpf",   "pstore", "efivarfs", "selinuxfs", "fusectl", "rpc_pipefs", "binfmt_misc", "nsfs" };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i]) == 0)
            return true;
    return false;
}

bool mount_is_in_memory(const char *type)
{
    return strcmp(type, "tmpfs") == 0 || strcmp(type, "ramfs") == 0 || strcmp(type, "hugetlbfs") == 0;
}

bool mount_is_memory(const struct segment *segment, uint32_t mount)
{
    return mount_is_in_memory(segment_text(segment, segment->mounts[mount][mounts_type]));
}

bool mount_is_on_disk(const struct segment *segment, uint32_t mount)
{
    const char *type = segment_text(segment, segment->mounts[mount][mounts_type]);
    return segment->mounts[mount][mounts_object] == OBJECT_file &&
           (major(segment->mounts[mount][mounts_device]) != 0 || strcmp(type, "btrfs") == 0 || strcmp(type, "overlay") == 0);
}

static const struct system_mount nameless = { .point = "", .type = "", .source = "", .address = "" };

void mount_start(struct segment_home *home)
{
    add(home, OBJECT_process, 0, 0, &nameless);
    add(home, OBJECT_other, 0, 0, &nameless);
}

uint32_t mount_enter(struct segment_home *home, enum object object, uint64_t device, uint64_t id, const char *path)
{
    uint32_t known = mount_find_seen(home->segment, object, device, id);
    if (known != MOUNT_NOT_KNOWN)
        return known;
    if (object != OBJECT_file)
        return add(home, object, 0, 0, &nameless);
    const struct system_mount *mount = by_device(device, id, path);
    if (mount == NULL || (is_nfs(mount->type) && id != 0 && mount->id != id)) { /* or the list is older than the mount */
        load_table();
        mount = by_device(device, id, path);
    }
    /* A device of no mount: memory, a subvolume of the file system that the path lies on, or the root of a chroot. */
    if (mount == NULL && path != NULL && strncmp(path, "/memfd:", 7) == 0)
        return mount_enter(home, OBJECT_other, 0, 0, NULL);
    if (mount == NULL && path != NULL && path[0] == '/')
        mount = by_path(path);
    if (mount == NULL)
        mount = by_subvolume(device);
    if (mount == NULL)
        return add(home, OBJECT_file, device, 0, &nameless);
    return add(home, mount_is_pseudo(mount->type) ? OBJECT_other : OBJECT_file, device, id, mount);
}

/* Apart, for the room that it takes on the stack. */
__attribute__((noinline)) static uint32_t add_with_address(struct segment_home *home, const struct statx *status, const struct system_mount *mount)
{
    struct one_mount again;
    struct system_mount with_address = *mount;
    char *options = statmount_options(status, &again);
    if (options == NULL)
        return MOUNT_NOT_KNOWN;
    with_address.address = server_address(mount->type, options);
    return add(home, OBJECT_file, mount->device, status->stx_mnt_id, &with_address);
}

uint32_t mount_enter_seen(struct segment_home *home, const struct statx *status)
{
    struct one_mount one;
    uint64_t device = makedev(status->stx_dev_major, status->stx_dev_minor);
    uint32_t known = mount_find_seen(home->segment, OBJECT_file, device, status->stx_mnt_id);
    if (known != MOUNT_NOT_KNOWN || !statmount_of(status, &one))
        return known;
    if (by_device(device, 0, NULL) == NULL) /* the list was read before there was this mount */
        table.count = 0;
    const struct system_mount mount = { .device = device, .point = one.point, .type = one.type, .source = one.source, .address = "" };
    if (telling_options(one.type) != NULL)
        return add_with_address(home, status, &mount);
    return add(home, mount_is_pseudo(one.type) ? OBJECT_other : OBJECT_file, device, 0, &mount);
}
