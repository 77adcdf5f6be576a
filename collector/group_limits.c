#include "group_limits.h"

#include "raw.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One look reads a file for each of these, which takes about 10 us. */
enum { PROCESSES_MET = 8, FILE_BYTES = 1 << 14 };
enum { ROOT_LENGTH = 1 }; /* of "/", which has limits in version 1 alone */
enum { READ_BYTES, WRITE_BYTES, READ_OPS, WRITE_OPS }; /* the order of the counts */
#define BETWEEN_LOOKS_NS 1000000000ull

static const char v1_dir[] = "/sys/fs/cgroup/blkio";

static void add_group(struct limits *limits, bool is_v1, const char *path, size_t length)
{
    for (unsigned i = 0; i < limits->used; i++) {
        const struct limit_group *group = &limits->groups[i];
        if (group->is_v1 == is_v1 && strlen(group->path) == length && memcmp(group->path, path, length) == 0)
            return;
    }
    if (limits->used == LIMIT_GROUPS || length < (is_v1 ? ROOT_LENGTH : ROOT_LENGTH + 1) || length >= CGROUP_PATH_BYTES)
        return;
    struct limit_group *group = &limits->groups[limits->used++];
    group->is_v1 = is_v1;
    snprintf(group->path, sizeof group->path, "%.*s", (int)length, path);
}

/* `7:blkio:/users/anna` of cgroup v1, `0::/user.slice/user-1000.slice` of v2. */
static void add_groups_of_line(struct limits *limits, const char *line, size_t length)
{
    const char *controllers = memchr(line, ':', length), *end = line + length;
    const char *path = controllers != NULL ? memchr(controllers + 1, ':', (size_t)(end - controllers - 1)) : NULL;
    if (path == NULL)
        return;
    path++;
    if (controllers + 1 == path - 1)
        for (const char *at = path; at < end; at++) {
            const char *slash = memchr(at + 1, '/', (size_t)(end - at - 1));
            at = slash != NULL ? slash - 1 : end - 1;
            add_group(limits, false, path, (size_t)(at + 1 - path));
        }
    else if (memmem(controllers, (size_t)(path - controllers), "blkio", strlen("blkio")) != NULL)
        add_group(limits, true, path, (size_t)(end - path));
}

void limits_meet_one(struct limits *limits, const char *root, uint32_t pid)
{
    char path[512], text[4096];
    snprintf(path, sizeof path, "%s/proc/%u/cgroup", root, pid);
    if (raw_read_file(path, text, sizeof text) <= 0)
        return;
    for (const char *line = text; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        add_groups_of_line(limits, line, length);
        line += length + (line[length] == '\n');
    }
}

void limits_meet(struct limits *limits, const struct belonging *belonging, uint64_t now_ns)
{
    struct seen *some[PROCESSES_MET];
    unsigned of_job;
    if (limits->met_ns != 0 && now_ns - limits->met_ns < BETWEEN_LOOKS_NS)
        return;
    unsigned looks = belonging_some(belonging, &limits->next, PROCESSES_MET, some, &of_job);
    limits->met_ns = looks > 0 ? now_ns : limits->met_ns;
    for (unsigned i = 0; i < looks; i++)
        limits_meet_one(limits, belonging->root, some[i]->pid);
}

static struct limited_disk *disk_of(struct limited_disk *disks, unsigned *used, const char *numbers, bool is_to_be_made)
{
    for (unsigned i = 0; i < *used; i++)
        if (strcmp(disks[i].numbers, numbers) == 0)
            return &disks[i];
    if (!is_to_be_made || *used == LIMIT_DISKS)
        return NULL;
    struct limited_disk *disk = &disks[(*used)++];
    *disk = (struct limited_disk){ 0 };
    snprintf(disk->numbers, sizeof disk->numbers, "%s", numbers);
    return disk;
}

static bool read_file(const struct limit_group *group, const char *root, const char *name, char text[FILE_BYTES])
{
    char path[1024];
    const char *dir = group->is_v1 ? v1_dir : cgroup_v2_dir(root);
    if (dir == NULL)
        return false;
    snprintf(path, sizeof path, "%s%s%s/%s", root, dir, group->path, name);
    return raw_read_file(path, text, FILE_BYTES) > 0;
}

static unsigned read_v2(const struct limit_group *group, const char *root, struct limited_disk disks[LIMIT_DISKS])
{
    static const char *const files[] = { [CGROUP_IS_LIMIT] = "io.max", [CGROUP_IS_DONE] = "io.stat" };
    char text[FILE_BYTES], numbers[CGROUP_DISK_BYTES];
    unsigned used = 0;
    for (unsigned i = 0; i < 2; i++) {
        enum cgroup_counts what = i == 0 ? CGROUP_IS_LIMIT : CGROUP_IS_DONE;
        if (!read_file(group, root, files[what], text))
            return 0;
        for (const char *line = text; *line != '\0'; line = text_next_line(line)) {
            uint64_t counts[CGROUP_COUNTS] = { 0 };
            struct limited_disk *disk = cgroup_take_disk(line, what, numbers, counts) ? disk_of(disks, &used, numbers, i == 0) : NULL;
            if (disk != NULL)
                memcpy(i == 0 ? disk->a_second : disk->done, counts, sizeof counts);
        }
        if (used == 0)
            return 0;
    }
    return used;
}

/* What is written back falls under the root's limit, whoever wrote it. Its own counts have bytes that wait for their turn, gigabytes of them;
 * those of the disk have what was let through. Fields of /sys/dev/block/8:16/stat: reads, merged, sectors, ms, and the same of writes. */
static void take_counts_of_disk(const char *root, struct limited_disk *disk)
{
    char path[512], text[1024];
    unsigned long reads = 0, read_sectors = 0, writes = 0, write_sectors = 0;
    snprintf(path, sizeof path, "%s/sys/dev/block/%s/stat", root, disk->numbers);
    if (raw_read_file(path, text, sizeof text) <= 0 ||
        sscanf(text, "%lu %*u %lu %*u %lu %*u %lu", &reads, &read_sectors, &writes, &write_sectors) != 4)
        return;
    disk->done[READ_BYTES] = read_sectors * SECTOR_BYTES;
    disk->done[WRITE_BYTES] = write_sectors * SECTOR_BYTES;
    disk->done[READ_OPS] = reads;
    disk->done[WRITE_OPS] = writes;
}

/* Lines of `8:16 1048576`, and of `8:16 Read 4096`. */
static unsigned read_v1(const struct limit_group *group, const char *root, struct limited_disk disks[LIMIT_DISKS])
{
    static const struct {
        const char *file, *word;
        unsigned count;
    } files[] = {
        { "blkio.throttle.read_bps_device", "", READ_BYTES },      { "blkio.throttle.write_bps_device", "", WRITE_BYTES },
        { "blkio.throttle.read_iops_device", "", READ_OPS },       { "blkio.throttle.write_iops_device", "", WRITE_OPS },
        { "blkio.throttle.io_service_bytes", "Read", READ_BYTES }, { "blkio.throttle.io_service_bytes", "Write", WRITE_BYTES },
        { "blkio.throttle.io_serviced", "Read", READ_OPS },        { "blkio.throttle.io_serviced", "Write", WRITE_OPS },
    };
    char text[FILE_BYTES];
    unsigned used = 0;
    bool is_root = strlen(group->path) == ROOT_LENGTH;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        bool is_limit = files[i].word[0] == '\0';
        if ((!is_limit && (used == 0 || is_root)) || !read_file(group, root, files[i].file, text))
            continue;
        for (const char *line = text; *line != '\0'; line = text_next_line(line)) {
            char numbers[CGROUP_DISK_BYTES] = "", word[CGROUP_DISK_BYTES] = "";
            unsigned long value = 0;
            int fields = is_limit ? sscanf(line, "%31[0-9:] %lu", numbers, &value) : sscanf(line, "%31[0-9:] %31s %lu", numbers, word, &value);
            struct limited_disk *disk = fields == 2 + !is_limit && strcmp(word, files[i].word) == 0 ? disk_of(disks, &used, numbers, is_limit) : NULL;
            if (disk != NULL)
                (is_limit ? disk->a_second : disk->done)[files[i].count] = value;
        }
    }
    for (unsigned i = 0; is_root && i < used; i++)
        take_counts_of_disk(root, &disks[i]);
    return used;
}

unsigned limits_read(const struct limit_group *group, const char *root, struct limited_disk disks[LIMIT_DISKS])
{
    return group->is_v1 ? read_v1(group, root, disks) : read_v2(group, root, disks);
}
