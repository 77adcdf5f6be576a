#include "listener.h"

#include "print_line.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { QUEUE = 4096, USER_OF_NETWORK = -1 };

static bool is_local(const struct turn_address *address)
{
    return address->at.any.sa_family == AF_UNIX;
}

/* A path that another coordinator left behind when it was killed is free; one that somebody listens at is not. */
static bool is_left_behind(const struct turn_address *address)
{
    struct stat status;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool is_refused = fd >= 0 && lstat(address->at.local.sun_path, &status) == 0 && S_ISSOCK(status.st_mode) &&
                      connect(fd, &address->at.any, address->size) != 0 && errno == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    return is_refused;
}

int listener_open(const struct turn_address *address, const char *name)
{
    const int yes = 1;
    int fd = socket(address->at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && is_local(address) && is_left_behind(address))
        unlink(address->at.local.sun_path);
    if (fd >= 0 && !is_local(address))
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    /* Anybody may come to a path that its directory lets him reach: the kernel says who he is, and he is told of nobody else. */
    if (fd >= 0 && bind(fd, &address->at.any, address->size) == 0 && (!is_local(address) || chmod(address->at.local.sun_path, 0666) == 0) &&
        listen(fd, QUEUE) == 0)
        return fd;
    print_line(stderr, "slicewise-collect: cannot listen at %s (%s)%s\n", name, strerror(errno),
               errno == EADDRINUSE ? ": another coordinator may be there; stop it, or choose another address" : "");
    if (fd >= 0)
        close(fd);
    return -1;
}

/* So that a job on a node that is cut off is noticed within half a minute. */
static void keep_alive(int fd)
{
    const int yes = 1, idle_seconds = 10, between_seconds = 5, tries = 3;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &between_seconds, sizeof between_seconds);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof tries);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

int listener_accept(int listener, uint32_t *user)
{
    struct ucred peer;
    struct sockaddr_storage from = { 0 };
    socklen_t size = sizeof peer, from_size = sizeof from;
    int fd = accept4(listener, (struct sockaddr *)&from, &from_size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return -1;
    *user = (uint32_t)USER_OF_NETWORK;
    if (from.ss_family != AF_UNIX)
        keep_alive(fd);
    else if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0)
        *user = peer.uid;
    return fd;
}

void listener_close(int listener, const struct turn_address *address)
{
    if (is_local(address))
        unlink(address->at.local.sun_path);
    close(listener);
}
