#include "others.h"

#include "adopt.h"
#include "raw.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

/* The part that says whose it is. */
enum { HEAD_BYTES = offsetof(struct segment, problems) };

static bool is_alive(const struct segment *head)
{
    uint32_t state = atomic_load(&head->state);
    return state == SEGMENT_BEGINNING || state == SEGMENT_LIVE;
}

static void note(struct profiled_by_users *profiled, int dir, const char *name, uid_t owner)
{
    static struct segment copy; /* of which no more is touched */
    const struct segment *head = &copy;
    struct stat status;
    int fd = raw_open_at(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return;
    bool is_segment = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == owner &&
                      raw_read_at(fd, &copy, HEAD_BYTES, 0) == HEAD_BYTES && memcmp(head->magic, SEGMENT_MAGIC, sizeof head->magic) == 0;
    raw_close(fd);
    /* One of another build lies there while a node is upgraded: its begin is the same, as far as this goes, and if not, it names nobody. */
    bool is_of_this_build = is_segment && adopt_is_of_this_build(head);
    if (!is_segment || (is_of_this_build && !is_alive(head)))
        return;
    if (profiled->used == PROFILED_MAX) {
        profiled->is_cut = true;
        return;
    }
    profiled->of[profiled->used++] = (struct profiled_by_user){
        .user = owner,
        .pid = head->pid,
        .pid_namespace = head->pid_namespace,
        .created_ns = is_of_this_build ? head->created_ns : 0,
    };
}

static void find_in(struct profiled_by_users *profiled, int all, const char *name)
{
    struct stat status;
    int fd = raw_open_at(all, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    DIR *dir = fd >= 0 && fstat(fd, &status) == 0 && (status.st_mode & 0022) == 0 ? fdopendir(fd) : NULL;
    if (dir == NULL) {
        if (fd >= 0)
            raw_close(fd);
        return;
    }
    for (struct dirent *entry; (entry = readdir(dir)) != NULL && !profiled->is_cut;)
        if (entry->d_name[0] != '.')
            note(profiled, fd, entry->d_name, status.st_uid);
    closedir(dir);
}

void profiled_by_users_find(struct profiled_by_users *profiled, const char *const *dirs)
{
    profiled->used = 0;
    profiled->is_cut = false;
    for (; *dirs != NULL; dirs++) {
        DIR *all = opendir(*dirs);
        for (struct dirent *entry; all != NULL && (entry = readdir(all)) != NULL;)
            if (segment_is_user_dir(entry->d_name))
                find_in(profiled, dirfd(all), entry->d_name);
        if (all != NULL)
            closedir(all);
    }
    qsort(profiled->of, profiled->used, sizeof *profiled->of, procfs_by_pid);
}
