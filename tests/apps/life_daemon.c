/* Becomes a daemon, closes all descriptors, and writes 30 bytes where standard input, output and error once were; the one that started it
 * wrote 5. argv[1] names a FIFO on which the daemon says that it is done, `argv[2]` is what to pass to daemon(). */
#include "scenario.h"

int main(int argc, char **argv)
{
    static const char block[100];
    REQUIRE(argc == 3);
    char *directory = getcwd(NULL, 0);
    int fd = open("daemon", O_WRONLY | O_CREAT | O_APPEND, 0600);
    REQUIRE(fd >= 0 && write(fd, block, 5) == 5);
    int is_kept = atoi(argv[2]);
    REQUIRE(daemon(is_kept, is_kept) == 0);
    char *now = getcwd(NULL, 0);
    REQUIRE(strcmp(now, is_kept ? directory : "/") == 0 && chdir(directory) == 0);
    for (int i = 0; i < 1024; i++)
        close(i);
    for (int i = 0; i < 3; i++)
        REQUIRE(open("daemon", O_WRONLY | O_APPEND) == i && write(i, block, 10) == 10);
    int done = (int)syscall(SYS_openat, AT_FDCWD, argv[1], O_WRONLY);
    REQUIRE(done == 3); /* a descriptor of anybody else would be in between */
    return 0;
}
