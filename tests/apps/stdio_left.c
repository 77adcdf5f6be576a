/* A million characters by a macro into a buffer that holds them all, until libc empties it as the process ends. The first argument is the file, or "-"
 * for standard output. The second: "alone"; "fork", a child ends by exit, too; "_exit", one ends without libc; "threads", while another thread waits;
 * "writers" and "flushers", while others go on to write; "wide", other characters, of two bytes. */
#include "scenario.h"

#include <locale.h>
#include <pthread.h>
#include <sys/wait.h>
#include <wchar.h>

enum { CHARACTERS = 1000000, ROOM = 1 << 20, WIDE_CHARACTERS = 500 };

static void *wait_for_ever(void *unused)
{
    pause();
    return unused;
}

static const char *way;

static void *write_for_ever(void *stream)
{
    for (;;)
        REQUIRE(fputs("0123456789", stream) >= 0 && (way[0] == 'w' || fflush(stream) == 0));
    return NULL;
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 3);
    way = argv[2];
    pthread_t thread;
    FILE *file = strcmp(argv[1], "-") == 0 ? stdout : fopen(argv[1], "a");
    REQUIRE(file != NULL && setvbuf(file, malloc(ROOM), _IOFBF, ROOM) == 0);
    if (strcmp(way, "wide") == 0) {
        REQUIRE(setlocale(LC_ALL, "C.UTF-8") != NULL);
        for (int i = 0; i < WIDE_CHARACTERS; i++)
            REQUIRE(fputwc(L'\u00e4', file) == L'\u00e4');
        return 0;
    }
    if (strcmp(way, "threads") == 0)
        REQUIRE(pthread_create(&thread, NULL, wait_for_ever, NULL) == 0);
    if (way[0] == 'w' || strcmp(way, "flushers") == 0) {
        for (int i = 0; i < 2; i++)
            REQUIRE(pthread_create(&thread, NULL, write_for_ever, file) == 0);
        usleep(20000);
        return 0;
    }
    for (int i = 0; i < CHARACTERS; i++)
        putc_unlocked('c', file);
    if (strcmp(way, "fork") == 0 || strcmp(way, "_exit") == 0) {
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0 && strcmp(way, "_exit") == 0)
            _exit(0);
        REQUIRE(child == 0 || waitpid(child, NULL, 0) == child);
    }
    return 0;
}
