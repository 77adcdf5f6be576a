/* A vforked child forbids itself to read the tick counter, writes, and fails to start a program, while other threads of its parent write to the file
 * argv[1]. Then the parent writes as well. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMES = 20, WRITES = 2000, THREADS = 2 };

static void *write_bytes(void *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    for (int i = 0; i < WRITES; i++)
        if (write(fd, "0123456789", 10) != 10)
            _exit(1);
    close(fd);
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_t thread[THREADS];
    int status;
    if (count < 2)
        return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, write_bytes, arguments[1]);
    for (int i = 0; i < TIMES; i++) {
        pid_t child = vfork();
        if (child == 0) {
            prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
            execlp("/no/such/program", "program", (char *)NULL);
            _exit(write(STDERR_FILENO, "none\n", 5) == 5 && errno == ENOENT ? 7 : 8);
        }
        if (waitpid(child, &status, 0) != child || status != 7 << 8)
            return 2;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    write_bytes(arguments[1]);
    return printf("done\n") - 5;
}
