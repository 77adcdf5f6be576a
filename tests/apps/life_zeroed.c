/* A child that shares our memory, with thread-local storage of zeroes, as Chromium's sandbox begins one: it calls what only asks the kernel.
 * Ends with the status of the child. Before it and after it, the parent writes 100 B. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char storage[128 << 10] __attribute__((aligned(64))), stack[256 << 10] __attribute__((aligned(64)));

static int live(void *unused)
{
    struct stat status;
    char data[10] = "";
    (void)unused;
    if (chroot("/") < 0 || chdir(".") < 0 || stat(".", &status) < 0)
        _exit(1);
    if (open("not/there", O_RDONLY) >= 0 || access("not/there", R_OK) == 0 || read(-1, data, 1) != -1)
        _exit(2);
    int fd = open("child", O_RDWR | O_CREAT | O_TRUNC, 0600), other = dup(fd);
    if (fd < 0 || other < 0 || write(fd, data, sizeof data) != sizeof data || pwrite(fd, data, sizeof data, 10) != sizeof data ||
        lseek(fd, 0, SEEK_SET) != 0 || read(other, data, sizeof data) != sizeof data || fstat(fd, &status) < 0 || status.st_size != 20)
        _exit(3);
    if (fcntl(fd, F_GETFD) < 0 || close(other) < 0 || close(fd) < 0 || close(fd) == 0 || rename("child", "renamed") < 0 || unlink("renamed") < 0)
        _exit(4);
    _exit(7);
}

int main(void)
{
    int status;
    char data[100] = "";
    int fd = open("parent", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (write(fd, data, sizeof data) != sizeof data)
        return 1;
    int flags = CLONE_VM | CLONE_VFORK | CLONE_SETTLS | CLONE_FS | SIGCHLD;
    pid_t child = clone(live, stack + sizeof stack, flags, NULL, NULL, storage + sizeof storage / 2, NULL);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return 2;
    if (write(fd, data, sizeof data) != sizeof data || close(fd) < 0)
        return 3;
    return WEXITSTATUS(status);
}
