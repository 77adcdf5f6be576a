/* Files in memory: mapped, written by touching, stored by msync, moved, unmapped, by a child of fork, too; beside memory that is no file's. */
#include "scenario.h"

#include <sys/mman.h>
#include <sys/wait.h>

enum { SIZE = 1 << 20 };

int main(int argc, char **argv)
{
    REQUIRE(argc == 2);
    int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(ftruncate(fd, SIZE) == 0);
    scenario_begin();
    for (int i = 0; i < 3; i++) {
        char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        char *file = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        REQUIRE(memory != MAP_FAILED && file != MAP_FAILED);
        memset(memory, i, SIZE);
        memcpy(file, memory, SIZE);
        REQUIRE(msync(file, SIZE, MS_SYNC) == 0 && mremap(file, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, memory) == memory);
        REQUIRE(msync(memory, SIZE, MS_SYNC) == 0 && mremap(memory, 0, 4096, 77) == MAP_FAILED && munmap(memory, SIZE) == 0);
    }
    char *inherited = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    pid_t child = fork();
    if (child == 0) { /* whose mounts have other numbers: a pipe and then a device come first */
        int ends[2];
        REQUIRE(pipe(ends) == 0 && write(ends[1], "", 1) == 1 && write(open("/dev/null", O_WRONLY), "", 1) == 1);
        REQUIRE(msync(inherited, SIZE, MS_SYNC) == 0 && munmap(inherited, SIZE) == 0);
        _exit(0);
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0 && munmap(inherited, SIZE) == 0);
    errno = 0;
    REQUIRE(mmap(NULL, SIZE, PROT_READ, MAP_SHARED, 9999, 0) == MAP_FAILED && errno == EBADF);
    scenario_end();
    return 0;
}
