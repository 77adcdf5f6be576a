/* Executes scripts of calls, a line each, on eight slots for descriptors: what tests draw at random, and hold a profile against. Lines are
 *   open SLOT PATH · close SLOT · fsync SLOT · seek SLOT OFFSET · stat PATH
 *   read|write SLOT SIZE · pread|pwrite SLOT SIZE OFFSET · readv|writev SLOT SIZE SIZE
 *   thread SCRIPT · fork SCRIPT (both go on beside, and are waited for at the end)
 * Calls may fail. The script itself is read by bare system calls. */
#include "scenario.h"

#include <pthread.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum { SLOTS = 8, BESIDE_MAX = 16, SCRIPT_BYTES = 1 << 20 };

struct script {
    int fd[SLOTS];
    pthread_t threads[BESIDE_MAX];
    int threads_used, children;
};

static char block[2 << 20];

static void *run(void *path);

static char *load(const char *path)
{
    char *text = calloc(1, SCRIPT_BYTES);
    int fd = (int)unseen_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
    REQUIRE(text != NULL && fd >= 0 && unseen_syscall(SYS_read, fd, text, SCRIPT_BYTES - 1) >= 0);
    unseen_syscall(SYS_close, fd);
    return text;
}

static void transfer(struct script *script, const char *verb, int slot, size_t one, size_t two)
{
    int fd = script->fd[slot];
    struct iovec parts[] = { { block, one }, { block + one, two } };
    ssize_t moved __attribute__((unused));
    if (strcmp(verb, "read") == 0)
        moved = read(fd, block, one);
    else if (strcmp(verb, "write") == 0)
        moved = write(fd, block, one);
    else if (strcmp(verb, "pread") == 0)
        moved = pread(fd, block, one, (off_t)two);
    else if (strcmp(verb, "pwrite") == 0)
        moved = pwrite(fd, block, one, (off_t)two);
    else if (strcmp(verb, "readv") == 0)
        moved = readv(fd, parts, 2);
    else if (strcmp(verb, "writev") == 0)
        moved = writev(fd, parts, 2);
    else
        REQUIRE(!"a known verb");
}

static void begin_beside(struct script *script, const char *verb, char *path)
{
    if (strcmp(verb, "thread") == 0) {
        REQUIRE(script->threads_used < BESIDE_MAX);
        REQUIRE(pthread_create(&script->threads[script->threads_used++], NULL, run, path) == 0);
        return;
    }
    script->children++;
    if (fork() == 0) {
        run(path);
        exit(0);
    }
}

static void execute(struct script *script, char *line)
{
    struct stat status;
    char *rest, *verb = strtok_r(line, " ", &rest), *first = strtok_r(NULL, " ", &rest);
    char *second = strtok_r(NULL, " ", &rest), *third = strtok_r(NULL, " ", &rest);
    int slot = atoi(first) % SLOTS;
    if (strcmp(verb, "open") == 0)
        REQUIRE((script->fd[slot] = open(second, O_RDWR | O_CREAT, 0600)) >= 0);
    else if (strcmp(verb, "close") == 0) {
        close(script->fd[slot]);
        script->fd[slot] = -1;
    } else if (strcmp(verb, "fsync") == 0)
        fsync(script->fd[slot]);
    else if (strcmp(verb, "seek") == 0)
        lseek(script->fd[slot], atol(second), SEEK_SET);
    else if (strcmp(verb, "stat") == 0)
        stat(first, &status);
    else if (strcmp(verb, "thread") == 0 || strcmp(verb, "fork") == 0)
        begin_beside(script, verb, first);
    else
        transfer(script, verb, slot, (size_t)atol(second), third != NULL ? (size_t)atol(third) : 0);
}

static void *run(void *path)
{
    struct script script = { 0 };
    char *rest, *text = load(path);
    memset(script.fd, -1, sizeof script.fd);
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        execute(&script, line);
    for (int i = 0; i < script.threads_used; i++)
        pthread_join(script.threads[i], NULL);
    for (int i = 0, status; i < script.children; i++)
        REQUIRE(wait(&status) > 0 && status == 0);
    free(text); /* only now: what goes on beside has its path from here */
    return NULL;
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2);
    run(argv[1]);
    return 0;
}
