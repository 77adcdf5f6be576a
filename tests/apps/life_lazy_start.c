/* Processes before their first counted call.
 *     life_lazy_start house      keeps house among its descriptors, then writes 5 bytes to `file`
 *     life_lazy_start fork       a child that only leaves, then one that writes 3 bytes to `child`; the parent does nothing
 *     life_lazy_start vfork      a vforked child makes `made` on its parent's behalf, which then writes 7 bytes to `file`
 *     life_lazy_start unseen     writes 1 MiB to `unseen` past libc, and nothing else
 *     life_lazy_start wait       keeps house, then waits to be killed */
#include "scenario.h"

#include <string.h>
#include <sys/wait.h>

static char block[1 << 20];

static void put(const char *path, size_t bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    REQUIRE(fd >= 0 && write(fd, block, bytes) == (ssize_t)bytes && close(fd) == 0);
}

static void keep_house(void)
{
    int copy = dup(STDIN_FILENO);
    REQUIRE(copy >= 0 && dup2(copy, copy + 1) == copy + 1 && close(copy) == 0 && close(copy + 1) == 0 && close(-1) == -1);
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2);
    if (strcmp(argv[1], "house") == 0) {
        keep_house();
        put("file", 5);
    } else if (strcmp(argv[1], "fork") == 0) {
        for (int i = 0; i < 2; i++) {
            pid_t child = fork();
            if (child == 0) {
                if (i == 1)
                    put("child", 3);
                _exit(0);
            }
            AWAIT(child, 0);
        }
    } else if (strcmp(argv[1], "vfork") == 0) {
        pid_t child = vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork)
        if (child == 0) {
            open("made", O_WRONLY | O_CREAT, 0600);
            _exit(0);
        }
        AWAIT(child, 0);
        put("file", 7);
    } else if (strcmp(argv[1], "unseen") == 0) {
        long fd = unseen_syscall(SYS_openat, AT_FDCWD, (long)"unseen", O_WRONLY | O_CREAT, 0600);
        REQUIRE(unseen_syscall(SYS_write, fd, (long)block, sizeof block) == sizeof block);
    } else {
        keep_house();
        pause();
    }
    return 0;
}
