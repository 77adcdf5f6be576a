#include "bpf.h"

#include "bpf/key.h"
#include "mount.h"
#include "raw.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PROCESSORS_MAX = 4096, KEYS_MOST = 2 * 4096, GROUPS_MOST = 1 << 14, FIRST_COUNT = node_cgroup_mounts_read_bytes };

static const unsigned char program[] = {
#include "moved_bpf.inc"
};

#if __has_include(<bpf/libbpf.h>)
#include <bpf/libbpf.h>

#define FUNCTIONS(DO) \
    DO(libbpf_set_print) \
    DO(bpf_object__open_mem) \
    DO(bpf_object__load) \
    DO(bpf_object__next_program) \
    DO(bpf_program__attach) \
    DO(bpf_object__next_map) \
    DO(bpf_map__name) \
    DO(bpf_map__fd) \
    DO(bpf_map__set_initial_value)
#define DECLARE(name) __typeof__(&(name)) name; /* NOLINT(bugprone-macro-parentheses) */
#define FIND(name) libbpf.name = (__typeof__(&(name)))dlsym(library, #name);
#define IS_THERE(name) &&libbpf.name != NULL

static struct {
    FUNCTIONS(DECLARE)
} libbpf;

static bool open_library(void)
{
    void *library = dlopen("libbpf.so.1", RTLD_NOW);
    if (library == NULL)
        return false;
    FUNCTIONS(FIND)
    return true FUNCTIONS(IS_THERE);
}

static int say_nothing(enum libbpf_print_level level, const char *format, va_list arguments)
{
    (void)level, (void)format, (void)arguments;
    return 0;
}

static struct bpf_map *map_named(struct bpf_object *object, const char *end)
{
    struct bpf_map *map = NULL;
    while ((map = libbpf.bpf_object__next_map(object, map)) != NULL) {
        const char *name = libbpf.bpf_map__name(map);
        size_t length = strlen(name), end_length = strlen(end);
        if (length >= end_length && strcmp(name + length - end_length, end) == 0)
            return map;
    }
    return NULL;
}

/* Returns the sums' descriptor, which like the program's is kept for good, or -errno. */
static int load(struct moved_choice choice, const char **why)
{
    libbpf.libbpf_set_print(say_nothing);
    struct bpf_object *object = libbpf.bpf_object__open_mem(program, sizeof program, NULL);
    struct bpf_map *chosen = object != NULL ? map_named(object, ".rodata") : NULL, *sums = object != NULL ? map_named(object, "moved") : NULL;
    struct bpf_program *only = object != NULL ? libbpf.bpf_object__next_program(object, NULL) : NULL;
    *why = "libbpf does not take the program";
    if (chosen == NULL || sums == NULL || only == NULL || libbpf.bpf_map__set_initial_value(chosen, &choice, sizeof choice) != 0)
        return -EINVAL;
    *why = "the kernel does not load the program: it needs Linux 5.11 with BTF, and root's CAP_BPF and CAP_PERFMON";
    int loaded = libbpf.bpf_object__load(object);
    if (loaded != 0)
        return loaded < 0 ? loaded : -EINVAL;
    *why = "the kernel does not run the program";
    return libbpf.bpf_program__attach(only) != NULL ? libbpf.bpf_map__fd(sums) : -EPERM;
}
#else
static bool open_library(void)
{
    return false;
}

static int load(struct moved_choice choice, const char **why)
{
    (void)choice;
    *why = "";
    return -ENOSYS;
}
#endif

static long call(int command, int map, const void *key, void *value)
{
    union bpf_attr about = { .map_fd = (uint32_t)map, .key = (uint64_t)(uintptr_t)key, .value = (uint64_t)(uintptr_t)value };
    long done = syscall(SYS_bpf, command, &about, sizeof about);
    return done < 0 ? -errno : done;
}

/* Those that the machine can ever have: "0-127". */
static unsigned possible_processors(void)
{
    char text[256];
    if (raw_read_file("/sys/devices/system/cpu/possible", text, sizeof text) <= 0)
        return 0;
    const char *last = text + strcspn(text, "\n");
    while (last > text && last[-1] >= '0' && last[-1] <= '9')
        last--;
    return (unsigned)strtoul(last, NULL, 10) + 1;
}

static uint64_t number_of_group(const struct cgroup *job)
{
    char path[CGROUP_PATH_BYTES + 32];
    struct stat seen;
    snprintf(path, sizeof path, "%s%s", job->dir, job->path);
    return job->path[0] != '\0' && stat(path, &seen) == 0 ? seen.st_ino : 0;
}

int bpf_begin(const struct cgroup *job, bool is_named, const char **why)
{
    *why = "this build has no program for it: build Slicewise where clang and libbpf's headers are (apt-get install clang libbpf-dev)";
    if (sizeof program == 1)
        return -ENOSYS;
    *why = "libbpf.so.1 is missing (apt-get install libbpf1)";
    if (!open_library())
        return -ENOENT;
    int map = load((struct moved_choice){ .job_group = number_of_group(job), .is_named = is_named }, why);
    if (map < 0)
        return map;
    /* What has no room is added up here; made now, while there is room for it. */
    static struct moved none[PROCESSORS_MAX];
    const struct moved_key rest = { .by = MOVED_LEFT_OUT };
    long made = call(BPF_MAP_UPDATE_ELEM, map, &rest, none);
    return made < 0 ? (int)made : map;
}

void bpf_mount_of(const char *mountinfo, uint32_t device, char *name, size_t room)
{
    enum { MINOR_BITS = 20 };
    unsigned major = device >> MINOR_BITS, minor = device & ((1u << MINOR_BITS) - 1);
    snprintf(name, room, "%u:%u", major, minor);
    bool is_root = false;
    for (const char *line = mountinfo, *end; *line != '\0' && !is_root; line = *end == '\n' ? end + 1 : end) {
        unsigned has_major, has_minor;
        int root = 0, point = 0;
        end = line + strcspn(line, "\n");
        int found = sscanf(line, "%*u %*u %u:%u %n%*s %n", &has_major, &has_minor, &root, &point);
        if (found < 2 || point <= root || line + point >= end || has_major != major || has_minor != minor)
            continue;
        is_root = strncmp(line + root, "/ ", 2) == 0;
        if (is_root || name[0] != '/') {
            char *field = name;
            snprintf(name, room, "%.*s", (int)strcspn(line + point, " \n"), line + point);
            mount_next_field(&field);
        }
    }
}

/* Looks below `at`, which has room for longer paths and ends at `end`. */
static bool find_group(char *at, size_t end, size_t room, uint64_t group, unsigned *looked)
{
    DIR *dir = opendir(at);
    bool is_found = false;
    for (struct dirent *entry; dir != NULL && !is_found && (entry = readdir(dir)) != NULL;) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.' || ++*looked > GROUPS_MOST || end + strlen(entry->d_name) + 2 > room)
            continue;
        snprintf(at + end, room - end, "/%s", entry->d_name);
        is_found = entry->d_ino == group || find_group(at, end + strlen(entry->d_name) + 1, room, group, looked);
        if (!is_found)
            at[end] = '\0';
    }
    if (dir != NULL)
        closedir(dir);
    return is_found;
}

void bpf_group_path(const struct cgroup *job, uint64_t group, char *path, size_t room)
{
    char at[MOVED_NAME_BYTES + 32];
    unsigned looked = 0;
    struct stat top;
    path[0] = '\0';
    size_t begin = (size_t)snprintf(at, sizeof at, "%s", job->dir);
    if (begin == 0)
        return;
    if (stat(at, &top) == 0 && top.st_ino == group)
        snprintf(path, room, "/");
    else if (find_group(at, begin, sizeof at, group, &looked))
        snprintf(path, room, "%s", at + begin);
}

static struct moved_slot *slot_of(struct bpf *bpf, const struct cgroup *job, const struct moved_key *key, const char *mountinfo)
{
    bool is_of_job = key->by == MOVED_BY_JOB, is_rest = key->by == MOVED_LEFT_OUT || bpf->slots_used == MOVED_SLOTS;
    for (unsigned i = 0; i < bpf->slots_used; i++) {
        struct moved_slot *slot = &bpf->slots[i];
        if (slot->name[0] != '\0' && slot->is_of_job == is_of_job && slot->group == key->group && slot->device == key->device)
            return slot;
    }
    if (is_rest)
        return &bpf->slots[0];
    struct moved_slot *slot = &bpf->slots[bpf->slots_used++];
    slot->is_of_job = is_of_job;
    slot->group = key->group;
    slot->device = key->device;
    bpf_mount_of(mountinfo, key->device, slot->name, sizeof slot->name);
    if (is_of_job)
        snprintf(slot->source, sizeof slot->source, "%.*s", (int)sizeof slot->source - 1, job->path);
    else if (key->group != 0)
        bpf_group_path(job, key->group, slot->source, sizeof slot->source);
    return slot;
}

void bpf_read(struct bpf *bpf, const struct cgroup *job, const char *mountinfo)
{
    static struct moved sums[PROCESSORS_MAX];
    struct moved_key key, next;
    bpf->processors = bpf->processors != 0 ? bpf->processors : possible_processors();
    if (bpf->processors == 0 || bpf->processors > PROCESSORS_MAX) {
        bpf->error = -E2BIG;
        return;
    }
    bpf->slots_used = bpf->slots_used != 0 ? bpf->slots_used : 1; /* the first is of what has no room */
    for (unsigned i = 0; i < bpf->slots_used; i++)
        memset(bpf->slots[i].now, 0, sizeof bpf->slots[i].now);
    const void *before = NULL;
    for (unsigned keys = 0; keys < KEYS_MOST; keys++, before = &key) {
        long found = call(BPF_MAP_GET_NEXT_KEY, bpf->map, before, &next);
        bpf->error = found < 0 && found != -ENOENT ? (int)found : 0;
        if (found < 0)
            return;
        key = next;
        if (call(BPF_MAP_LOOKUP_ELEM, bpf->map, &key, sums) < 0)
            continue;
        bool is_text = false;
        for (unsigned i = 0; i < bpf->processors; i++)
            is_text |= sums[i].is_text != 0;
        if (is_text)
            continue;
        uint64_t *now = slot_of(bpf, job, &key, mountinfo)->now + FIRST_COUNT;
        for (unsigned i = 0; i < bpf->processors; i++) {
            now[0] += sums[i].read_bytes;
            now[1] += sums[i].write_bytes;
            now[2] += sums[i].read_ops;
            now[3] += sums[i].write_ops;
        }
    }
}
