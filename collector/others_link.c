#include "others_link.h"

#include "print_line.h"
#include "raw.h"
#include "settings.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>

enum { ANSWER_SECONDS = 5, DESCRIPTORS_MAX = 1024 };

struct question {
    uint32_t own_used;
    struct own own[OWN_MAX];
};

struct reply {
    uint64_t refused, left_out;
    uint32_t rows_used;
    struct others_row rows[OTHER_ROWS_MAX];
};

#define BYTES_OF(message, array, used) (offsetof(message, array) + (used) * sizeof((message){ 0 }.array[0]))

/* Of root's powers two, as far as it has them: in a container it may not. */
static void give_up_powers(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct has[2] = { 0 }, keeps[2] = { 0 };
    syscall(SYS_capget, &header, has);
    const unsigned wanted = 1u << CAP_SYS_PTRACE | 1u << CAP_DAC_READ_SEARCH;
    keeps[0].permitted = keeps[0].effective = has[0].permitted & wanted;
    setgroups(0, NULL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    syscall(SYS_capset, &header, keeps);
}

/* Nothing of the caller's is held: it may wait for the ends of its pipes. */
static void let_go(int fd)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < 3 && null >= 0; i++)
        dup2(null, i);
    if (chdir("/") != 0 || setsid() < 0 || fd < 3)
        _exit(1);
    for (int other = 3; other < DESCRIPTORS_MAX; other++)
        if (other != fd)
            raw_close(other);
}

static _Noreturn void look_on(int fd, uint32_t job_user, bool is_named)
{
    static struct others others;
    static struct profiled_by_users profiled;
    static struct question question;
    static struct reply reply;
    struct settings settings;
    const char *tmpdir = getenv("TMPDIR");
    settings_read(&settings, NULL);
    const char *const dirs[] = { settings.segment_dir, tmpdir != NULL && tmpdir[0] == '/' ? tmpdir : "/tmp", NULL };
    let_go(fd);
    give_up_powers();
    if (others_begin(&others, "", settings.slice_ns, job_user, is_named) < 0)
        _exit(1);
    for (;;) {
        ssize_t got = recv(fd, &question, sizeof question, 0);
        if (got < (ssize_t)sizeof question.own_used || question.own_used > OWN_MAX || (size_t)got < BYTES_OF(struct question, own, question.own_used))
            _exit(0); /* the collector is gone, or is none */
        others_look(&others);
        profiled_by_users_find(&profiled, dirs);
        others_settle(&others, &profiled, question.own, question.own_used);
        reply.refused = others.refused;
        reply.left_out = others.left_out;
        reply.rows_used = others_take(&others, reply.rows);
        if (send(fd, &reply, BYTES_OF(struct reply, rows, reply.rows_used), MSG_NOSIGNAL) < 0)
            _exit(0);
    }
}

int others_link_begin(uint32_t job_user, bool is_named)
{
    int ends[2], room = 2 * (int)sizeof(struct reply);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -errno;
    for (int i = 0; i < 2; i++) {
        setsockopt(ends[i], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
        int high = fcntl(ends[i], F_DUPFD_CLOEXEC, 3); /* whatever the caller has closed */
        close(ends[i]);
        ends[i] = high;
    }
    if (ends[0] < 0 || ends[1] < 0)
        return -EMFILE;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        look_on(ends[1], job_user, is_named);
    }
    int failed = child < 0 ? -errno : 0;
    close(ends[1]);
    if (failed < 0)
        close(ends[0]);
    return failed < 0 ? failed : ends[0];
}

static void end(struct others_link *link)
{
    print_line(stderr, "slicewise: everybody else on the node is sampled no longer: the process that looks does not answer\n");
    close(link->fd);
    link->fd = 0;
    link->is_asked = false;
}

void others_link_ask(struct others_link *link, const struct sampled *sampled)
{
    static struct question question;
    if (link->fd == 0 || link->is_asked || link->rows_used > 0)
        return;
    question.own_used = 0;
    const struct belonging *belonging = sampled != NULL ? &sampled->belonging : NULL;
    for (unsigned i = 0; belonging != NULL && i < belonging->used && question.own_used < OWN_MAX; i++) {
        const struct seen *one = &belonging->seen[i];
        if (one->is_of_job || one->pid == belonging->self || (belonging->launcher != 0 && one->pid == belonging->launcher))
            question.own[question.own_used++] = (struct own){ .pid = one->pid, .start_ticks = one->start_ticks };
    }
    link->is_asked = send(link->fd, &question, BYTES_OF(struct question, own, question.own_used), MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
    if (!link->is_asked && errno != EAGAIN)
        end(link);
}

void others_link_take(struct others_link *link)
{
    static struct reply reply;
    if (link->fd == 0 || !link->is_asked)
        return;
    struct timeval timeout = { .tv_sec = ANSWER_SECONDS };
    setsockopt(link->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    ssize_t got = recv(link->fd, &reply, sizeof reply, 0);
    if (got < (ssize_t)offsetof(struct reply, rows) || reply.rows_used > OTHER_ROWS_MAX ||
        (size_t)got < BYTES_OF(struct reply, rows, reply.rows_used)) {
        end(link);
        return;
    }
    link->is_asked = false;
    link->refused = reply.refused;
    link->left_out = reply.left_out;
    link->rows_used = reply.rows_used;
    memcpy(link->rows, reply.rows, reply.rows_used * sizeof *reply.rows);
    if (link->refused > 0 && !link->has_said)
        print_line(stderr,
                   "slicewise: the kernel does not tell what others' processes read and write, %lu so far (root needs CAP_SYS_PTRACE and "
                   "CAP_DAC_READ_SEARCH, which containers often lack): they are not counted\n",
                   link->refused);
    link->has_said |= link->refused > 0;
}

_Static_assert((int)node_others_kernel_write_bytes - (int)node_others_read_bytes + 1 == (int)COUNT_CPU, "the counts are in the kernel's order");

void others_link_add_rows(const struct others_link *link, struct sample *sample)
{
    static uint64_t rows[OTHER_ROWS_MAX * NODE_OTHER_COLUMNS];
    for (unsigned i = 0; i < link->rows_used; i++) {
        uint64_t *row = rows + (size_t)i * NODE_OTHER_COLUMNS;
        row[node_others_slice] = link->rows[i].slice;
        row[node_others_user] = link->rows[i].user;
        row[node_others_processes] = link->rows[i].processes;
        memcpy(row + node_others_read_bytes, link->rows[i].counts, sizeof link->rows[i].counts);
        row[node_others_unsure_ns] = link->rows[i].unsure_ns;
    }
    sample_add(sample, TABLE_node_others, rows, link->rows_used);
}

void others_link_are_kept(struct others_link *link)
{
    link->rows_used = 0;
}
