/* syscall(): what programs ask of the kernel by number counts as the function of that name would. All else passes through. */
#include "interpose.h"
#include "io_uring.h"
#include "libaio.h"
#include "mlockall.h"
#include "name.h"
#include "posix_copy.h"
#include "sandbox.h"
#include "fast_path.h"

#include <sys/statfs.h>

/* What a call does, in the order of its arguments. */
enum action {
    NONE, READS, READS_AT, WRITES, WRITES_AT, WRITES_AT_AS_ASKED, SENDS, MOVES, TEES, GIVES_PAGES, OPENS, OPENS_AT, CLOSES, CLOSES_RANGE, COPIES,
    CONTROLS, SEEKS, TOUCHES, NAMES, NAMES_AT, NAMES_NONE, SUBMITS, REAPS, SETS_UP_RING, REGISTERS, ENTERS_RING, ENDS,
    GOES_ELSEWHERE, LOCKS_MEMORY, FORBIDS, FORBIDS_AS_PRCTL,
};

struct meaning {
    enum action action;
    enum operation operation;
};

static struct meaning meaning_of(long number)
{
    switch (number) {
    case SYS_read: return (struct meaning){ READS, OP_read };
    case SYS_readv: return (struct meaning){ READS, OP_readv };
    case SYS_pread64: return (struct meaning){ READS_AT, OP_pread };
    case SYS_preadv:
    case SYS_preadv2: return (struct meaning){ READS_AT, OP_preadv };
    case SYS_write: return (struct meaning){ WRITES, OP_write };
    case SYS_writev: return (struct meaning){ WRITES, OP_writev };
    case SYS_pwrite64: return (struct meaning){ WRITES_AT, OP_pwrite };
    case SYS_pwritev: return (struct meaning){ WRITES_AT, OP_pwritev };
    case SYS_pwritev2: return (struct meaning){ WRITES_AT_AS_ASKED, OP_pwritev };
    case SYS_sendfile: return (struct meaning){ SENDS, OP_sendfile };
    case SYS_copy_file_range: return (struct meaning){ MOVES, OP_copy_file_range };
    case SYS_splice: return (struct meaning){ MOVES, OP_splice };
    case SYS_tee: return (struct meaning){ TEES, OP_tee };
    case SYS_vmsplice: return (struct meaning){ GIVES_PAGES, OP_vmsplice };
#ifdef SYS_open /* processors of today have only the names with `at` */
    case SYS_open: return (struct meaning){ OPENS, OP_open };
    case SYS_creat: return (struct meaning){ OPENS, OP_creat };
    case SYS_stat: return (struct meaning){ NAMES, OP_stat };
    case SYS_lstat: return (struct meaning){ NAMES, OP_lstat };
    case SYS_access: return (struct meaning){ NAMES, OP_access };
    case SYS_unlink: return (struct meaning){ NAMES, OP_unlink };
    case SYS_rename: return (struct meaning){ NAMES, OP_rename };
    case SYS_mkdir: return (struct meaning){ NAMES, OP_mkdir };
    case SYS_rmdir: return (struct meaning){ NAMES, OP_rmdir };
    case SYS_mknod: return (struct meaning){ NAMES, OP_mknod };
    case SYS_link: return (struct meaning){ NAMES, OP_link };
    case SYS_readlink: return (struct meaning){ NAMES, OP_readlink };
    case SYS_chmod: return (struct meaning){ NAMES, OP_chmod };
    case SYS_chown:
    case SYS_lchown: return (struct meaning){ NAMES, OP_chown };
    case SYS_utime:
    case SYS_utimes: return (struct meaning){ NAMES, OP_utime };
    case SYS_futimesat: return (struct meaning){ NAMES_AT, OP_utime };
#endif
    case SYS_truncate: return (struct meaning){ NAMES, OP_truncate };
    case SYS_statfs: return (struct meaning){ NAMES, OP_statfs };
    case SYS_faccessat: return (struct meaning){ NAMES_AT, OP_access };
    case SYS_unlinkat: return (struct meaning){ NAMES_AT, OP_unlinkat };
    case SYS_renameat:
    case SYS_renameat2: return (struct meaning){ NAMES_AT, OP_renameat };
    case SYS_mkdirat: return (struct meaning){ NAMES_AT, OP_mkdirat };
    case SYS_mknodat: return (struct meaning){ NAMES_AT, OP_mknod };
    case SYS_linkat: return (struct meaning){ NAMES_AT, OP_link };
    case SYS_readlinkat: return (struct meaning){ NAMES_AT, OP_readlink };
    case SYS_fchmodat: return (struct meaning){ NAMES_AT, OP_chmod };
    case SYS_fchownat: return (struct meaning){ NAMES_AT, OP_chown };
    case SYS_utimensat: return (struct meaning){ NAMES_AT, OP_utime };
    case SYS_openat:
    case SYS_openat2: return (struct meaning){ OPENS_AT, OP_openat };
    case SYS_close: return (struct meaning){ CLOSES, OP_close };
    case SYS_dup: return (struct meaning){ COPIES, OP_dup };
#ifdef SYS_dup2
    case SYS_dup2:
#endif
    case SYS_dup3: return (struct meaning){ COPIES, OP_dup2 };
    case SYS_close_range: return (struct meaning){ CLOSES_RANGE, OP_close_range };
    case SYS_fcntl: return (struct meaning){ CONTROLS, OP_fcntl };
    case SYS_ioctl: return (struct meaning){ TOUCHES, OP_ioctl };
    case SYS_flock: return (struct meaning){ TOUCHES, OP_flock };
    case SYS_fallocate: return (struct meaning){ TOUCHES, OP_fallocate };
    case SYS_ftruncate: return (struct meaning){ TOUCHES, OP_ftruncate };
    case SYS_fchmod: return (struct meaning){ TOUCHES, OP_fchmod };
    case SYS_fchown: return (struct meaning){ TOUCHES, OP_fchown };
    case SYS_fstatfs: return (struct meaning){ TOUCHES, OP_fstatfs };
    case SYS_readahead: return (struct meaning){ TOUCHES, OP_readahead };
    case SYS_fadvise64: return (struct meaning){ TOUCHES, OP_posix_fadvise };
    case SYS_sync_file_range: return (struct meaning){ TOUCHES, OP_sync_file_range };
    case SYS_syncfs: return (struct meaning){ TOUCHES, OP_syncfs };
    case SYS_sync: return (struct meaning){ NAMES_NONE, OP_sync };
    case SYS_lseek: return (struct meaning){ SEEKS, OP_lseek };
    case SYS_fsync: return (struct meaning){ TOUCHES, OP_fsync };
    case SYS_fdatasync: return (struct meaning){ TOUCHES, OP_fdatasync };
    case SYS_getdents64: return (struct meaning){ TOUCHES, OP_getdents };
    case SYS_fstat: return (struct meaning){ TOUCHES, OP_fstat };
    case SYS_newfstatat: return (struct meaning){ NAMES_AT, OP_fstatat };
    case SYS_statx: return (struct meaning){ NAMES_AT, OP_statx };
    case SYS_seccomp: return (struct meaning){ FORBIDS, OP_prctl };
    case SYS_prctl: return (struct meaning){ FORBIDS_AS_PRCTL, OP_prctl };
    case SYS_mlockall: return (struct meaning){ LOCKS_MEMORY, OP_mlockall };
    case SYS_io_submit: return (struct meaning){ SUBMITS, OP_io_submit };
    case SYS_io_getevents:
    case SYS_io_pgetevents: return (struct meaning){ REAPS, OP_io_getevents };
    case SYS_io_uring_setup: return (struct meaning){ SETS_UP_RING, OP_io_uring_setup };
    case SYS_io_uring_register: return (struct meaning){ REGISTERS, OP_io_uring_setup };
    case SYS_io_uring_enter: return (struct meaning){ ENTERS_RING, OP_io_uring_enter };
    case SYS_chdir:
    case SYS_fchdir:
    case SYS_chroot:
    case SYS_pivot_root:
    case SYS_mount:
    case SYS_umount2:
    case SYS_unshare:
#ifdef SYS_move_mount /* the headers of many systems are older than it */
    case SYS_move_mount:
#endif
    case SYS_setns: return (struct meaning){ GOES_ELSEWHERE, OP_chdir };
    case SYS_exit_group: return (struct meaning){ ENDS, OP__exit };
    default: return (struct meaning){ NONE, 0 };
    }
}

static const void *address(long word)
{
    return (const void *)word; // NOLINT(performance-no-int-to-ptr)
}

/* preadv2 and its kin: -1 is the descriptor's own position. */
static int64_t offset_of(long word)
{
    return word == -1 ? NO_OFFSET : word;
}

/* Before the call. Returns what `count` needs to know of that: what a descriptor led to that it closes, how many requests it may submit,
 * whether its ring is known, or what the thread has fetched. */
static uint64_t prepare(struct meaning meaning, const struct call *call, const long *argument)
{
    switch (meaning.action) {
    case CLOSES: return descriptor_release((int)argument[0]);
    case CLOSES_RANGE: descriptor_release_range((unsigned)argument[0], (unsigned)argument[1]); break;
    case SUBMITS: return (uint64_t)libaio_begin(call, argument[1], address(argument[2]));
    case ENTERS_RING: return uring_begin(call, (int)argument[0]);
    case SENDS: return call_fetched((size_t)argument[3]);
    case MOVES: return call_fetched((size_t)argument[4]);
    case TEES: return call_fetched((size_t)argument[2]);
    case ENDS:
        call_lived(call);
        engine_finish(ENDING_underscore_exit);
        break;
    default: break;
    }
    return 0;
}

/* The name, where the call may have written over it. */
static const char *name_of(struct meaning meaning, const long *argument, long result)
{
    unsigned name = meaning.action == NAMES_AT, to = name + 1;
    const char *path = address(argument[name]);
    switch (meaning.operation) {
    case OP_readlink: return name_apart(path, address(argument[to]), result);
    case OP_statx: return name_apart(path, address(argument[to + 2]), result == 0 ? (long)sizeof(struct statx) : -1);
    case OP_statfs: return name_apart(path, address(argument[to]), result == 0 ? (long)sizeof(struct statfs) : -1);
    case OP_stat:
    case OP_lstat:
    case OP_fstatat: return name_apart(path, address(argument[to]), result == 0 ? (long)sizeof(struct stat) : -1);
    default: return path;
    }
}

static void count(struct meaning meaning, const struct call *call, const long *argument, uint64_t prepared, long result)
{
    int fd = (int)argument[0];
    switch (meaning.action) {
    case READS: call_read(call, fd, NO_OFFSET, result); break;
    case READS_AT: call_read(call, fd, offset_of(argument[3]), result); break;
    case WRITES: call_wrote(call, fd, NO_OFFSET, result); break;
    case WRITES_AT:
    case WRITES_AT_AS_ASKED:
        call_wrote(call, fd, offset_of(argument[3]), result);
        if (meaning.action == WRITES_AT_AS_ASKED && (argument[5] & CALL_SYNCS) != 0)
            call_synced(fd, result);
        break;
    case SENDS: call_copied(call, (int)argument[1], copy_beginning(address(argument[2]), result), fd, NO_OFFSET, result, prepared); break;
    case MOVES:
        call_copied(call, fd, copy_beginning(address(argument[1]), result), (int)argument[2], copy_beginning(address(argument[3]), result),
                    result, prepared);
        break;
    case TEES: call_copied(call, fd, NO_OFFSET, (int)argument[1], NO_OFFSET, result, prepared); break;
    case GIVES_PAGES: copy_gave_pages(call, fd, result); break;
    case OPENS: call_opened(call, (int)result, AT_FDCWD, address(argument[0])); break;
    case OPENS_AT: call_opened(call, (int)result, fd, address(argument[1])); break;
    case CLOSES:
    case CLOSES_RANGE:
    case NAMES_NONE: call_touched_descriptor(call, prepared, result < 0); break;
    case CONTROLS:
        if (argument[1] != F_DUPFD && argument[1] != F_DUPFD_CLOEXEC) {
            call_touched(call, fd, result < 0);
            break;
        }
        __attribute__((fallthrough));
    case COPIES:
        descriptor_copied(fd, (int)result);
        call_touched(call, fd, result < 0);
        break;
    case SEEKS: call_sought(call, fd, result); break;
    case TOUCHES: call_touched(call, fd, result < 0); break;
    case NAMES: call_named(call, AT_FDCWD, name_of(meaning, argument, result), result < 0); break;
    case NAMES_AT: call_named(call, fd, name_of(meaning, argument, result), result < 0); break;
    case GOES_ELSEWHERE: name_forget(); break;
    case SUBMITS: libaio_submitted(call, (long)prepared, address(argument[2]), result); break;
    case REAPS: libaio_reaped(call, address(argument[3]), result); break;
    case SETS_UP_RING: uring_set_up(call, (int)result, address(argument[1])); break;
    case REGISTERS:
        if (argument[1] == IORING_REGISTER_FILES && result >= 0)
            uring_registered(fd, address(argument[2]), (unsigned)argument[3]);
        call_lived(call);
        break;
    case ENTERS_RING: uring_entered(call, fd, prepared != 0, result); break;
    case NONE:
    case LOCKS_MEMORY:
    case FORBIDS:
    case FORBIDS_AS_PRCTL:
    case ENDS: break;
    }
}

/* libaio, and liburing where it was built so, make their calls by number; they are counted as theirs. */
static bool is_of_library(enum action action)
{
    return thread_state.library_depth > 0 && (action == SUBMITS || action == REAPS || action == ENTERS_RING);
}

static long counted(struct meaning meaning, long number, long a, long b, long c, long d, long e, long f);

/* Whatever number of arguments the caller passed: what it did not is never looked at. What is no I/O leaves no trace on the stack, which
 * a call like clone may return to twice. */
INTERPOSE_SYMBOL(long, system_call, syscall, (long number, long a, long b, long c, long d, long e, long f))
{
    struct meaning meaning = meaning_of(number);
    if (meaning.action == LOCKS_MEMORY)
        return mlockall_counted((int)a);
    if (meaning.action >= FORBIDS) {
        if (meaning.action == FORBIDS)
            sandbox_prepare_seccomp(a, address(c));
        else
            sandbox_prepare_prctl(a, b, address(c));
    }
    if (meaning.action == NONE || meaning.action >= FORBIDS || is_of_library(meaning.action))
        return REAL(system_call)(number, a, b, c, d, e, f);
    return counted(meaning, number, a, b, c, d, e, f);
}

__attribute__((noinline)) static long counted(struct meaning meaning, long number, long a, long b, long c, long d, long e, long f)
{
    const long argument[] = { a, b, c, d, e, f };
    struct call call = call_begin(meaning.operation);
    uint64_t prepared = prepare(meaning, &call, argument);
    long result = REAL(system_call)(number, a, b, c, d, e, f);
    call_end(&call);
    count(meaning, &call, argument, prepared, result);
    call_close(&call);
    return result;
}
