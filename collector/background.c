#include "background.h"

#include "clock.h"
#include "print_line.h"
#include "raw.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static volatile sig_atomic_t is_told_to_end;

static void end(int signal)
{
    (void)signal;
    is_told_to_end = 1;
}

void background_take_signals(void)
{
    sigset_t signals;
    sigfillset(&signals);
    sigprocmask(SIG_SETMASK, &signals, NULL);
    struct sigaction action = { .sa_handler = end };
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

void background_complain(const char *variable, const char *value, const char *wrong)
{
    print_line(stderr, "slicewise: %s%s%s: %s\n", variable, value != NULL ? "=" : "", value != NULL ? value : "", wrong);
}

int background_open_lock(const struct settings *settings, const char *job, bool may_make, char path[SEGMENT_DIR_PATH_BYTES])
{
    char name[160];
    snprintf(name, sizeof name, ".node.%s", job);
    return segment_dir_open_file(settings->segment_dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | (may_make ? O_CREAT : 0), path);
}

const struct flock background_whole_file = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

bool background_take_lock(const struct settings *settings, const char *job, char path[SEGMENT_DIR_PATH_BYTES])
{
    for (;;) {
        struct stat held, named;
        int fd = background_open_lock(settings, job, true, path);
        if (fd < 0)
            return true;
        if (fcntl(fd, F_SETLK, &background_whole_file) != 0)
            return false;
        if (fstat(fd, &held) == 0 && lstat(path, &named) == 0 && held.st_ino == named.st_ino)
            return true; /* and kept open, which is what keeps it locked */
        raw_close(fd); /* the one before us was just removing it */
    }
}

uint64_t background_next_multiple(uint64_t now, uint64_t of)
{
    return (now / of + 1) * of;
}

bool background_sleep_until(uint64_t until_ns, int parent_fd)
{
    sigset_t none;
    sigemptyset(&none);
    uint64_t now = clock_read(CLOCK_REALTIME), ns = until_ns > now ? until_ns - now : 0;
    struct timespec timeout = { .tv_sec = (time_t)(ns / NS_PER_SECOND), .tv_nsec = (long)(ns % NS_PER_SECOND) };
    struct pollfd parent = { .fd = parent_fd, .events = POLLIN };
    return ppoll(&parent, 1, &timeout, &none) <= 0 && !is_told_to_end;
}

int background_detach(int *status)
{
    int pipe_ends[2], ended;
    char byte;
    *status = -1;
    pid_t child = pipe2(pipe_ends, O_CLOEXEC) == 0 ? fork() : -1;
    if (child == 0) {
        close(pipe_ends[0]);
        setsid();
        return pipe_ends[1];
    }
    *status = 1;
    if (child < 0) {
        print_line(stderr, "slicewise: no process can be started (%s)\n", strerror(errno));
        return -1;
    }
    close(pipe_ends[1]);
    if (read(pipe_ends[0], &byte, 1) == 1)
        *status = 0;
    else if (waitpid(child, &ended, 0) == child && WIFEXITED(ended))
        *status = WEXITSTATUS(ended);
    return -1;
}

void background_let_go(int ready)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    bool is_away = chdir("/") == 0 && write(ready, "", 1) == 1;
    for (int fd = 0; fd < 3 && is_away; fd++)
        dup2(null, fd);
    close(null);
    close(ready);
}
