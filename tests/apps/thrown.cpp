// Exceptions and cancellation that pass through the library's own frames: thrown FOLDER. Each goes through a function that is interposed and
// calls back into the program, or through a system call that a thread is cancelled in, or, asynchronously, through whatever it is just doing.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <unistd.h>

static int fd;

static int refuse(const struct dirent *)
{
    throw 1;
}

static int refuse_file(const char *, const struct stat *, int)
{
    throw 2;
}

static ssize_t refuse_write(void *, const char *, size_t)
{
    throw 3;
}

struct Cleaner {
    ~Cleaner() { if (pwrite(fd, "12345", 5, 0) != 5) abort(); }
};

static void *writes_until_cancelled(void *)
{
    Cleaner cleaner;
    for (;;)
        if (pwrite(fd, "1", 1, 0) != 1)
            abort();
}

// Cancelled between any two instructions: nothing here may have to be cleaned up.
static void *writes_until_cancelled_at_once(void *)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
    for (;;)
        pwrite(fd, "1", 1, 0);
}

static void cancel_writers(void *(*write_on)(void *))
{
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        void *result;
        if (pthread_create(&thread, nullptr, write_on, nullptr) != 0)
            abort();
        usleep(i * 20);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        if (result != PTHREAD_CANCELED)
            abort();
    }
}

int main(int, char **argument)
{
    int caught = 0;
    struct dirent **entries;
    fd = open(argument[1], O_RDONLY | O_DIRECTORY);
    fd = openat(fd, "written", O_RDWR | O_CREAT, 0600);
    for (int i = 0; i < 1000; i++) {
        try {
            scandir(argument[1], &entries, refuse, nullptr);
        } catch (int thrown) {
            caught += thrown;
        }
        try {
            ftw(argument[1], refuse_file, 4);
        } catch (int thrown) {
            caught += thrown;
        }
    }
    cookie_io_functions_t functions = {};
    functions.write = refuse_write;
    FILE *stream = fopencookie(nullptr, "w", functions);
    setvbuf(stream, nullptr, _IONBF, 0);
    try {
        fputs("text", stream);
    } catch (int thrown) {
        caught += thrown;
    }
    cancel_writers(writes_until_cancelled);
    cancel_writers(writes_until_cancelled_at_once);
    for (int i = 0; i < 7; i++)
        if (pwrite(fd, "1234567890", 10, 0) != 10)
            abort();
    return caught == 3003 ? 0 : caught;
}
