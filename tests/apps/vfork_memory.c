/* Children that run in our memory with a table of descriptors of their own: vfork_memory FILE OTHER vfork|clone_vfork|clone|clone_tls. The child
 * points the number that we write FILE by to /dev/null, writes 3 bytes there, closes it, and opens OTHER in its place to write 5; then we go on to
 * write FILE, 1,000 times 5,000 bytes. */
#include "scenario.h"

#include <sched.h>
#include <sys/wait.h>

static const char *other;
static int fd;
static char bytes[5000];

static int child(void *unused)
{
    (void)unused;
    int null = open("/dev/null", O_RDWR);
    if (dup2(null, fd) != fd || write(fd, "123", 3) != 3 || close(fd) != 0 || close(null) != 0)
        return 1;
    int opened = open(other, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (opened != fd || write(opened, "12345", 5) != 5)
        return 2;
    return 0;
}

static pid_t begin(const char *how)
{
    char *stack = malloc(1 << 16);
    if (strcmp(how, "vfork") == 0) {
        pid_t pid = vfork();
        if (pid == 0)
            _exit(child(NULL));
        return pid;
    }
    if (strcmp(how, "clone_vfork") == 0)
        return clone(child, stack + (1 << 16), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    return clone(child, stack + (1 << 16), CLONE_VM | SIGCHLD, NULL);
}

int main(int count, char **argument)
{
    int status;
    REQUIRE(count == 4);
    scenario_begin();
    other = argument[2];
    fd = open(argument[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    REQUIRE(fd >= 0);
    for (int round = 0; round < 3; round++) {
        REQUIRE(write(fd, bytes, 10) == 10);
        pid_t pid = begin(argument[3]);
        REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
        for (int i = 0; i < 1000; i++)
            REQUIRE(write(fd, bytes, sizeof bytes) == sizeof bytes);
    }
    scenario_end();
    return 0;
}
