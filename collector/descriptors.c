#include "descriptors.h"

#include "mount.h"
#include "raw.h"
#include "volume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOUNTS_BYTES = 256 << 10,
    DESCRIPTORS_MAX = 1024,
    ROUNDS_REMEMBERED = 16, /* for so many looks a mount keeps its number */
    MOST_BY_OTHERS = 4,     /* descriptors that moved by less than this part of what was counted do not explain it */
    LOOKS_WAITED = 4,
    TRACKS_NONE = DESCRIPTORS_TRACKED,
};

/* What /proc/PID/fdinfo says of a descriptor. */
struct info {
    uint64_t position, mount, inode;
    int flags;
};

static uint64_t number_behind(const char *text, const char *name, int base)
{
    const char *at = strstr(text, name);
    return at != NULL ? strtoull(at + strlen(name), NULL, base) : 0;
}

static bool read_info(const char *root, uint32_t pid, uint32_t number, struct info *info)
{
    char name[64], text[256];
    snprintf(name, sizeof name, "fdinfo/%u", number);
    if (procfs_text(root, pid, name, text, sizeof text) <= 0)
        return false;
    *info = (struct info){
        .position = number_behind(text, "pos:", 10),
        .flags = (int)number_behind(text, "flags:", 8),
        .mount = number_behind(text, "mnt_id:", 10),
        .inode = number_behind(text, "ino:", 10), /* from Linux 5.14 on */
    };
    return info->mount != 0;
}

/* The mount with the kernel's number of it, as the process has it; its texts last until the next call. */
static bool find_mount(const char *root, uint32_t pid, uint64_t id, struct system_mount *mount)
{
    static char text[MOUNTS_BYTES];
    char path[512];
    snprintf(path, sizeof path, "%s/proc/%u/mountinfo", root, pid);
    if (raw_read_file(path, text, sizeof text) <= 0)
        return false;
    for (char *line = text, *end; *line != '\0'; line = end) {
        end = strchrnul(line, '\n');
        end += *end == '\n';
        if (strtoull(line, NULL, 10) != id)
            continue;
        line[strcspn(line, "\n")] = '\0';
        return mount_of_line(line, mount) && !mount_is_pseudo(mount->type) && !mount_is_in_memory(mount->type) &&
               strcmp(mount->type, "devtmpfs") != 0;
    }
    return false;
}

void descriptors_mount_of(const char *root, uint32_t pid, uint32_t descriptor, char *point, size_t room)
{
    struct info info;
    struct system_mount mount;
    bool is_found = read_info(root, pid, descriptor, &info) && find_mount(root, pid, info.mount, &mount);
    snprintf(point, room, "%s", is_found ? mount.point : "");
}

void descriptors_latest_mount(const char *root, uint32_t pid, char *point, size_t room)
{
    static uint32_t numbers[DESCRIPTORS_MAX];
    point[0] = '\0';
    for (long i = procfs_descriptors(root, pid, 0, numbers, DESCRIPTORS_MAX) - 1; i >= 0 && point[0] == '\0'; i--)
        descriptors_mount_of(root, pid, numbers[i], point, room);
}

/* The place of a mount's file system, or FILE_SYSTEMS_MAX where there is no room for it. */
static unsigned enter(struct file_systems *systems, const struct system_mount *mount)
{
    char disk[DISK_NAME_BYTES], sys[256];
    snprintf(sys, sizeof sys, "%s/sys", systems->root);
    const char *address = volume_is(mount->source) ? volume_disk(sys, mount->source, mount->device, disk) : mount->address;
    const char *texts[FILE_SYSTEM_TEXTS] = { mount->point, mount->type, mount->source, address };
    for (unsigned at = 0; at < systems->used; at++) {
        unsigned same = 0;
        while (same < FILE_SYSTEM_TEXTS && strncmp(systems->of[at].text[same], texts[same], FILE_SYSTEM_TEXT_BYTES - 1) == 0)
            same++;
        if (same == FILE_SYSTEM_TEXTS)
            return at;
    }
    if (systems->used == FILE_SYSTEMS_MAX)
        return FILE_SYSTEMS_MAX;
    for (unsigned i = 0; i < FILE_SYSTEM_TEXTS; i++)
        snprintf(systems->of[systems->used].text[i], FILE_SYSTEM_TEXT_BYTES, "%s", texts[i]);
    return systems->used++;
}

static unsigned file_system_of(struct file_systems *systems, uint32_t pid, uint64_t id)
{
    struct system_mount mount;
    for (unsigned i = 0; i < systems->ids_used; i++)
        if (systems->ids[i].id == id)
            return systems->ids[i].at;
    unsigned at = find_mount(systems->root, pid, id, &mount) ? enter(systems, &mount) : FILE_SYSTEMS_MAX;
    if (systems->ids_used < MOUNT_IDS_MAX) {
        systems->ids[systems->ids_used].id = id;
        systems->ids[systems->ids_used++].at = at;
    }
    return at;
}

void file_systems_end_round(struct file_systems *systems)
{
    if (++systems->looks % ROUNDS_REMEMBERED == 0)
        systems->ids_used = 0;
}

/* A tracked descriptor, by what is said of it now. Returns false where it leads to no storage any more. */
static bool take(struct file_systems *systems, uint32_t pid, const struct info *info, struct tracked *one, bool was_tracked)
{
    int mode = info->flags & O_ACCMODE;
    bool is_same = was_tracked && info->inode == one->inode, is_mover = is_same && one->is_mover;
    *one = (struct tracked){
        .number = one->number,
        .file_system = file_system_of(systems, pid, info->mount),
        .can = { mode != O_WRONLY, mode != O_RDONLY },
        .is_append = (info->flags & O_APPEND) != 0,
        .is_new = !is_same,
        .inode = info->inode,
        .position = info->position,
        /* Where a file was when it was opened is not known of those that are appended to. Who goes back begins to move there again. */
        .moved = is_same && info->position >= one->position  ? info->position - one->position
                 : !is_same && (info->flags & O_APPEND) != 0 ? 0
                                                             : info->position,
    };
    one->is_mover = is_mover || one->moved >= LEAST_MOVED_BYTES;
    return one->file_system != FILE_SYSTEMS_MAX && (info->flags & O_PATH) == 0;
}

static unsigned look_again(struct file_systems *systems, struct descriptors *own, uint32_t pid)
{
    unsigned looked = own->used, kept = 0;
    own->closed = (struct tracked){ 0 };
    for (unsigned i = 0; i < looked; i++) {
        struct info info;
        struct tracked one = own->of[i];
        if (read_info(systems->root, pid, one.number, &info) && take(systems, pid, &info, &one, true))
            own->of[kept++] = one;
        else if (own->of[i].is_mover)
            own->closed = own->of[i];
    }
    own->used = kept;
    return looked;
}

/* The place of a descriptor; where it has none and all are taken, that of one that stands still, or TRACKS_NONE. */
static unsigned place_for(const struct descriptors *own, uint32_t number, bool *is_tracked)
{
    unsigned still = TRACKS_NONE;
    *is_tracked = false;
    for (unsigned i = 0; i < own->used; i++) {
        if (own->of[i].number == number) {
            *is_tracked = true;
            return i;
        }
        still = own->of[i].moved == 0 ? i : still;
    }
    return own->used < DESCRIPTORS_TRACKED ? own->used : still;
}

/* Some of the descriptors that are not tracked, in turn, so that a process with thousands costs no more than another one. */
static unsigned look_for_others(struct file_systems *systems, struct descriptors *own, uint32_t pid)
{
    uint32_t numbers[DESCRIPTORS_LISTED];
    unsigned looked = 0;
    long listed = procfs_descriptors(systems->root, pid, own->next, numbers, DESCRIPTORS_LISTED);
    for (long i = 0; i < listed; i++) {
        struct info info;
        struct tracked one = { .number = numbers[i] };
        bool is_tracked;
        unsigned at = place_for(own, numbers[i], &is_tracked);
        if (is_tracked || at == TRACKS_NONE)
            continue;
        looked++;
        if (!read_info(systems->root, pid, numbers[i], &info) || !take(systems, pid, &info, &one, false))
            continue;
        own->of[at] = one;
        own->used += at == own->used;
    }
    own->next = listed == DESCRIPTORS_LISTED ? numbers[listed - 1] + 1 : 0;
    return looked;
}

static void add(struct descriptors *own, unsigned file_system, int direction, uint64_t bytes)
{
    unsigned at = 0;
    while (at < own->file_systems_used && own->file_systems[at].at != file_system)
        at++;
    if (at == FILE_SYSTEMS_OF_ONE || bytes == 0)
        return;
    if (at == own->file_systems_used) {
        own->file_systems_used++;
        own->file_systems[at].at = file_system;
        for (int i = 0; i < DIRECTIONS; i++)
            own->file_systems[at].bytes[i] = own->file_systems[at].in_row[i] = 0;
    }
    own->file_systems[at].bytes[direction] += bytes;
}

/* Shares out what was read from, or written to, storage. `most`: what calls moved, or more; no descriptor moved further. Returns false where the
 * next look will tell: a descriptor that moves had moved already when the counts were read, or is within a long call. */
static bool share_out(struct descriptors *own, int direction, uint64_t stored, uint64_t most)
{
    const struct tracked *still = NULL, *latest = NULL;
    uint64_t far = 0, any = 0;
    bool is_any_new = false, is_any_mover = false;
    for (unsigned i = 0; i < own->used; i++) {
        const struct tracked *one = &own->of[i];
        uint64_t moved = one->moved < most ? one->moved : most;
        if (!one->can[direction])
            continue;
        latest = latest == NULL || one->number > latest->number ? one : latest;
        any += moved;
        far += moved >= LEAST_MOVED_BYTES ? moved : 0;
        is_any_new |= moved >= LEAST_MOVED_BYTES && one->is_new;
        is_any_mover |= one->is_mover;
        if (moved == 0 && !one->is_append && !one->is_mover && (still == NULL || one->number > still->number))
            still = one;
    }
    const struct tracked *closed = own->closed.can[direction] ? &own->closed : NULL;
    if (far == 0 && closed == NULL && is_any_mover && ++own->waits[direction] < LOOKS_WAITED)
        return false;
    own->waits[direction] = 0;
    /* One that is new stands for those that were opened, moved and closed meanwhile. */
    bool is_explained = far > 0 && (is_any_new || far >= stored / MOST_BY_OTHERS);
    const struct tracked *by_others = is_explained ? NULL : closed != NULL ? closed : still != NULL ? still : any == 0 ? latest : NULL;
    uint64_t shared = by_others != NULL ? far : stored, least = far > 0 ? LEAST_MOVED_BYTES : 1, of = far > 0 ? far : any;
    if (by_others != NULL)
        add(own, by_others->file_system, direction, stored - far);
    for (unsigned i = 0; i < own->used; i++) {
        const struct tracked *one = &own->of[i];
        uint64_t moved = one->moved < most ? one->moved : most;
        if (one->can[direction] && of > 0 && moved >= least)
            add(own, one->file_system, direction, (uint64_t)((unsigned __int128)shared * moved / of));
    }
    return true;
}

void descriptors_begin(struct descriptors *own, const uint64_t counts[KERNEL_COUNTS], bool is_from_start)
{
    memcpy(own->counts, counts, sizeof own->counts);
    own->is_begun = is_from_start;
    memset(own->waits, 0, sizeof own->waits);
    own->used = own->file_systems_used = 0;
    own->next = 0;
}

unsigned descriptors_look(struct file_systems *systems, struct descriptors *own, uint32_t pid, const uint64_t counts[KERNEL_COUNTS])
{
    uint64_t since[KERNEL_COUNTS];
    for (int i = 0; i < KERNEL_COUNTS; i++)
        since[i] = counts[i] > own->counts[i] ? counts[i] - own->counts[i] : 0;
    if (since[COUNT_STORED_READ] + since[COUNT_STORED_WRITE] < LEAST_STORED_BYTES)
        return 0;
    unsigned looked = look_again(systems, own, pid);
    looked += look_for_others(systems, own, pid);
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        int of_storage = COUNT_STORED_READ + direction, of_calls = COUNT_READ_BYTES + direction;
        uint64_t stored = since[of_storage], called = since[of_calls];
        if (own->is_begun && !share_out(own, direction, stored, called > stored ? called : stored))
            continue;
        own->counts[of_storage] = counts[of_storage];
        own->counts[of_calls] = counts[of_calls];
    }
    own->is_begun = true;
    return looked;
}

unsigned file_systems_rows(struct file_systems *systems, struct segment_home *home, uint64_t *rows)
{
    for (unsigned at = systems->written; at < systems->used; at++) {
        uint64_t *row = systems->of[at].row;
        if (!systems->of[at].has_row) {
            row[node_mounts_mount] = at;
            for (unsigned i = 0; i < FILE_SYSTEM_TEXTS; i++)
                row[node_mounts_point + i] = segment_add_text(home, systems->of[at].text[i]);
            systems->of[at].has_row = true;
        }
        memcpy(rows + (size_t)(at - systems->written) * NODE_MOUNT_COLUMNS, row, sizeof systems->of[at].row);
    }
    return systems->used - systems->written;
}

unsigned descriptors_rows(struct descriptors *own, uint64_t number, uint64_t *rows, unsigned most)
{
    unsigned used = 0;
    for (unsigned i = 0; i < own->file_systems_used; i++) {
        uint64_t *bytes = own->file_systems[i].bytes, *in_row = own->file_systems[i].in_row;
        bool has_row = bytes[0] + bytes[1] > 0 && used < most;
        for (int direction = 0; direction < DIRECTIONS; direction++)
            in_row[direction] = has_row ? bytes[direction] : 0;
        if (!has_row)
            continue;
        uint64_t *row = rows + (size_t)NODE_PROCESS_MOUNT_COLUMNS * used++;
        row[node_process_mounts_number] = number;
        row[node_process_mounts_mount] = own->file_systems[i].at;
        memcpy(row + node_process_mounts_read_bytes, bytes, sizeof own->file_systems[i].bytes);
    }
    return used;
}

void file_systems_are_kept(struct file_systems *systems)
{
    systems->written = systems->used;
}

void descriptors_are_kept(struct descriptors *own)
{
    for (unsigned i = 0; i < own->file_systems_used; i++)
        for (int direction = 0; direction < DIRECTIONS; direction++)
            own->file_systems[i].bytes[direction] -= own->file_systems[i].in_row[direction];
}
