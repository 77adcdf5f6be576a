#include "earlier.h"

#include "adopt.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The part that says whose it is; a whole segment is large. */
enum { HEAD_BYTES = offsetof(struct segment, process) };

bool earlier_made(const char *path)
{
    static _Alignas(struct segment) char bytes[HEAD_BYTES];
    const struct segment *head = (const struct segment *)bytes;
    struct stat status;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool is_segment = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
                      pread(fd, bytes, HEAD_BYTES, 0) == HEAD_BYTES && memcmp(head->magic, SEGMENT_MAGIC, sizeof head->magic) == 0;
    bool is_other = is_segment && ((size_t)status.st_size != sizeof *head || !adopt_is_of_this_build(head));
    close(fd);
    return is_other;
}

/* What it prints of its own count goes nowhere: the caller counts what is gone. What it complains of is the user's to read. */
static void run(const char *program, const char *job_dir, const char *job, const char *into)
{
    const char *words[8] = { "slicewise-collect", "recover" };
    size_t count = 2;
    if (job != NULL) {
        words[count++] = "--job";
        words[count++] = job;
    }
    if (into != NULL) {
        words[count++] = "--into";
        words[count++] = into;
    }
    words[count] = job_dir;
    pid_t child = fork();
    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, 1);
        execv(program, (char *const *)words);
        _exit(127);
    }
    while (child > 0 && waitpid(child, NULL, 0) < 0)
        ;
}

void earlier_recover(const char *job_dir, const char *job, const char *into)
{
    char here[PATH_MAX / 4], dir[PATH_MAX / 2], program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", here, sizeof here - 1);
    if (length <= 0)
        return;
    here[length] = '\0';
    *strrchr(here, '/') = '\0';
    snprintf(dir, sizeof dir, "%s/../lib/slicewise/collectors", here);
    DIR *kept = opendir(dir);
    for (const struct dirent *entry; kept != NULL && (entry = readdir(kept)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(program, sizeof program, "%s/%s/slicewise-collect", dir, entry->d_name);
        if (access(program, X_OK) == 0)
            run(program, job_dir, job, into);
    }
    if (kept != NULL)
        closedir(kept);
}
