#include "cgroup.h"

#include "procfs.h"
#include "raw.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define US_NS 1000ull

/* A machine has the one or the other: cgroup v2 alone, or beside the older hierarchies. */
static const char *const hierarchies[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

static const struct {
    const char *name, *behind;
    struct named_line lines[8];
} files[] = {
    [CGROUP_IO] = { "io.stat" },
    [CGROUP_MEMORY] = { "memory.stat",
                        "",
                        { { "file ", node_cgroups_file_bytes, 1 },
                          { "file_dirty ", node_cgroups_dirty_bytes, 1 },
                          { "file_writeback ", node_cgroups_writeback_bytes, 1 },
                          { "workingset_refault_file ", node_cgroups_file_refaults, 1 },
                          { "workingset_refault_anon ", node_cgroups_anonymous_refaults, 1 },
                          { "workingset_refault ", node_cgroups_file_refaults, 1 }, /* before Linux 5.9, as in sources.c */
                          { "pgmajfault ", node_cgroups_major_faults, 1 } } },
    [CGROUP_PRESSURE] = { "io.pressure",
                          " total=",
                          { { "some", node_cgroups_io_stall_ns, US_NS }, { "full", node_cgroups_io_full_stall_ns, US_NS } } },
    [CGROUP_MEMORY_PRESSURE] = { "memory.pressure", " total=", { { "some", node_cgroups_memory_stall_ns, US_NS } } },
};

const char *cgroup_v2_dir(const char *root)
{
    char path[1024];
    for (size_t i = 0; i < sizeof hierarchies / sizeof *hierarchies; i++) {
        snprintf(path, sizeof path, "%s%s/cgroup.controllers", root, hierarchies[i]);
        if (access(path, F_OK) == 0)
            return hierarchies[i];
    }
    return NULL;
}

void cgroup_find(struct cgroup *cgroup, const char *root, const char *wanted, const char *scheduler_job)
{
    *cgroup = (struct cgroup){ 0 };
    const char *dir = cgroup_v2_dir(root);
    if (dir == NULL)
        return;
    snprintf(cgroup->dir, sizeof cgroup->dir, "%s", dir);
    if (strcmp(wanted, "own") == 0)
        procfs_cgroup_of_job(root, NULL, true, cgroup->path, sizeof cgroup->path);
    else if (wanted[0] == '/' && strlen(wanted) < sizeof cgroup->path)
        snprintf(cgroup->path, sizeof cgroup->path, "%s", wanted);
    else if (wanted[0] == '\0' && scheduler_job != NULL)
        procfs_cgroup_of_job(root, scheduler_job, true, cgroup->path, sizeof cgroup->path);
}

const char *cgroup_file_name(enum cgroup_file file)
{
    return files[file].name;
}

void cgroup_path(const struct cgroup *cgroup, enum cgroup_file file, char path[CGROUP_PATH_BYTES + 32])
{
    snprintf(path, CGROUP_PATH_BYTES + 32, "%s%s/%s", cgroup->dir, cgroup->path, files[file].name);
}

/* The text behind a name at `at`; NULL: another word is there. */
static const char *after_name(const char *at, const char *name, char separator)
{
    size_t length = strlen(name);
    return strncmp(at, name, length) == 0 && at[length] == separator ? at + length + 1 : NULL;
}

void cgroup_take(const char *text, enum cgroup_file file, uint64_t *now)
{
    procfs_take_lines(text, files[file].lines, files[file].behind, now);
}

/* `8:16 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0`, `8:16 rbps=1048576 wbps=max riops=max wiops=max`; some kernels name a disk
 * without counts, or two on a line. */
bool cgroup_take_disk(const char *line, enum cgroup_counts counts, char numbers[CGROUP_DISK_BYTES], uint64_t values[CGROUP_COUNTS])
{
    static const char *const names[][CGROUP_COUNTS] = {
        [CGROUP_IS_DONE] = { "rbytes", "wbytes", "rios", "wios" },
        [CGROUP_IS_LIMIT] = { "rbps", "wbps", "riops", "wiops" },
    };
    bool is_any = false;
    numbers[0] = '\0';
    for (const char *word = line; *word != '\0' && *word != '\n';) {
        size_t length = strcspn(word, " \n");
        if (length > 0 && length < CGROUP_DISK_BYTES && strspn(word, "0123456789:") == length && memchr(word, ':', length) != NULL)
            snprintf(numbers, CGROUP_DISK_BYTES, "%.*s", (int)length, word);
        for (size_t i = 0; i < CGROUP_COUNTS; i++) {
            const char *value = after_name(word, names[counts][i], '=');
            if (value == NULL)
                continue;
            values[i] = strtoull(value, NULL, 10);
            is_any = true;
        }
        word += length + (word[length] == ' ');
    }
    return is_any && numbers[0] != '\0';
}
