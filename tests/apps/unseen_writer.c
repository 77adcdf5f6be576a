/* Writes 3 MiB in 3 calls to the file that it is told, by libc's functions; or with `raw` by system calls past them. Built statically it is a
 * program that cannot be profiled. */
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static char block[1 << 20];

int main(int count, char **words)
{
    int fd = open(words[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < 3; i++) {
        long written;
        if (count > 2 && strcmp(words[2], "raw") == 0)
#ifdef __x86_64__
            __asm__ volatile("syscall" : "=a"(written) : "a"(SYS_write), "D"(fd), "S"(block), "d"(sizeof block) : "rcx", "r11", "memory");
#else
            written = syscall(SYS_write, fd, block, sizeof block);
#endif
        else
            written = write(fd, block, sizeof block);
        if (written != sizeof block)
            return 1;
    }
    return close(fd);
}
