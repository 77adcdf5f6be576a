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

static const char *const files[] = {
    [CGROUP_IO] = "io.stat", [CGROUP_MEMORY] = "memory.stat", [CGROUP_PRESSURE] = "io.pressure", [CGROUP_MEMORY_PRESSURE] = "memory.pressure"
};

struct named {
    const char *name;
    enum column column;
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
    return files[file];
}

void cgroup_path(const struct cgroup *cgroup, enum cgroup_file file, char path[CGROUP_PATH_BYTES + 32])
{
    snprintf(path, CGROUP_PATH_BYTES + 32, "%s%s/%s", cgroup->dir, cgroup->path, files[file]);
}

/* The text behind a name at `at`; NULL: another word is there. */
static const char *after_name(const char *at, const char *name, char separator)
{
    size_t length = strlen(name);
    return strncmp(at, name, length) == 0 && at[length] == separator ? at + length + 1 : NULL;
}

static void take_memory(const char *text, uint64_t *now)
{
    static const struct named lines[] = {
        { "file", node_cgroups_file_bytes },
        { "file_dirty", node_cgroups_dirty_bytes },
        { "file_writeback", node_cgroups_writeback_bytes },
        { "workingset_refault_file", node_cgroups_file_refaults },
        { "workingset_refault_anon", node_cgroups_anonymous_refaults },
        { "workingset_refault", node_cgroups_file_refaults }, /* before Linux 5.9 of all pages, of which nearly all were files' */
        { "pgmajfault", node_cgroups_major_faults },
    };
    for (const char *line = text; *line != '\0'; line = text_next_line(line))
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
            const char *value = after_name(line, lines[i].name, ' ');
            if (value != NULL)
                now[lines[i].column] = strtoull(value, NULL, 10);
        }
}

/* `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234`, in us. full: the column of some where nobody asks for it. */
static void take_pressure(const char *text, uint64_t *now, enum column some, enum column full)
{
    for (const char *line = text; *line != '\0'; line = text_next_line(line)) {
        const char *total = strstr(line, " total=");
        if (total == NULL || total > text_next_line(line))
            continue;
        uint64_t ns = strtoull(total + strlen(" total="), NULL, 10) * US_NS;
        if (after_name(line, "some", ' ') != NULL)
            now[some] = ns;
        else if (after_name(line, "full", ' ') != NULL && full != some)
            now[full] = ns;
    }
}

void cgroup_take(const char *text, enum cgroup_file file, uint64_t *now)
{
    if (file == CGROUP_MEMORY)
        take_memory(text, now);
    else if (file == CGROUP_PRESSURE)
        take_pressure(text, now, node_cgroups_io_stall_ns, node_cgroups_io_full_stall_ns);
    else if (file == CGROUP_MEMORY_PRESSURE)
        take_pressure(text, now, node_cgroups_memory_stall_ns, node_cgroups_memory_stall_ns);
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
