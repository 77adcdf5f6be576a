/* Calls of standard I/O that buffers serve, in the mode that is asked for; tells what they came to.
 *     stdio_served MODE FILE
 * families: characters, lines, items and formatted text, one thread      threads: four of them on one stream; read: by four threads
 * killed: killed among them, with what was written still in the buffer    slowly: characters far apart, bursts of them, and formatted text far apart
 * memory: on a stream in memory, and on one that is emptied line by line
 * scans: words and lines of all lengths, with small buffers and large     wide: wide characters, of which every hundredth has three bytes
 * swapped: another file's descriptor takes the place of the stream's, by turns      forked: by a child too that nobody saw begin
 * lines: lines out of two streams by turns, by fgets with a little room and a lot, and by getdelim */
#include "scenario.h"

#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <wchar.h>

#undef getc
#undef putc

enum { CALLS = 20000, THREADS = 4, LINE = 40, SLOW_CALLS = 12 };

static long reads, writes, read_bytes, written;

static void wrote(long bytes)
{
    REQUIRE(bytes > 0);
    written += bytes;
    writes++;
}

static void got(long bytes)
{
    REQUIRE(bytes > 0);
    read_bytes += bytes;
    reads++;
}

static void families(const char *path)
{
    char block[4096], line[128], *grown = NULL;
    size_t room = 0;
    memset(block, 'l', sizeof block);
    block[LINE - 1] = '\n';
    block[LINE] = '\0';
    FILE *file = fopen(path, "w+");
    REQUIRE(file != NULL);
    for (int i = 0; i < CALLS; i++) {
        wrote(putc('c', file) == 'c');
        wrote(fputs(block, file) >= 0 ? LINE : -1);
        wrote((long)fwrite(block, 8, 8, file) * 8);
        wrote((long)fwrite(block, 1, 150, file));
        wrote(fprintf(file, "%d\n", i));
        wrote(i % 100 == 0 ? (long)fwrite(block, 1, sizeof block, file) : putc('\n', file) == '\n');
    }
    rewind(file);
    for (int i = 0; i < CALLS; i++) {
        got(getc(file) != EOF);
        got((long)fread(line, 8, 1, file) * 8);
        got((long)fread(line, 1, 128, file));
        got(fgets(line, sizeof line, file) != NULL ? (long)strlen(line) : -1);
        got(getline(&grown, &room, file));
        REQUIRE(ungetc('u', file) == 'u');
        got(getc(file) == 'u');
    }
    free(grown);
    REQUIRE(fclose(file) == 0);
}

static void *write_characters(void *file)
{
    for (int i = 0; i < CALLS; i++)
        REQUIRE(i % 8 == 0   ? fputs("word", file) >= 0
                : i % 8 == 1 ? fprintf(file, "%c\n", 'f') == 2
                : i % 8 == 2 ? fwrite("item", 2, 2, file) == 2
                             : putc('\n', file) == '\n');
    return NULL;
}

static void *read_characters(void *file)
{
    char line[8];
    while (getc(file) != EOF && fgets(line, sizeof line, file) != NULL && fread(line, 1, 3, file) > 0)
        continue;
    return NULL;
}

static void by_threads(const char *path, const char *mode, void *(*work)(void *))
{
    pthread_t ids[THREADS];
    FILE *file = fopen(path, mode);
    for (int t = 0; t < THREADS; t++)
        REQUIRE(pthread_create(&ids[t], NULL, work, file) == 0);
    for (int t = 0; t < THREADS; t++)
        pthread_join(ids[t], NULL);
    REQUIRE(fclose(file) == 0);
}

static void threads(const char *path)
{
    by_threads(path, "w", write_characters);
    writes = (long)THREADS * CALLS;
    written = (long)THREADS * (CALLS + CALLS / 8 * (3 + 1 + 3));
}

static void read_by_threads(const char *path)
{
    by_threads(path, "r", read_characters);
}

static void *fill_pipe(void *file)
{
    for (int i = 0;; i++)
        REQUIRE(i % 3 == 0 ? fputs("word", file) >= 0 : i % 3 == 1 ? fprintf(file, "%d", i) > 0 : fwrite("item", 1, 4, file) == 4);
    return NULL;
}

static void cancelled(const char *path)
{
    enum { PIPE = 1 << 16, APART_US = 2000 };
    char block[PIPE];
    int ends[2], held, more = -1;
    pthread_t id;
    (void)path;
    REQUIRE(pipe(ends) == 0);
    FILE *file = fdopen(ends[1], "w");
    REQUIRE(file != NULL && pthread_create(&id, NULL, fill_pipe, file) == 0);
    do {
        held = more;
        usleep(APART_US);
        REQUIRE(ioctl(ends[0], FIONREAD, &more) == 0);
    } while (more == 0 || more != held); /* until it waits */
    REQUIRE(pthread_cancel(id) == 0 && pthread_join(id, NULL) == 0);
    REQUIRE(read(ends[0], block, sizeof block) > 0);
    REQUIRE(fputs("end", file) >= 0 && fflush(file) == 0);
}

static void slowly(const char *path)
{
    const struct timespec apart = { .tv_nsec = 100000000 };
    FILE *file = fopen(path, "w");
    for (int i = 0; i < SLOW_CALLS; i++) {
        nanosleep(&apart, NULL);
        wrote(putc('c', file) == 'c');
    }
    for (int i = 0; i < SLOW_CALLS; i++) {
        nanosleep(&apart, NULL);
        for (int j = 0; j < 300; j++)
            wrote(putc('c', file) == 'c');
    }
    for (int i = 0; i < SLOW_CALLS; i++) {
        nanosleep(&apart, NULL);
        wrote(fprintf(file, "%d\n", i));
    }
    REQUIRE(fclose(file) == 0);
}

/* Of most words the buffer holds all; of each length some do not. */
static int word_length(int i)
{
    return i % 50 != 0 ? 1 + i % 90 : i % 700 == 0 ? 9000 : i % 350 == 0 ? 4096 : 500 + i % 1000;
}

static void scan_all(FILE *file)
{
    static char word[9002];
    static char *grown;
    static size_t room;
    int number;
    rewind(file);
    for (int i = 0; i < CALLS / 4; i++) {
        int length = word_length(i);
        if (i % 3 == 0) {
            got(getline(&grown, &room, file));
            continue;
        }
        REQUIRE(fscanf(file, "%9001s", word) == 1 && (int)strlen(word) == length);
        got(length);
        REQUIRE(i % 3 == 1 || fscanf(file, "%d", &number) == 0); /* nothing but the line's end fits */
        if (i % 3 == 2)
            got(1);
        else
            got(getc(file) == '\n');
    }
}

static void scans(const char *path)
{
    static char word[9000];
    memset(word, 'w', sizeof word);
    FILE *file = fopen(path, "w+");
    for (int i = 0; i < CALLS / 4; i++)
        wrote(fprintf(file, "%.*s\n", word_length(i), word));
    scan_all(file);
    REQUIRE(fclose(file) == 0 && (file = fopen(path, "r")) != NULL && setvbuf(file, malloc(256), _IOFBF, 256) == 0);
    scan_all(file);
    REQUIRE(fclose(file) == 0);
}

static void wide(const char *path)
{
    REQUIRE(setlocale(LC_ALL, "C.UTF-8") != NULL);
    FILE *file = fopen(path, "w");
    for (int i = 0; i < CALLS; i++) {
        wchar_t c = i % 100 == 0 ? L'\u20ac' : L'c';
        REQUIRE(fputwc(c, file) == (wint_t)c);
        wrote(i % 100 == 0 ? 3 : 1);
    }
    REQUIRE(fclose(file) == 0 && (file = fopen(path, "r")) != NULL);
    for (int i = 0; i < CALLS; i++) {
        REQUIRE(fgetwc(file) == (i % 100 == 0 ? L'\u20ac' : L'c'));
        got(i % 100 == 0 ? 3 : 1);
    }
    REQUIRE(fclose(file) == 0);
}

static void write_lines(FILE *file, int lines)
{
    for (int i = 0; i < lines; i++)
        wrote(i % 3 == 0 ? (putc('\n', file) == '\n') : fputs("a line\n", file) >= 0 ? 7 : -1);
    REQUIRE(fflush(file) == 0);
}

struct swap {
    int from, to;
};

static void *swap(void *of)
{
    const struct swap *swap = of;
    REQUIRE(dup2(swap->from, swap->to) == swap->to);
    return NULL;
}

static void swapped(const char *path)
{
    char other_path[4096];
    snprintf(other_path, sizeof other_path, "%s.other", path);
    FILE *file = fopen(path, "a");
    int files[] = { open(other_path, O_WRONLY | O_CREAT | O_APPEND, 0600), dup(fileno(file)) };
    for (int i = 0; i < 40; i++) {
        struct swap next = { files[i % 2], fileno(file) };
        write_lines(file, 100 + i);
        if (i % 4 == 1) {
            REQUIRE(close(fileno(file)) == 0 && open("/dev/null", O_RDONLY) == fileno(file)); /* the lowest that is free */
        }
        if (i < 30) {
            swap(&next);
            continue;
        }
        pthread_t other;
        REQUIRE(pthread_create(&other, NULL, swap, &next) == 0 && pthread_join(other, NULL) == 0);
    }
    REQUIRE(fclose(file) == 0);
}

static void forked(const char *path)
{
    FILE *file = fopen(path, "a");
    write_lines(file, 1000);
    long child = syscall(SYS_clone, SIGCHLD, 0);
    REQUIRE(child >= 0);
    write_lines(file, 500);
    if (child == 0)
        exit(0);
    REQUIRE(waitpid((pid_t)child, NULL, 0) == child);
    write_lines(file, 1000);
    REQUIRE(fclose(file) == 0);
}

static void lines(const char *path)
{
    char little[64], much[9000], *grown = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "w+");
    for (int i = 0; i < CALLS; i++)
        wrote(fprintf(file, "%*d\n", 1 + i % 60 + (i % 500 == 0 ? 4000 : 0), i));
    REQUIRE(fflush(file) == 0);
    FILE *second = fopen(path, "r");
    rewind(file);
    for (long i = 0; !feof(file) || !feof(second); i++) {
        FILE *from = i % 7 < 3 ? file : second;
        const char *text = i % 5 == 0 ? fgets(little, sizeof little, from) : i % 5 == 1 ? fgets(much, sizeof much, from) : NULL;
        if (i % 5 <= 1)
            text != NULL ? got((long)strlen(text)) : (void)reads++;
        else {
            long length = i % 5 == 2 ? getdelim(&grown, &room, '1', from) : getline(&grown, &room, from);
            length > 0 ? got(length) : (void)reads++;
        }
    }
    free(grown);
    REQUIRE(fclose(second) == 0 && fclose(file) == 0);
}

static void killed(const char *path)
{
    FILE *file = fopen(path, "w");
    for (int i = 0; i < 1000; i++)
        wrote(putc('c', file) == 'c');
    fprintf(stderr, "writes %ld written %ld\n", writes, written);
    raise(SIGKILL);
}

static void memory(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size), *by_line = fopen(path, "w");
    REQUIRE(stream != NULL && by_line != NULL);
    for (int i = 0; i < 1000; i++)
        REQUIRE(putc('c', stream) == 'c' && fprintf(stream, "%d", i) > 0 && fputs("text", stream) >= 0);
    REQUIRE(fclose(stream) == 0);
    free(text);
    wrote(putc('c', by_line) == 'c');
    setvbuf(by_line, NULL, _IOLBF, 0);
    for (int i = 0; i < 100; i++) {
        wrote(fputs("half a ", by_line) >= 0 ? 7 : -1);
        wrote((long)fwrite("line\n", 1, 5, by_line));
    }
    REQUIRE(fclose(by_line) == 0);
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(const char *path); } modes[] = {
        { "families", families }, { "threads", threads }, { "read", read_by_threads }, { "cancelled", cancelled },
        { "slowly", slowly }, { "killed", killed }, { "memory", memory },
        { "scans", scans }, { "wide", wide }, { "swapped", swapped }, { "forked", forked }, { "lines", lines },
    };
    REQUIRE(argc == 3);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(argv[1], modes[i].name) == 0)
            modes[i].run(argv[2]);
    printf("reads %ld writes %ld read_bytes %ld written %ld\n", reads, writes, read_bytes, written);
    return 0;
}
