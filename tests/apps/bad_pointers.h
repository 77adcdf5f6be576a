/* Good arguments for the calls of bad_pointers.c, by the names that its table gives them. Those of MPI are there if it is compiled with
 * -DWITH_MPI, those of liburing with -DWITH_LIBURING; then rows that need them are called, and no others. */
#ifndef BAD_POINTERS_H
#define BAD_POINTERS_H

#include <linux/io_uring.h>

__attribute__((noreturn)) static void fail(const char *what, const char *detail)
{
    dprintf(2, "bad_pointers: %s %s (%s)\n", what, detail, strerror(errno));
    _exit(99);
}

struct value {
    long word;          /* as it is passed */
    bool is_pointer;    /* that can be bad */
    bool is_code;       /* which can be NULL at most */
    const void *bytes;  /* what it points to, which works at another address as well, */
    size_t size;        /* or 0: an object of libc's own */
    size_t alignment;
    long *inner;        /* a pointer among the bytes */
};

static const char content[8192] = "12 34 56 78 90\nline\nline\n";
static struct iovec parts[2];
static char *arguments_list[3], *variables_list[4];
static struct aiocb blocks[2], *block_list[2];
static struct iocb kernel_blocks[2], *kernel_list[2];
static char room[2 * 4096];
static aio_context_t context;

static long number_value(long number, struct value *value)
{
    value->word = number;
    return 1;
}

static long pointer_value(const void *bytes, size_t size, size_t alignment, struct value *value)
{
    *value = (struct value){ .word = (long)bytes, .is_pointer = true, .bytes = bytes, .size = size, .alignment = alignment };
    return 1;
}

static long array_value(const void *bytes, size_t size, void *inner, struct value *value)
{
    pointer_value(bytes, size, 8, value);
    value->inner = inner;
    return 1;
}

static long text_value(const char *text, struct value *value)
{
    char *own = strdup(text);
    return pointer_value(own, strlen(own) + 1, 1, value);
}

static long wide_value(const wchar_t *text, struct value *value)
{
    return pointer_value(text, (wcslen(text) + 1) * sizeof *text, sizeof *text, value);
}

static long room_value(size_t size, struct value *value)
{
    return pointer_value(room, size, 8, value);
}

static long object_value(void *object, struct value *value)
{
    if (object == NULL)
        fail("cannot make", "an object");
    return pointer_value(object, 0, 8, value);
}

static long code_value(void *code, struct value *value)
{
    pointer_value(code, 0, 8, value);
    value->is_code = true;
    return 1;
}

static char *path_in(const char *format, int number)
{
    static char path[200];
    snprintf(path, sizeof path, format, number);
    return path;
}

static int opened(const char *path, int flags)
{
    int fd = open(path, flags, 0600);
    if (fd < 0)
        fail("cannot open", path);
    return fd;
}

static char *made(const char *format, int number, mode_t type)
{
    char *path = path_in(format, number);
    if (mknod(path, type | 0600, 0) != 0 && mkdir(path, 0700) != 0 && errno != EEXIST)
        fail("cannot make", path);
    return path;
}

static int pipe_end(int end)
{
    int ends[2];
    if (pipe(ends) != 0 || write(ends[1], content, 64) != 64)
        fail("cannot make", "a pipe");
    return ends[end];
}

static int end_thread_or_child(void *unused)
{
    (void)unused;
    return 0;
}

static va_list *list_of(int unused, ...)
{
    static va_list list;
    va_start(list, unused);
    return &list;
}

static const char *absolute(const char *name)
{
    static char path[5000];
    if (getcwd(path, 4096) == NULL)
        fail("cannot find", "the working directory");
    return strcat(strcat(path, "/"), name);
}

static aio_context_t kernel_context(void)
{
    if (context == 0 && syscall(SYS_io_setup, 8, &context) != 0)
        context = 1; /* a sandbox may not have it: then all calls fail */
    return context;
}

static long kernel_list_value(struct value *value)
{
    int fd = opened("file", O_RDWR);
    for (int i = 0; i < 2; i++) {
        kernel_blocks[i] = (struct iocb){ .aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = (unsigned)fd, .aio_buf = (uintptr_t)room, .aio_nbytes = 8 };
        kernel_list[i] = &kernel_blocks[i];
    }
    return array_value(kernel_list, sizeof kernel_list, &kernel_list[1], value);
}

static struct aiocb *block(void)
{
    static int number;
    struct aiocb *one = &blocks[number++ % 2];
    *one = (struct aiocb){ .aio_fildes = opened("file", O_RDWR), .aio_buf = room, .aio_nbytes = 8, .aio_lio_opcode = LIO_READ };
    return one;
}

static long block_list_value(struct value *value)
{
    block_list[0] = block();
    block_list[1] = block();
    return array_value(block_list, sizeof block_list, &block_list[1], value);
}

/* One whose request is complete, as it has to be for libc to give its result. */
static struct aiocb *block_done(void)
{
    struct aiocb *one = block();
    aio_read(one);
    aio_suspend((const struct aiocb *const[]){ one }, 1, NULL);
    return one;
}

static long parts_value(struct value *value)
{
    parts[0] = (struct iovec){ room, 8 };
    parts[1] = (struct iovec){ room + 8, 8 };
    return array_value(parts, sizeof parts, &parts[1].iov_base, value);
}

static long arguments_value(struct value *value)
{
    arguments_list[0] = "true";
    arguments_list[1] = "argument";
    return array_value(arguments_list, sizeof arguments_list, &arguments_list[1], value);
}

static long variables_value(struct value *value)
{
    variables_list[0] = "FIRST=1";
    variables_list[1] = "SECOND=2";
    variables_list[2] = "THIRD=3";
    return array_value(variables_list, sizeof variables_list, &variables_list[1], value);
}

/* Where a file is mapped that the library knows. */
static void *mapped(void)
{
    void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, opened("file", O_RDWR), 0);
    if (page == MAP_FAILED)
        fail("cannot map", "a file");
    return page;
}

static FILE *stream_of(const char *mode)
{
    return fopen("numbers", mode);
}

static FILE *wide_stream(void)
{
    FILE *stream = stream_of("r+");
    if (stream != NULL)
        fwide(stream, 1);
    return stream;
}

static struct io_uring_params ring_params;

/* A ring as a program of its own would make it. */
static int ring_fd(void)
{
    memset(&ring_params, 0, sizeof ring_params);
    int fd = (int)syscall(SYS_io_uring_setup, 4, &ring_params);
    if (fd < 0)
        return fd;
    size_t sq_bytes = ring_params.sq_off.array + ring_params.sq_entries * sizeof(unsigned);
    size_t cq_bytes = ring_params.cq_off.cqes + ring_params.cq_entries * sizeof(struct io_uring_cqe);
    mmap(NULL, sq_bytes > cq_bytes ? sq_bytes : cq_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQ_RING);
    mmap(NULL, ring_params.sq_entries * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQES);
    return fd;
}

/* One whose memory the program has let go of, without a call that tells of it. */
static int ring_gone_fd(void)
{
    memset(&ring_params, 0, sizeof ring_params);
    int fd = (int)syscall(SYS_io_uring_setup, 4, &ring_params);
    if (fd < 0)
        return fd;
    void *queues = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQ_RING);
    void *entries = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQES);
    mmap(queues, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    mprotect(entries, 4096, PROT_NONE);
    return fd;
}

#ifdef WITH_LIBURING
static struct ring_of_liburing { char bytes[512]; } liburing_ring;

static void *ring_object(void)
{
    int (*init)(unsigned, void *, unsigned) = dlsym(RTLD_DEFAULT, "io_uring_queue_init");
    if (init == NULL || init(4, &liburing_ring, 0) != 0)
        memset(&liburing_ring, 0, sizeof liburing_ring);
    return &liburing_ring;
}
#else
static void *ring_object(void)
{
    return room;
}
#endif

#ifdef WITH_MPI
#include "bad_pointers_mpi.h"
#else
static bool make_mpi_value(const char *kind, int number, struct value *value)
{
    (void)kind, (void)number, (void)value;
    return false;
}

static void prepare_mpi(int *argc, char ***argv)
{
    (void)argc, (void)argv;
}

static void finish(void)
{
}

static bool is_own_row(const char *line)
{
    return strncmp(line, "MPI_", 4) != 0;
}
#endif

static void prepare(int *argc, char ***argv)
{
    for (const char *const *name = (const char *const[]){ "file", "numbers", "out", NULL }; *name != NULL; name++) {
        int fd = opened(*name, O_RDWR | O_CREAT);
        if (write(fd, content, sizeof content) != sizeof content)
            fail("cannot write", *name);
        close(fd);
    }
    if (mkdir("listed", 0700) != 0)
        fail("cannot make", "a folder");
    prepare_mpi(argc, argv);
}

/* clang-format off */
static bool make_value(const char *kind, int number, struct value *value)
{
    const struct timeval times[2] = { { 1, 0 }, { 1, 0 } };
    static const struct timespec times_ns[2], no_time;
    static const struct utimbuf utime_times = { 1, 1 };
    static off_t offset;
    static uint64_t word;
    static int ints[2], pid_room;
    static char *line;
    static size_t line_size;
    static struct timeval own_times[2];
    static char stack[65536] __attribute__((aligned(16)));
    static struct { struct file_handle handle; unsigned char rest[128]; } handle;
    static struct open_how { uint64_t flags, mode, resolve; } how;
    static struct flock lock = { .l_type = F_RDLCK };
    memcpy(own_times, times, sizeof times);
    offset = 0;
    line = NULL;
    line_size = 0;
    handle.handle.handle_bytes = sizeof handle.rest;
#define KIND(name, made_by) if (strcmp(kind, #name) == 0) return made_by;
    KIND(fd, number_value(opened("file", O_RDWR), value))
    KIND(to_fd, number_value(opened(path_in("to-%d", number), O_RDWR | O_CREAT), value))
    KIND(folder_fd, number_value(opened(".", O_RDONLY | O_DIRECTORY), value))
    KIND(listed_fd, number_value(opened("listed", O_RDONLY | O_DIRECTORY), value))
    KIND(program_fd, number_value(opened("/bin/true", O_RDONLY), value))
    KIND(pipe_in, number_value(pipe_end(1), value))
    KIND(pipe_out, number_value(pipe_end(0), value))
    KIND(here, number_value(AT_FDCWD, value))
    KIND(file, text_value("file", value))
    KIND(absolute, text_value(absolute("file"), value))
    KIND(absolute_gone, text_value(absolute("gone"), value))
    KIND(gone, text_value("gone/gone", value))
    KIND(empty, text_value("", value))
    KIND(fresh, text_value(path_in("fresh-%d", number), value))
    KIND(victim, text_value(made("victim-%d", number, S_IFREG), value))
    KIND(folder, text_value(made("folder-%d", number, S_IFDIR), value))
    KIND(link, (symlink("file", path_in("link-%d", number)), text_value(path_in("link-%d", number), value)))
    KIND(dot, text_value(".", value))
    KIND(template, text_value("XXXXXX", value))
    KIND(template_c, text_value("XXXXXX.c", value))
    KIND(attribute, text_value("user.one", value))
    KIND(numbers, text_value("numbers", value))
    KIND(program, text_value("/bin/true", value))
    KIND(command, text_value("true", value))
    KIND(mode_r, text_value("r+", value))
    KIND(mode_pipe, text_value("r", value))
    KIND(text, text_value("text\n", value))
    KIND(format, text_value("text\n", value))
    KIND(scan_format, text_value("12", value))
    KIND(wide_text, wide_value(L"text\n", value))
    KIND(wide_scan, wide_value(L"12", value))
    KIND(bytes, pointer_value(content, 64, 8, value))
    KIND(room, room_value(4096, value))
    KIND(room_64, room_value(64, value))
    KIND(parts, parts_value(value))
    KIND(offset, pointer_value(&offset, sizeof offset, 8, value))
    KIND(word, pointer_value(&word, sizeof word, 8, value))
    KIND(int_room, pointer_value(&pid_room, sizeof pid_room, 4, value))
    KIND(times, pointer_value(own_times, sizeof own_times, 8, value))
    KIND(times_ns, pointer_value(times_ns, sizeof times_ns, 8, value))
    KIND(utimbuf, pointer_value(&utime_times, sizeof utime_times, 8, value))
    KIND(no_time, pointer_value(&no_time, sizeof no_time, 8, value))
    KIND(how, pointer_value(&how, sizeof how, 8, value))
    KIND(lock, pointer_value(&lock, sizeof lock, 8, value))
    KIND(handle, pointer_value(&handle, sizeof handle, 8, value))
    KIND(stat, room_value(sizeof(struct stat), value))
    KIND(statx, room_value(256, value))
    KIND(statfs, room_value(120, value))
    KIND(stream, object_value(stream_of("r+"), value))
    KIND(standard_in, object_value(stdin, value))
    KIND(standard_out, object_value(stdout, value))
    KIND(stream_r, object_value(stream_of("r"), value))
    KIND(wide_stream, object_value(wide_stream(), value))
    KIND(stream_pipe, object_value(popen("true", "r"), value))
    KIND(directory, object_value(opendir("."), value))
    KIND(entry, room_value(280, value))
    KIND(entry_pointer, room_value(8, value))
    KIND(entries_pointer, room_value(8, value))
    KIND(no_code, (value->is_pointer = value->is_code = true))
    KIND(list, object_value(list_of(0, 1L, 2L), value))
    KIND(line_pointer, pointer_value(&line, sizeof line, 8, value))
    KIND(size_pointer, pointer_value(&line_size, sizeof line_size, 8, value))
    KIND(position, pointer_value(&(fpos_t){ 0 }, sizeof(fpos_t), 8, value))
    KIND(arguments, arguments_value(value))
    KIND(variables, variables_value(value))
    KIND(first_argument, text_value("true", value))
    KIND(block, pointer_value(block(), sizeof(struct aiocb), 8, value))
    KIND(block_done, object_value(block_done(), value))
    KIND(block_list, block_list_value(value))
    KIND(done_list, (block_list[0] = block_done(), block_list[1] = block(), array_value(block_list, sizeof block_list, &block_list[1], value)))
    KIND(no_notice, (value->is_pointer = true, value->bytes = room, value->size = 64, 1))
    KIND(context, number_value((long)kernel_context(), value))
    KIND(kernel_list, kernel_list_value(value))
    KIND(events, room_value(64, value))
    KIND(signals, pointer_value(&word, sizeof word, 8, value))
    KIND(ring, object_value(ring_object(), value))
    KIND(zeroed_ring, pointer_value(content + 4096, 512, 8, value))
    KIND(params, room_value(sizeof(struct io_uring_params), value))
    KIND(ring_fd, number_value(ring_fd(), value))
    KIND(ring_gone_fd, number_value(ring_gone_fd(), value))
    KIND(ints, pointer_value(ints, sizeof ints, 4, value))
    KIND(child, code_value(end_thread_or_child, value))
    KIND(stack, code_value(stack + sizeof stack, value))
    KIND(mapped, number_value((long)mapped(), value))
    KIND(thread, room_value(8, value))
    KIND(run, number_value((long)end_thread_or_child, value))
    KIND(ring_time, (value->word = (long)&no_time, 1))
#undef KIND
    return make_mpi_value(kind, number, value);
}
/* clang-format on */

#endif
