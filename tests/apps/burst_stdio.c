/* Moves so many MiB through a stream, with a pause of so many milliseconds after each: HOW PATH MIB MS, where HOW is fwrite, fputs, fprintf or fread.
 * Meanwhile another thread takes the stream's lock and gives it back, and prints for how many microseconds it waited at most. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MIB = 1 << 20, LINE = 1 << 10 };

static FILE *stream;
static atomic_bool is_over;

static long now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000L + now.tv_nsec / 1000;
}

static void *lock_often(void *most)
{
    while (!is_over) {
        long began = now_us();
        flockfile(stream);
        funlockfile(stream);
        long took = now_us() - began;
        if (took > *(long *)most)
            *(long *)most = took;
        usleep(1000);
    }
    return NULL;
}

static int move(const char *how, char *part)
{
    if (strcmp(how, "fwrite") == 0)
        return fwrite(part, MIB, 1, stream) == 1;
    if (strcmp(how, "fread") == 0)
        return fread(part, MIB, 1, stream) == 1;
    part[LINE] = '\0';
    for (int i = 0; i < MIB / LINE; i++)
        if ((strcmp(how, "fputs") == 0 ? fputs(part, stream) : fprintf(stream, "%s", part)) < 0)
            return 0;
    return 1;
}

int main(int argc, char **argv)
{
    static char part[MIB + 1];
    pthread_t other;
    long most = 0;
    stream = argc == 5 ? fopen(argv[2], strcmp(argv[1], "fread") == 0 ? "r" : "w") : NULL;
    if (stream == NULL || pthread_create(&other, NULL, lock_often, &most) != 0)
        return 2;
    for (int i = 0; i < atoi(argv[3]); i++) {
        memset(part, 'a' + i, MIB);
        if (!move(argv[1], part))
            return 1;
        usleep((useconds_t)atoi(argv[4]) * 1000);
    }
    is_over = true;
    pthread_join(other, NULL);
    printf("%ld\n", most);
    return fclose(stream) != 0;
}
