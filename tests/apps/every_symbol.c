/* Calls every interposed function of libc by each of its names, found at run time: so by names that headers no longer give, and by those that
 * only other releases of libc have. Tells how often it called each. What replaces or ends processes is not here. */
#include "scenario.h"

#include <aio.h>
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <utime.h>
#include <wchar.h>

static void *called(const char *symbol)
{
    void *found = dlsym(RTLD_DEFAULT, symbol);
    REQUIRE(found != NULL);
    tell(symbol, 1);
    return found;
}

/* libc's own, past whatever is preloaded. */
#define UNSEEN(function) ((__typeof__(&function))dlsym(dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), #function))

/* Calls each of the functions, whose names are apart by blanks, and requires `claim` of its `result`. */
#define EACH(prototype, symbols, arguments, claim) \
    for (char *rest = strdup(symbols), *symbol; (symbol = strsep(&rest, " ")) != NULL;) { \
        errno = 0; \
        __auto_type result = ((__typeof__(prototype) *)called(symbol)) arguments; \
        REQUIRE(claim); \
    }
#define EACH_VOID(prototype, symbols, arguments) \
    for (char *rest = strdup(symbols), *symbol; (symbol = strsep(&rest, " ")) != NULL;) \
        ((__typeof__(prototype) *)called(symbol)) arguments;

/* A name that no call before had, nor any that follows. */
static char *fresh(const char *suffix)
{
    static char name[32];
    static int number;
    snprintf(name, sizeof name, "%d-%s", number++, suffix);
    return name;
}

typedef ssize_t checked_read(int, void *, size_t, size_t), checked_pread(int, void *, size_t, off_t, size_t);
typedef int versioned_stat(int, const char *, struct stat *);

static char room[8192];
static const char text[] = "0123456789";
static struct iovec parts[] = { { room, 3 }, { room + 3, 4 } };

static void open_and_close(void)
{
    EACH(open, "open open64", (fresh("o"), O_RDWR | O_CREAT, 0600), result >= 0)
    EACH(int(const char *, int), "__open __open64 __open_2 __open64_2", ("file", O_RDONLY), result >= 0)
    EACH(openat, "openat openat64", (AT_FDCWD, fresh("o"), O_RDWR | O_CREAT, 0600), result >= 0)
    EACH(int(int, const char *, int), "__openat_2 __openat64_2", (AT_FDCWD, "file", O_RDONLY), result >= 0)
    EACH(creat, "creat creat64", (fresh("o"), 0600), result >= 0)
    EACH(dup, "dup", (0), result >= 0)
    EACH(dup2, "dup2 __dup2", (0, 900), result == 900)
    EACH(dup3, "dup3", (0, 901, O_CLOEXEC), result == 901)
    EACH(fcntl, "fcntl fcntl64 __fcntl", (0, F_GETFL), result >= 0)
    EACH(lockf, "lockf lockf64", (900, F_TEST, 1), result == 0 || errno != 0)
    EACH(close, "close", (900), result == 0)
    EACH(close, "__close", (901), result == 0)
    EACH(int(unsigned, unsigned, int), "close_range", (1000, 1001, 0), result == 0)
    EACH_VOID(void(int), "closefrom", (1000))
}

static void list_to_descriptor(int fd, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    EACH(vdprintf, "vdprintf", (fd, format, arguments), result == 4)
    va_end(arguments);
    va_start(arguments, format);
    EACH(int(int, int, const char *, va_list), "__vdprintf_chk", (fd, 1, format, arguments), result == 4)
    va_end(arguments);
}

static void transfer(int fd)
{
    EACH(write, "write __write", (fd, text, 10), result == 10)
    EACH(pwrite, "pwrite pwrite64 __pwrite64", (fd, text, 10, 0), result == 10)
    EACH(writev, "writev", (fd, parts, 2), result == 7)
    EACH(pwritev, "pwritev pwritev64", (fd, parts, 2, 0), result == 7)
    EACH(pwritev2, "pwritev2 pwritev64v2", (fd, parts, 2, 0, 0), result == 7)
    EACH(lseek, "lseek lseek64 __lseek", (fd, 0, SEEK_SET), result == 0)
    EACH(read, "read __read", (fd, room, 5), result == 5)
    EACH(checked_read, "__read_chk", (fd, room, 5, sizeof room), result == 5)
    EACH(pread, "pread pread64 __pread64", (fd, room, 6, 0), result == 6)
    EACH(checked_pread, "__pread_chk __pread64_chk", (fd, room, 6, 0, sizeof room), result == 6)
    EACH(readv, "readv", (fd, parts, 2), result == 7)
    EACH(preadv, "preadv preadv64", (fd, parts, 2, 0), result == 7)
    EACH(preadv2, "preadv2 preadv64v2", (fd, parts, 2, 0, 0), result == 7)
    EACH(dprintf, "dprintf", (fd, "%d\n", 123), result == 4)
    EACH(int(int, int, const char *, ...), "__dprintf_chk", (fd, 1, "%d\n", 123), result == 4)
    list_to_descriptor(fd, "%d\n", 123);
    ((long (*)(long, ...))dlsym(RTLD_DEFAULT, "syscall"))(SYS_read, fd, room, 1);
    tell("read", 1);
}

static void copy(int from, int to)
{
    int pipes[2];
    off_t start = 0;
    REQUIRE(pipe(pipes) == 0);
    EACH(sendfile, "sendfile sendfile64", (to, from, &start, 9), result == 9)
    EACH(copy_file_range, "copy_file_range", (from, &start, to, NULL, 8, 0), result == 8)
    EACH(splice, "splice", (from, &start, pipes[1], NULL, 7, 0), result == 7)
    EACH(tee, "tee", (pipes[0], pipes[1], 0, 0), result == 0)
    EACH(vmsplice, "vmsplice", (pipes[1], parts, 2, 0), result == 7)
}

static void change(int fd)
{
    const struct timeval times[2] = { { 1, 0 }, { 1, 0 } };
    const struct timespec times_ns[2] = { { 1, 0 }, { 1, 0 } };
    dev_t device = 0;
    EACH(fsync, "fsync fdatasync syncfs", (fd), result == 0)
    EACH(sync_file_range, "sync_file_range", (fd, 0, 10, 0), result == 0)
    EACH_VOID(sync, "sync", ())
    EACH(truncate, "truncate truncate64", ("file", 5000), result == 0)
    EACH(ftruncate, "ftruncate ftruncate64", (fd, 5000), result == 0)
    EACH(fallocate, "fallocate fallocate64", (fd, 0, 0, 5000), result == 0)
    EACH(posix_fallocate, "posix_fallocate posix_fallocate64", (fd, 0, 5000), result == 0)
    EACH(readahead, "readahead", (fd, 0, 100), result == 0)
    EACH(posix_fadvise, "posix_fadvise posix_fadvise64", (fd, 0, 0, POSIX_FADV_NORMAL), result == 0)
    EACH(chmod, "chmod", ("file", 0600), result == 0)
    EACH(chmod, "lchmod", ("file", 0600), result == 0 || errno == EOPNOTSUPP)
    EACH(fchmodat, "fchmodat", (AT_FDCWD, "file", 0600, 0), result == 0)
    EACH(fchmod, "fchmod", (fd, 0600), result == 0)
    EACH(chown, "chown lchown", ("file", -1, -1), result == 0)
    EACH(fchownat, "fchownat", (AT_FDCWD, "file", -1, -1, 0), result == 0)
    EACH(fchown, "fchown", (fd, -1, -1), result == 0)
    EACH(utime, "utime", ("file", NULL), result == 0)
    EACH(utimes, "utimes lutimes", ("file", times), result == 0)
    EACH(futimesat, "futimesat", (AT_FDCWD, "file", times), result == 0)
    EACH(utimensat, "utimensat", (AT_FDCWD, "file", times_ns, 0), result == 0)
    EACH(futimes, "futimes", (fd, times), result == 0)
    EACH(futimens, "futimens", (fd, times_ns), result == 0)
    EACH(flock, "flock", (fd, LOCK_UN), result == 0)
    EACH(ioctl, "ioctl", (fd, FIONREAD, room), result == 0)
    EACH(mknod, "mknod", (fresh("n"), S_IFREG | 0600, 0), result == 0)
    EACH(mknodat, "mknodat", (AT_FDCWD, fresh("n"), S_IFREG | 0600, 0), result == 0)
    EACH(mkfifo, "mkfifo", (fresh("n"), 0600), result == 0)
    EACH(mkfifoat, "mkfifoat", (AT_FDCWD, fresh("n"), 0600), result == 0)
    EACH(int(int, const char *, mode_t, dev_t *), "__xmknod", (0, fresh("n"), S_IFREG | 0600, &device), result == 0)
    EACH(int(int, int, const char *, mode_t, dev_t *), "__xmknodat", (0, AT_FDCWD, fresh("n"), S_IFREG | 0600, &device), result == 0)
}

static void look(int fd)
{
    struct stat status;
    struct statx more;
    struct statfs system;
    struct statvfs numbers;
#ifdef __x86_64__
    const int version = 1;
#else
    const int version = 0;
#endif
    EACH(stat, "stat stat64 lstat lstat64", ("file", &status), result == 0)
    EACH(fstat, "fstat fstat64", (fd, &status), result == 0)
    EACH(fstatat, "fstatat fstatat64", (AT_FDCWD, "file", &status, 0), result == 0)
    EACH(versioned_stat, "__xstat __xstat64 __lxstat __lxstat64", (version, "file", &status), result == 0)
    EACH(int(int, int, struct stat *), "__fxstat __fxstat64", (version, fd, &status), result == 0)
    EACH(int(int, int, const char *, struct stat *, int), "__fxstatat __fxstatat64", (version, AT_FDCWD, "file", &status, 0), result == 0)
    EACH(statx, "statx", (AT_FDCWD, "file", 0, STATX_SIZE, &more), result == 0)
    EACH(statfs, "statfs statfs64 __statfs", (".", &system), result == 0)
    EACH(fstatfs, "fstatfs fstatfs64", (fd, &system), result == 0)
    EACH(statvfs, "statvfs statvfs64", (".", &numbers), result == 0)
    EACH(fstatvfs, "fstatvfs fstatvfs64", (fd, &numbers), result == 0)
    EACH(access, "access euidaccess eaccess", ("file", R_OK), result == 0)
    EACH(faccessat, "faccessat", (AT_FDCWD, "file", R_OK, 0), result == 0)
    EACH(realpath, "realpath", ("file", NULL), result != NULL)
    EACH(char *(const char *, char *, size_t), "__realpath_chk", ("file", room, sizeof room), result == room)
    EACH(canonicalize_file_name, "canonicalize_file_name", ("file"), result != NULL)
}

/* Whether or not the file system has them. */
static void extend(int fd)
{
    struct { struct file_handle handle; unsigned char rest[128]; } own = { .handle.handle_bytes = sizeof own.rest };
    int mount;
    EACH(setxattr, "setxattr lsetxattr", ("file", "user.one", "1", 1, 0), result == 0 || errno != 0)
    EACH(fsetxattr, "fsetxattr", (fd, "user.one", "1", 1, 0), result == 0 || errno != 0)
    EACH(getxattr, "getxattr lgetxattr", ("file", "user.one", room, 10), result > 0 || errno != 0)
    EACH(fgetxattr, "fgetxattr", (fd, "user.one", room, 10), result > 0 || errno != 0)
    EACH(listxattr, "listxattr llistxattr", ("file", room, 100), result >= 0 || errno != 0)
    EACH(flistxattr, "flistxattr", (fd, room, 100), result >= 0 || errno != 0)
    EACH(removexattr, "removexattr lremovexattr", ("file", "user.one"), result == 0 || errno != 0)
    EACH(fremovexattr, "fremovexattr", (fd, "user.one"), result == 0 || errno != 0)
    EACH(name_to_handle_at, "name_to_handle_at", (AT_FDCWD, "file", &own.handle, &mount, 0), result == 0 || errno != 0)
    EACH(open_by_handle_at, "open_by_handle_at", (fd, &own.handle, O_RDONLY), result >= 0 || errno != 0)
}

static void name_and_remove(void)
{
    EACH(mkdir, "mkdir", ("folder", 0700), result == 0)
    EACH(mkdirat, "mkdirat", (AT_FDCWD, "folder2", 0700), result == 0)
    EACH(link, "link", ("file", "hard"), result == 0)
    EACH(linkat, "linkat", (AT_FDCWD, "file", AT_FDCWD, "harder", 0), result == 0)
    EACH(symlink, "symlink", ("file", "soft"), result == 0)
    EACH(symlinkat, "symlinkat", ("file", AT_FDCWD, "softer"), result == 0)
    EACH(readlink, "readlink", ("soft", room, 100), result == 4)
    EACH(readlinkat, "readlinkat", (AT_FDCWD, "soft", room, 100), result == 4)
    EACH(ssize_t(const char *, char *, size_t, size_t), "__readlink_chk", ("soft", room, 100, sizeof room), result == 4)
    EACH(ssize_t(int, const char *, char *, size_t, size_t), "__readlinkat_chk", (AT_FDCWD, "soft", room, 100, sizeof room), result == 4)
    EACH(rename, "rename", ("hard", "renamed"), result == 0)
    EACH(renameat, "renameat", (AT_FDCWD, "renamed", AT_FDCWD, "renamed2"), result == 0)
    EACH(renameat2, "renameat2", (AT_FDCWD, "renamed2", AT_FDCWD, "renamed3", 0), result == 0)
    EACH(unlink, "unlink", ("renamed3"), result == 0)
    EACH(unlinkat, "unlinkat", (AT_FDCWD, "harder", 0), result == 0)
    EACH(remove, "remove", ("soft"), result == 0)
    EACH(rmdir, "rmdir", ("folder2"), result == 0)
    EACH(mkdtemp, "mkdtemp", (strcpy(room, "XXXXXX")), result == room)
    EACH(mkstemp, "mkstemp mkstemp64", (strcpy(room, "XXXXXX")), result >= 0)
    EACH(mkostemp, "mkostemp mkostemp64", (strcpy(room, "XXXXXX"), O_CLOEXEC), result >= 0)
    EACH(mkstemps, "mkstemps mkstemps64", (strcpy(room, "XXXXXX.c"), 2), result >= 0)
    EACH(mkostemps, "mkostemps mkostemps64", (strcpy(room, "XXXXXX.c"), 2, O_CLOEXEC), result >= 0)
}

static void read_directory(void)
{
    struct dirent entry, *found, **all;
    off_t base = 0;
    int fd = UNSEEN(open)(".", O_RDONLY | O_DIRECTORY);
    EACH(getdents64, "getdents64", (fd, room, sizeof room), result > 0)
    EACH(getdirentries, "getdirentries getdirentries64", (fd, room, sizeof room, &base), result >= 0)
    EACH(fdopendir, "fdopendir", (fd), result != NULL)
    EACH(opendir, "opendir", ("."), result != NULL)
    DIR *folder = UNSEEN(opendir)(".");
    EACH(readdir, "readdir readdir64", (folder), result != NULL)
    EACH(int(DIR *, struct dirent *, struct dirent **), "readdir_r readdir64_r", (folder, &entry, &found), result == 0 && found != NULL)
    EACH_VOID(seekdir, "seekdir", (folder, 0))
    EACH_VOID(rewinddir, "rewinddir", (folder))
    EACH(closedir, "closedir", (folder), result == 0)
    EACH(scandir, "scandir scandir64", (".", &all, NULL, alphasort), result > 0)
    EACH(scandirat, "scandirat scandirat64", (AT_FDCWD, ".", &all, NULL, alphasort), result > 0)
}

static void map(int fd)
{
    void *memory = NULL;
    EACH(mmap, "mmap mmap64", (NULL, 4096, PROT_READ, MAP_SHARED, fd, 0), (memory = result) != MAP_FAILED)
    EACH(msync, "msync", (memory, 4096, MS_ASYNC), result == 0)
    EACH(mremap, "mremap", (memory, 4096, 8192, MREMAP_MAYMOVE), (memory = result) != MAP_FAILED)
    EACH(munmap, "munmap", (memory, 8192), result == 0)
}

/* The operation is counted when its result is asked for. */
static void ask_later(int fd)
{
    struct aiocb block = { .aio_fildes = fd, .aio_buf = room, .aio_nbytes = 11 }, listed = block;
    const struct aiocb *const list[] = { &block };
    listed.aio_lio_opcode = LIO_WRITE;
    EACH(aio_read, "aio_read aio_read64 aio_write aio_write64", (&block),
         result == 0 && UNSEEN(aio_suspend)(list, 1, NULL) == 0 && ((__typeof__(&aio_return))called("aio_return"))(&block) == 11)
    EACH(aio_fsync, "aio_fsync aio_fsync64", (O_SYNC, &block), result == 0 && UNSEEN(aio_suspend)(list, 1, NULL) == 0 &&
         ((__typeof__(&aio_return))called("aio_return64"))(&block) == 0)
    EACH(lio_listio, "lio_listio lio_listio64", (LIO_WAIT, &(struct aiocb *){ &listed }, 1, NULL), result == 0)
    tell("aio_write", 2);
    EACH(aio_suspend, "aio_suspend aio_suspend64", (list, 1, NULL), result == 0)
    EACH(aio_error, "aio_error aio_error64", (&block), result == 0)
}


/* A function that takes a list of arguments, after `stream` if that is given, and after a flag if it is one of the checked ones. */
static int with_list(const char *symbol, void *stream, const void *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    void *function = called(symbol);
    int result, is_checked = strstr(symbol, "_chk") != NULL;
    if (stream != NULL)
        result = is_checked ? ((int (*)(void *, int, const void *, va_list))function)(stream, 1, format, arguments)
                            : ((int (*)(void *, const void *, va_list))function)(stream, format, arguments);
    else
        result = is_checked ? ((int (*)(int, const void *, va_list))function)(1, format, arguments)
                            : ((int (*)(const void *, va_list))function)(format, arguments);
    va_end(arguments);
    return result;
}

/* The streams of the parts that follow, opened past us. A stream is wide or it is not: so the standard ones are opened anew for each part. */
static FILE *opened(const char *name, const char *mode, FILE *standard)
{
    FILE *stream = standard != NULL ? UNSEEN(freopen)(name, mode, standard) : UNSEEN(fopen)(name, mode);
    REQUIRE(stream != NULL);
    return stream;
}

static void open_streams(int fd)
{
    EACH(fopen, "fopen fopen64 _IO_fopen", ("numbers", "r"), result != NULL)
    EACH(fdopen, "fdopen _IO_fdopen", (fd, "r+"), result != NULL)
    FILE *stream = opened("numbers", "r", NULL);
    EACH(freopen, "freopen freopen64", ("numbers", "r", stream), result == stream)
    EACH(fclose, "fclose", (stream), result == 0)
    EACH(fclose, "_IO_fclose", (opened("numbers", "r", NULL)), result == 0)
    EACH(tmpfile, "tmpfile tmpfile64", (), result != NULL)
}

static int end_child(void *unused)
{
    (void)unused;
    UNSEEN(_exit)(0);
    return 0;
}

static void begin_processes(void)
{
    static char stack[65536] __attribute__((aligned(16)));
    EACH(fork, "fork __fork _Fork", (), result > 0 || (result == 0 && end_child(NULL) == 0))
    EACH(clone, "clone __clone", (end_child, stack + sizeof stack, SIGCHLD, NULL), result > 0)
    for (int i = 0; i < 5; i++)
        REQUIRE(wait(NULL) > 0);
    EACH(system, "system", ("true"), result == 0)
    EACH(popen, "popen _IO_popen", ("true", "r"), result != NULL && ((__typeof__(&pclose))called("pclose"))(result) == 0)
}

static void print(FILE *stream)
{
    EACH(fwrite, "fwrite fwrite_unlocked _IO_fwrite", (text, 1, 4, stream), result == 4)
    EACH(putw, "putw", (7, stream), result == 0)
    EACH(fputs, "fputs fputs_unlocked _IO_fputs", (text, stream), result > 0)
    EACH(puts, "puts _IO_puts", (text), result > 0)
    EACH(fputc, "fputc putc _IO_putc fputc_unlocked putc_unlocked", ('c', stream), result == 'c')
    EACH(putchar, "putchar putchar_unlocked", ('c'), result == 'c')
    EACH(int(FILE *, int), "__overflow", (stream, 'c'), result == 'c')
    EACH(fprintf, "fprintf _IO_fprintf", (stream, "%d\n", 1), result == 2)
    EACH(int(FILE *, int, const char *, ...), "__fprintf_chk", (stream, 1, "%d\n", 1), result == 2)
    EACH(printf, "printf _IO_printf", ("%d\n", 1), result == 2)
    EACH(int(int, const char *, ...), "__printf_chk", (1, "%d\n", 1), result == 2)
    for (int i = 0; i < 3; i++)
        REQUIRE(with_list(((const char *[]){ "vfprintf", "_IO_vfprintf", "__vfprintf_chk" })[i], stream, "%d\n", 1) == 2);
    for (int i = 0; i < 2; i++)
        REQUIRE(with_list(((const char *[]){ "vprintf", "__vprintf_chk" })[i], NULL, "%d\n", 1) == 2);
    EACH(fflush, "fflush fflush_unlocked _IO_fflush", (stream), result == 0)
    EACH(fseek, "fseek fseeko fseeko64", (stream, 0, SEEK_SET), result == 0)
    EACH(ftell, "ftell ftello ftello64 _IO_ftell", (stream), result == 0)
    fpos_t position;
    EACH(fgetpos, "fgetpos fgetpos64 _IO_fgetpos _IO_fgetpos64", (stream, &position), result == 0)
    EACH(fsetpos, "fsetpos fsetpos64 _IO_fsetpos _IO_fsetpos64", (stream, &position), result == 0)
    EACH_VOID(rewind, "rewind", (stream))
    EACH_VOID(perror, "perror", (NULL))
    EACH(fflush, "fflush", (NULL), result == 0)
}

static void scan(FILE *stream)
{
    char line[100], *whole = NULL;
    size_t size = 0;
    int number;
    EACH(fread, "fread fread_unlocked _IO_fread", (line, 1, 3, stream), result == 3)
    EACH(size_t(void *, size_t, size_t, size_t, FILE *), "__fread_chk __fread_unlocked_chk", (line, sizeof line, 1, 3, stream), result == 3)
    EACH(getw, "getw", (stream), result != 0)
    EACH(fgets, "fgets fgets_unlocked _IO_fgets", (line, 20, stream), result == line)
    EACH(char *(char *, size_t, int, FILE *), "__fgets_chk __fgets_unlocked_chk", (line, sizeof line, 20, stream), result == line)
    EACH(fgetc, "fgetc getc _IO_getc fgetc_unlocked getc_unlocked __uflow", (stream), result > 0)
    EACH(getchar, "getchar getchar_unlocked", (), result > 0)
    EACH(getline, "getline", (&whole, &size, stream), result > 0)
    EACH(getdelim, "getdelim __getdelim", (&whole, &size, '\n', stream), result > 0)
    EACH(fscanf, "fscanf __isoc99_fscanf", (stream, "%d", &number), result == 1)
    EACH(scanf, "scanf __isoc99_scanf", ("%d", &number), result == 1)
    EACH(fscanf, "__isoc23_fscanf", (stream, "%d", &number), result == 1 || errno == ENOSYS)
    EACH(scanf, "__isoc23_scanf", ("%d", &number), result == 1 || errno == ENOSYS)
    for (int i = 0; i < 3; i++)
        REQUIRE(with_list(((const char *[]){ "vfscanf", "__vfscanf", "__isoc99_vfscanf" })[i], stream, "%d", &number) == 1);
    for (int i = 0; i < 2; i++)
        REQUIRE(with_list(((const char *[]){ "vscanf", "__isoc99_vscanf" })[i], NULL, "%d", &number) == 1);
    REQUIRE(with_list("__isoc23_vfscanf", stream, "%d", &number) == 1 || errno == ENOSYS);
    REQUIRE(with_list("__isoc23_vscanf", NULL, "%d", &number) == 1 || errno == ENOSYS);
}

static void print_wide(FILE *stream)
{
    EACH(fputwc, "fputwc putwc fputwc_unlocked putwc_unlocked", (L'c', stream), result == L'c')
    EACH(putwchar, "putwchar putwchar_unlocked", (L'c'), result == L'c')
    EACH(fputws, "fputws fputws_unlocked", (L"text\n", stream), result >= 0)
    EACH(fwprintf, "fwprintf", (stream, L"%d\n", 1), result == 2)
    EACH(int(FILE *, int, const wchar_t *, ...), "__fwprintf_chk", (stream, 1, L"%d\n", 1), result == 2)
    EACH(wprintf, "wprintf", (L"%d\n", 1), result == 2)
    EACH(int(int, const wchar_t *, ...), "__wprintf_chk", (1, L"%d\n", 1), result == 2)
    for (int i = 0; i < 2; i++) {
        REQUIRE(with_list(((const char *[]){ "vfwprintf", "__vfwprintf_chk" })[i], stream, L"%d\n", 1) == 2);
        REQUIRE(with_list(((const char *[]){ "vwprintf", "__vwprintf_chk" })[i], NULL, L"%d\n", 1) == 2);
    }
}

static void scan_wide(FILE *stream)
{
    wchar_t line[100];
    int number;
    EACH(fgetws, "fgetws fgetws_unlocked", (line, 20, stream), result == line)
    EACH(wchar_t *(wchar_t *, size_t, int, FILE *), "__fgetws_chk __fgetws_unlocked_chk", (line, 100, 20, stream), result == line)
    EACH(fgetwc, "fgetwc getwc fgetwc_unlocked getwc_unlocked", (stream), result != WEOF)
    EACH(getwchar, "getwchar getwchar_unlocked", (), result != WEOF)
    EACH(fwscanf, "fwscanf __isoc99_fwscanf", (stream, L"%d", &number), result == 1)
    EACH(wscanf, "wscanf __isoc99_wscanf", (L"%d", &number), result == 1)
    EACH(fwscanf, "__isoc23_fwscanf", (stream, L"%d", &number), result == 1 || errno == ENOSYS)
    EACH(wscanf, "__isoc23_wscanf", (L"%d", &number), result == 1 || errno == ENOSYS)
    for (int i = 0; i < 2; i++) {
        REQUIRE(with_list(((const char *[]){ "vfwscanf", "__isoc99_vfwscanf" })[i], stream, L"%d", &number) == 1);
        REQUIRE(with_list(((const char *[]){ "vwscanf", "__isoc99_vwscanf" })[i], NULL, L"%d", &number) == 1);
    }
    REQUIRE(with_list("__isoc23_vfwscanf", stream, L"%d", &number) == 1 || errno == ENOSYS);
    REQUIRE(with_list("__isoc23_vwscanf", NULL, L"%d", &number) == 1 || errno == ENOSYS);
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2 && chdir(argv[1]) == 0);
    int fd = UNSEEN(open)("file", O_RDWR | O_CREAT, 0600), to = UNSEEN(open)("to", O_RDWR | O_CREAT, 0600);
    begin_processes(); /* what children read and wrote is in the kernel's count of who waited for them */
    scenario_begin();
    open_and_close();
    transfer(fd);
    copy(fd, to);
    change(fd);
    look(fd);
    extend(fd);
    name_and_remove();
    read_directory();
    map(fd);
    open_streams(to);
    opened("printed", "w", stdout);
    print(opened("printed too", "w+", NULL));
    opened("numbers", "r", stdin);
    scan(opened("numbers", "r", NULL));
    opened("printed", "w", stdout);
    print_wide(opened("printed too", "w", NULL));
    opened("numbers", "r", stdin);
    scan_wide(opened("numbers", "r", NULL));
    EACH(fcloseall, "fcloseall", (), result == 0)
    ask_later(fd); /* last: what other streams hold is looked at while there is one thread alone */
    scenario_end();
    return 0;
}
