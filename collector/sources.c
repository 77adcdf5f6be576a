#include "sources.h"

#include "job_stats.h"
#include "raw.h"
#include "text.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define US_NS 1000ull
#define MS_NS 1000000ull
#define KIB 1024ull

/* One file at a time; a node with many mounts has some hundred kilobytes of statistics. */
static char text[1 << 20];

static bool read_file(const struct reading *reading, const char *path)
{
    char full[1024];
    snprintf(full, sizeof full, "%s%s", reading->root, path);
    return raw_read_file(full, text, sizeof text) > 0;
}

/* So many numbers from `at` on; those that are missing are 0. Returns how many there were. */
static unsigned read_numbers(const char *at, uint64_t *numbers, unsigned count)
{
    const char *end = text_next_line(at);
    for (unsigned i = 0; i < count; i++) {
        char *after;
        numbers[i] = strtoull(at, &after, 10);
        if (after == at || after > end) {
            memset(numbers + i, 0, (count - i) * sizeof *numbers);
            return i;
        }
        at = after;
    }
    return count;
}

static struct device *device_of(struct reading *reading, enum device_kind kind, const char *name, size_t name_length, const char *source,
                                size_t source_length)
{
    struct device made = { .kind = kind };
    snprintf(made.name, sizeof made.name, "%.*s", (int)name_length, name);
    snprintf(made.source, sizeof made.source, "%.*s", (int)source_length, source);
    for (unsigned i = 0; i < reading->devices_used; i++) {
        struct device *device = &reading->devices[i];
        if (device->kind == kind && strcmp(device->name, made.name) == 0 && strcmp(device->source, made.source) == 0)
            return device;
    }
    if (reading->devices_used == DEVICES_MAX) {
        reading->devices_left_out++;
        return NULL;
    }
    struct device *device = &reading->devices[reading->devices_used++];
    *device = made;
    return device;
}

/* Files of a number a line. */
static const struct {
    const char *path, *behind;
    struct named_line lines[4];
} files[] = {
    { "/proc/pressure/cpu", " total=", { { "some", node_slices_cpu_stall_ns, US_NS } } },
    { "/proc/pressure/memory", " total=", { { "some", node_slices_memory_stall_ns, US_NS }, { "full", node_slices_memory_full_stall_ns, US_NS } } },
    { "/proc/pressure/io", " total=", { { "some", node_slices_io_stall_ns, US_NS }, { "full", node_slices_io_full_stall_ns, US_NS } } },
    { "/proc/meminfo", "", { { "Dirty:", node_slices_dirty_bytes, KIB }, { "Writeback:", node_slices_writeback_bytes, KIB } } },
    { "/proc/vmstat",
      "",
      { { "workingset_refault_file ", node_slices_file_refault_bytes, 0 },
        { "workingset_refault_anon ", node_slices_anonymous_refault_bytes, 0 },
        { "workingset_refault ", node_slices_file_refault_bytes, 0 } } }, /* before Linux 5.9 of all pages, of which nearly all were files' */
};

/* Of a line of names and a line of values below it, both with the protocol's name first. */
static uint64_t named_value(const char *protocol, const char *name)
{
    size_t protocol_length = strlen(protocol), name_length = strlen(name);
    for (const char *names = text; *names != '\0'; names = text_next_line(names)) {
        const char *values = text_next_line(names);
        if (strncmp(names, protocol, protocol_length) != 0 || strncmp(values, protocol, protocol_length) != 0)
            continue;
        const char *name_at = names + protocol_length, *value_at = values + protocol_length;
        while (*name_at == ' ' && *value_at == ' ') {
            size_t length = strcspn(++name_at, " \n");
            value_at++;
            if (length == name_length && strncmp(name_at, name, length) == 0)
                return strtoull(value_at, NULL, 10);
            name_at += length;
            value_at += strcspn(value_at, " \n");
        }
        return 0;
    }
    return 0;
}

static void read_tcp(struct reading *reading)
{
    if (read_file(reading, "/proc/net/snmp")) {
        reading->now[node_slices_tcp_sent_segments] = named_value("Tcp:", "OutSegs");
        reading->now[node_slices_tcp_retransmissions] = named_value("Tcp:", "RetransSegs");
    }
    if (!read_file(reading, "/proc/net/netstat"))
        return;
    static const struct {
        enum column column;
        const char *name;
    } counts[] = {
        { node_slices_tcp_timeouts, "TCPTimeouts" },
        { node_slices_tcp_to_zero_window, "TCPToZeroWindowAdv" },
        { node_slices_tcp_from_zero_window, "TCPFromZeroWindowAdv" },
        { node_slices_tcp_want_zero_window, "TCPWantZeroWindowAdv" },
        { node_slices_listen_overflows, "ListenOverflows" },
        { node_slices_listen_drops, "ListenDrops" },
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        reading->now[counts[i].column] = named_value("TcpExt:", counts[i].name);
}

/* Whether all that it counts passes another one, too: a bond, a bridge, a VLAN. */
static bool is_above_another(const struct reading *reading, const char *name, size_t length)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/sys/class/net/%.*s", reading->root, (int)length, name);
    DIR *links = opendir(path);
    bool is_above = false;
    for (struct dirent *entry; links != NULL && !is_above && (entry = readdir(links)) != NULL;)
        is_above = strncmp(entry->d_name, "lower_", strlen("lower_")) == 0;
    if (links != NULL)
        closedir(links);
    return is_above;
}

static void read_networks(struct reading *reading)
{
    enum { BYTES, PACKETS, ERRORS, DROPS, SENT = 8, FIELDS = 16 };
    if (!read_file(reading, "/proc/net/dev"))
        return;
    for (const char *line = text; *line != '\0'; line = text_next_line(line)) {
        uint64_t field[FIELDS];
        const char *name = line + strspn(line, " "), *colon = strchr(name, ':');
        if (colon == NULL || colon > text_next_line(line) || read_numbers(colon + 1, field, FIELDS) < FIELDS || strncmp(name, "lo:", 3) == 0 ||
            is_above_another(reading, name, (size_t)(colon - name)))
            continue;
        struct device *device = device_of(reading, DEVICE_network, name, (size_t)(colon - name), "", 0);
        if (device == NULL)
            continue;
        device->is_present = true;
        for (int i = 0; i <= DROPS; i++) {
            device->now[node_networks_received_bytes + i] = field[BYTES + i];
            device->now[node_networks_sent_bytes + i] = field[SENT + i];
        }
    }
}

static bool is_partition(const struct reading *reading, const char *name, size_t length)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/sys/class/block/%.*s/partition", reading->root, (int)length, name);
    return access(path, F_OK) == 0;
}

static void read_blocks(struct reading *reading)
{
    enum { READS, READ_SECTORS = 2, READ_MS, WRITES, WRITE_SECTORS = 6, WRITE_MS, BUSY_MS = 9, QUEUE_MS, FIELDS };
    if (!read_file(reading, "/proc/diskstats"))
        return;
    for (const char *line = text; *line != '\0'; line = text_next_line(line)) {
        uint64_t field[FIELDS];
        int major, minor, begin = 0, end = 0;
        if (sscanf(line, "%d %d %n%*s%n", &major, &minor, &begin, &end) < 2 || end <= begin || read_numbers(line + end, field, FIELDS) < FIELDS ||
            (field[READS] == 0 && field[WRITES] == 0) || is_partition(reading, line + begin, (size_t)(end - begin)))
            continue;
        struct device *device = device_of(reading, DEVICE_block, line + begin, (size_t)(end - begin), "", 0);
        if (device == NULL)
            continue;
        device->is_present = true;
        device->now[node_blocks_read_ops] = field[READS];
        device->now[node_blocks_read_bytes] = field[READ_SECTORS] * SECTOR_BYTES;
        device->now[node_blocks_read_ns] = field[READ_MS] * MS_NS;
        device->now[node_blocks_write_ops] = field[WRITES];
        device->now[node_blocks_write_bytes] = field[WRITE_SECTORS] * SECTOR_BYTES;
        device->now[node_blocks_write_ns] = field[WRITE_MS] * MS_NS;
        device->now[node_blocks_busy_ns] = field[BUSY_MS] * MS_NS;
        device->now[node_blocks_queue_ns] = field[QUEUE_MS] * MS_NS;
    }
}

/* `device SOURCE mounted on POINT with fstype nfs4 ...`: the beginning of a mount's statistics. */
static struct device *begin_nfs_mount(struct reading *reading, const char *line)
{
    const char *end = text_next_line(line), *source = line + 7, *mounted = strstr(source, " mounted on "), *type = strstr(source, " with fstype nfs");
    if (mounted == NULL || type == NULL || mounted > type || type > end)
        return NULL;
    const char *point = mounted + strlen(" mounted on ");
    struct device *device = device_of(reading, DEVICE_nfs, point, (size_t)(type - point), source, (size_t)(mounted - source));
    if (device != NULL && !device->is_present) { /* a directory that is mounted over has its statistics twice */
        device->is_present = true;
        memset(device->now, 0, sizeof device->now);
        return device;
    }
    return NULL;
}

/* The bytes of one mount, or one kind of request: `READ: operations transmissions timeouts sent received queue rtt execute`. */
static void read_nfs_line(struct device *device, const char *line)
{
    enum { OPERATIONS_DONE, TRANSMISSIONS, TIMEOUTS, QUEUE_MS = 5, RTT_MS, EXECUTE_MS, FIELDS };
    uint64_t field[FIELDS];
    const char *at = line + strspn(line, " \t"), *colon = strchr(at, ':');
    if (colon == NULL || colon > text_next_line(line))
        return;
    if (strncmp(at, "bytes:", 6) == 0 && read_numbers(colon + 1, field, 6) == 6) {
        device->now[node_nfs_program_read_bytes] = field[0] + field[2];
        device->now[node_nfs_program_write_bytes] = field[1] + field[3];
        device->now[node_nfs_read_bytes] = field[4];
        device->now[node_nfs_write_bytes] = field[5];
        return;
    }
    if (at[0] < 'A' || at[0] > 'Z' || read_numbers(colon + 1, field, FIELDS) < FIELDS)
        return;
    enum column first = strncmp(at, "READ:", 5) == 0 ? node_nfs_read_ops : strncmp(at, "WRITE:", 6) == 0 ? node_nfs_write_ops : node_nfs_other_ops;
    uint64_t *now = device->now + first;
    now[node_nfs_read_ops - node_nfs_read_ops] += field[OPERATIONS_DONE];
    now[node_nfs_read_retransmissions - node_nfs_read_ops] +=
        field[TRANSMISSIONS] > field[OPERATIONS_DONE] ? field[TRANSMISSIONS] - field[OPERATIONS_DONE] : 0;
    now[node_nfs_read_timeouts - node_nfs_read_ops] += field[TIMEOUTS];
    now[node_nfs_read_queue_ns - node_nfs_read_ops] += field[QUEUE_MS] * MS_NS;
    now[node_nfs_read_rtt_ns - node_nfs_read_ops] += field[RTT_MS] * MS_NS;
    now[node_nfs_read_execute_ns - node_nfs_read_ops] += field[EXECUTE_MS] * MS_NS;
}

static void read_nfs(struct reading *reading)
{
    struct device *device = NULL;
    bool is_by_operation = false;
    if (!read_file(reading, "/proc/self/mountstats"))
        return;
    for (const char *line = text; *line != '\0'; line = text_next_line(line)) {
        if (strncmp(line, "device ", 7) == 0) {
            device = begin_nfs_mount(reading, line);
            is_by_operation = false;
        } else if (device != NULL && strncmp(line + strspn(line, " \t"), "per-op statistics", 17) == 0) {
            is_by_operation = true;
        } else if (device != NULL && (is_by_operation || strncmp(line + strspn(line, " \t"), "bytes:", 6) == 0)) {
            read_nfs_line(device, line);
        }
    }
}

static void read_lustre_line(struct device *device, const char *line)
{
    struct stats_line said;
    const char *name = said.name;
    if (!job_stats_line(&said, line))
        return;
    if (strcmp(name, "read_bytes") == 0 || strcmp(name, "write_bytes") == 0) {
        bool is_read = name[0] == 'r';
        device->now[is_read ? node_lustre_read_ops : node_lustre_write_ops] = said.samples;
        device->now[is_read ? node_lustre_read_bytes : node_lustre_write_bytes] = said.sum;
    } else if (strcmp(name, "req_waittime") == 0) {
        device->now[node_lustre_requests] = said.samples;
        device->now[node_lustre_wait_ns] = said.sum * US_NS;
    } else if (device->kind == DEVICE_lustre && strcmp(name, "read") != 0 && strcmp(name, "write") != 0) {
        device->now[node_lustre_other_ops] += said.samples; /* `read` and `write` are the same calls as those with bytes, timed */
    }
}

static void read_lustre(struct reading *reading, const char *dir, enum device_kind kind)
{
    char path[1024];
    snprintf(path, sizeof path, "%s%s", reading->root, dir);
    DIR *clients = opendir(path);
    for (struct dirent *entry; clients != NULL && (entry = readdir(clients)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s/stats", dir, entry->d_name);
        if (entry->d_name[0] == '.' || !read_file(reading, path))
            continue;
        struct device *device = device_of(reading, kind, entry->d_name, strlen(entry->d_name), "", 0);
        if (device == NULL)
            continue;
        device->is_present = true;
        memset(device->now, 0, sizeof device->now);
        for (const char *line = text; *line != '\0'; line = text_next_line(line))
            read_lustre_line(device, line);
    }
    if (clients != NULL)
        closedir(clients);
}

/* The disk's name, as other tables have it; its numbers where the kernel tells no more. */
static void name_of_disk(const struct reading *reading, const char *numbers, char name[64])
{
    char path[1024], link[512];
    snprintf(path, sizeof path, "%s/sys/dev/block/%s", reading->root, numbers);
    long length = raw_readlink(path, link, sizeof link - 1);
    link[length > 0 ? length : 0] = '\0';
    const char *slash = strrchr(link, '/');
    snprintf(name, 64, "%.63s", slash != NULL && slash[1] != '\0' ? slash + 1 : numbers);
}

/* A disk's line is there from the group's first I/O on it: what it counts then came since the reading before. */
static void read_cgroup_disks(struct reading *reading, const struct device *group)
{
    for (const char *line = text; *line != '\0'; line = text_next_line(line)) {
        char numbers[CGROUP_DISK_BYTES], name[64];
        uint64_t now[DEVICE_VALUES_MAX] = { 0 };
        if (!cgroup_take_disk(line, CGROUP_IS_DONE, numbers, now + node_cgroup_disks_read_bytes))
            continue;
        name_of_disk(reading, numbers, name);
        unsigned known = reading->devices_used;
        struct device *disk = device_of(reading, DEVICE_cgroup_disk, name, strlen(name), reading->cgroup.path, strlen(reading->cgroup.path));
        if (disk == NULL)
            continue;
        disk->was_present |= known < reading->devices_used && group->was_present;
        disk->is_present = true;
        memcpy(disk->now, now, sizeof disk->now);
    }
}

static void read_cgroup(struct reading *reading)
{
    struct cgroup *cgroup = &reading->cgroup;
    char path[CGROUP_PATH_BYTES + 32];
    if (cgroup->path[0] == '\0')
        return;
    struct device *group = device_of(reading, DEVICE_cgroup, cgroup->path, strlen(cgroup->path), cgroup->dir, strlen(cgroup->dir));
    if (group == NULL)
        return;
    for (unsigned file = 0; file < CGROUP_FILES; file++) {
        bool was_there = (cgroup->missing & 1u << file) == 0;
        cgroup_path(cgroup, file, path);
        char full[1024];
        snprintf(full, sizeof full, "%s%s", reading->root, path);
        long length = raw_read_file(full, text, sizeof text);
        cgroup->missing = length < 0 ? cgroup->missing | 1u << file : cgroup->missing & ~(1u << file);
        if (length < 0)
            continue;
        /* Counts that nobody could read before begin now. */
        group->is_present = true;
        if (file == CGROUP_IO)
            read_cgroup_disks(reading, group);
        else
            cgroup_take(text, file, group->now);
        if (!was_there)
            memcpy(group->before, group->now, sizeof group->before);
    }
}

/* The time that a group needs at its limit for what it did is that of the kind of count that is nearest to its limit. */
static void add_at_limit(struct device *device, const struct limited_disk *disk)
{
    double most = 0;
    for (unsigned i = 0; i < CGROUP_COUNTS; i++) {
        enum column column = (enum column)(node_limits_read_bytes + i);
        uint64_t before = device->before[column], done = disk->done[i] >= before ? disk->done[i] - before : disk->done[i];
        double seconds = disk->a_second[i] > 0 ? (double)done / (double)disk->a_second[i] : 0;
        most = seconds > most ? seconds : most;
        device->now[column] = disk->done[i];
    }
    device->now[node_limits_at_limit_ns] = device->before[node_limits_at_limit_ns] + (uint64_t)(most * 1e9);
}

static void read_limits(struct reading *reading, unsigned first)
{
    const struct limits *limits = &reading->limits;
    for (unsigned i = first; i < limits->used; i++) {
        struct limited_disk disks[LIMIT_DISKS];
        unsigned count = limits_read(&limits->groups[i], reading->root, disks);
        for (unsigned at = 0; at < count; at++) {
            char disk[64], name[64 + CGROUP_PATH_BYTES];
            name_of_disk(reading, disks[at].numbers, disk);
            int length = snprintf(name, sizeof name, "%s in %s", disk, limits->groups[i].path);
            const char *version = limits->groups[i].is_v1 ? "cgroup v1" : "cgroup v2";
            struct device *device = device_of(reading, DEVICE_limit, name, (size_t)length, version, strlen(version));
            if (device == NULL)
                continue;
            device->is_present = true;
            add_at_limit(device, &disks[at]);
        }
    }
}

/* What groups did before they were met is nobody's. */
void sources_meet(struct reading *reading, const struct belonging *belonging, uint64_t now_ns)
{
    unsigned known = reading->limits.used;
    limits_meet(&reading->limits, belonging, now_ns);
    read_limits(reading, known);
}

/* Only of the running system: a directory that stands for its root, as in tests, has no connections. */
static void read_connections(struct reading *reading)
{
    struct connections *connections = &reading->connections;
    if (reading->root[0] != '\0' || !read_file(reading, "/proc/self/mounts"))
        return;
    connections_read(connections, text);
    reading->devices_left_out += connections->left_out;
    for (unsigned i = 0; i < connections->slots_used; i++) {
        const struct connection_slot *slot = &connections->slots[i];
        struct device **device = &reading->of_slot[i];
        if (*device == NULL)
            *device = device_of(reading, DEVICE_connection, slot->name, strlen(slot->name), slot->source, strlen(slot->source));
        if (*device == NULL)
            continue;
        /* A slot counts from 0 when it is first seen, so that its first sample is whole. */
        (*device)->is_present = (*device)->was_present = true;
        memcpy((*device)->now, slot->now, sizeof slot->now);
    }
}

static void read_moved(struct reading *reading)
{
    struct bpf *bpf = &reading->bpf;
    if (bpf->map == 0 || !read_file(reading, "/proc/self/mountinfo"))
        return;
    bpf_read(bpf, &reading->cgroup, text);
    for (unsigned i = 0; i < bpf->slots_used; i++) {
        const struct moved_slot *slot = &bpf->slots[i];
        enum device_kind kind = slot->is_of_job ? DEVICE_cgroup_mount : DEVICE_others_mount;
        struct device *device = device_of(reading, kind, slot->name, strlen(slot->name), slot->source, strlen(slot->source));
        if (device == NULL)
            continue;
        /* It counts from 0 when the program is loaded. File systems that have no mount here may share a name: these are added up. */
        if (!device->is_present)
            memset(device->now, 0, sizeof device->now);
        device->is_present = device->was_present = true;
        for (unsigned column = node_cgroup_mounts_read_bytes; column < NODE_CGROUP_MOUNT_COLUMNS; column++)
            device->now[column] += slot->now[column];
    }
}

static void read_waiting(struct reading *reading)
{
    const struct waiting *waiting = &reading->waiting;
    for (unsigned i = 0; i < waiting->places_used; i++) {
        const char *name = waiting->places[i].name;
        struct device *device = device_of(reading, DEVICE_waiting, name, strlen(name), "", 0);
        if (device == NULL)
            continue;
        device->is_present = device->was_present = true; /* a place counts from 0 when it is first seen */
        device->now[node_waits_waiting_ns] = waiting->places[i].ns;
    }
}

void sources_read(struct reading *reading)
{
    memcpy(reading->before, reading->now, sizeof reading->before);
    reading->devices_left_out = 0;
    for (unsigned i = 0; i < reading->devices_used; i++) {
        struct device *device = &reading->devices[i];
        memcpy(device->before, device->now, sizeof device->before);
        device->was_present = device->is_present;
        device->is_present = false;
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (read_file(reading, files[i].path))
            procfs_take_lines(text, files[i].lines, files[i].behind, reading->now);
    read_tcp(reading);
    read_networks(reading);
    read_blocks(reading);
    read_nfs(reading);
    static const char *const lustre[] = { "/proc/fs/lustre", "/sys/kernel/debug/lustre" };
    for (size_t i = 0; i < sizeof lustre / sizeof *lustre; i++) {
        char dir[64];
        snprintf(dir, sizeof dir, "%s/llite", lustre[i]);
        read_lustre(reading, dir, DEVICE_lustre);
        snprintf(dir, sizeof dir, "%s/osc", lustre[i]);
        read_lustre(reading, dir, DEVICE_lustre_target);
    }
    read_cgroup(reading);
    read_limits(reading, 0);
    read_moved(reading);
    read_connections(reading);
    read_waiting(reading);
}

void sources_take_back(struct reading *reading)
{
    memcpy(reading->now, reading->before, sizeof reading->now);
    for (unsigned i = 0; i < reading->devices_used; i++) {
        struct device *device = &reading->devices[i];
        memcpy(device->now, device->before, sizeof device->now);
        device->is_present = device->was_present;
    }
}

enum table sources_table(enum device_kind kind)
{
    static const enum table tables[] = {
        [DEVICE_network] = TABLE_node_networks,
        [DEVICE_block] = TABLE_node_blocks,
        [DEVICE_nfs] = TABLE_node_nfs,
        [DEVICE_lustre] = TABLE_node_lustre,
        [DEVICE_lustre_target] = TABLE_node_lustre,
        [DEVICE_connection] = TABLE_node_connections,
        [DEVICE_cgroup] = TABLE_node_cgroups,
        [DEVICE_cgroup_disk] = TABLE_node_cgroup_disks,
        [DEVICE_cgroup_mount] = TABLE_node_cgroup_mounts,
        [DEVICE_others_mount] = TABLE_node_cgroup_mounts,
        [DEVICE_waiting] = TABLE_node_waits,
        [DEVICE_limit] = TABLE_node_limits,
    };
    return tables[kind];
}
