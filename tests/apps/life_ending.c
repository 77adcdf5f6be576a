/* Writes 300 bytes in three calls and ends in the way named. As chroot_before=DIRECTORY it first of all takes that as its root directory. */
#include "scenario.h"

#include <signal.h>
#include <sys/mman.h>

static void end_by(const char *way)
{
    if (strcmp(way, "exit") == 0)
        exit(3);
    if (strcmp(way, "_exit") == 0)
        _exit(3);
    if (strcmp(way, "_Exit") == 0)
        _Exit(3);
    if (strcmp(way, "quick_exit") == 0)
        quick_exit(3);
    if (strcmp(way, "abort") == 0)
        abort();
    if (strcmp(way, "fault") == 0)
        *(volatile int *)mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) = 1;
    if (strcmp(way, "term") == 0)
        kill(getpid(), SIGTERM);
    if (strcmp(way, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(way, "bare") == 0)
        unseen_syscall(SYS_exit_group, 3);
    if (strcmp(way, "by_number") == 0)
        syscall(SYS_exit_group, 3);
    if (strncmp(way, "chroot=", 7) == 0) {
        REQUIRE(chroot(way + 7) == 0 && chdir("/") == 0);
        exit(3);
    }
}

int main(int argc, char **argv)
{
    static const char block[100];
    REQUIRE(argc == 2);
    if (strncmp(argv[1], "chroot_before=", 14) == 0)
        REQUIRE(chroot(argv[1] + 14) == 0); /* the working directory stays outside */
    int fd = open("ending", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < 3; i++)
        REQUIRE(write(fd, block, sizeof block) == sizeof block);
    end_by(argv[1]);
    return 3;
}
