#include "say.h"

#include "unsignalled.h"

#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>

bool say_is_terminal(int fd, const struct statx *status)
{
    struct termios terminal;
    return S_ISCHR(status->stx_mode) && raw_result(syscall(SYS_ioctl, fd, TCGETS, &terminal)) >= 0;
}

/* A description of its own, so that we need not wait for a reader, and the program's stays as it is. Only of what nothing happens to when it is
 * opened. */
static int open_again(int fd, const struct statx *status)
{
    char path[32];
    if (!S_ISFIFO(status->stx_mode) && !say_is_terminal(fd, status))
        return -ENOTTY;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return raw_open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY, 0);
}

static bool is_ready(int fd)
{
    struct pollfd asked = { .fd = fd, .events = POLLOUT };
    const struct timespec at_once = { 0 };
    return raw_result(syscall(SYS_ppoll, &asked, 1, &at_once, NULL, 0)) == 1 && (asked.revents & POLLOUT) != 0;
}

void say_line(int fd, const struct statx *status, const char *line, size_t length)
{
    struct iovec part = { (void *)line, length };
    if (S_ISSOCK(status->stx_mode)) {
        syscall(SYS_sendto, fd, line, length, MSG_NOSIGNAL | MSG_DONTWAIT, NULL, 0);
        return;
    }
    int own = open_again(fd, status);
    if (own >= 0) {
        unsignalled_writev(own, &part, 1);
        raw_close(own);
    } else if (own != -ENXIO && (S_ISREG(status->stx_mode) || is_ready(fd))) {
        unsignalled_writev(fd, &part, 1);
    }
}
