#include "statmount.h"

#include "raw.h"
#include "valgrind.h"

#include <string.h>
#include <sys/prctl.h>

/* As the kernel has them; the headers of many systems are older. */
#ifndef SYS_statmount
#define SYS_statmount 457
#endif
struct request {
    uint32_t size, spare;
    uint64_t mount, wanted;
};
struct answer {
    uint32_t size, options;
    uint64_t given;
    uint32_t device_major, device_minor;
    uint64_t magic;
    uint32_t flags, type;
    uint64_t mount, parent;
    uint32_t old_mount, old_parent;
    uint64_t attributes, propagation, peers, master, from;
    uint32_t root, point;
    uint64_t name_space;
    uint32_t subtype, source;
};
enum { WANTS_POINT = 0x10, WANTS_TYPE = 0x20, WANTS_OPTIONS = 0x80, WANTS_SUBTYPE = 0x100, WANTS_SOURCE = 0x200 };
_Static_assert(sizeof(struct answer) <= sizeof((struct one_mount *)0)->room.head, "the texts follow the head");

static bool is_filtered(void)
{
    return syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) != 0;
}

/* Returns 0, or -1 where the kernel does not say or may not be asked. */
static int ask(const struct statx *status, uint64_t wanted, struct one_mount *mount, struct answer *answer)
{
    const struct request request = { .size = sizeof request, .mount = status->stx_mnt_id, .wanted = wanted };
    if ((status->stx_mask & STATX_MNT_ID_UNIQUE) == 0 || valgrind_is_here() || is_filtered() ||
        syscall(SYS_statmount, &request, &mount->room, sizeof mount->room, 0) != 0)
        return -1;
    memcpy(answer, mount->room.head, sizeof *answer);
    return 0;
}

char *statmount_options(const struct statx *status, struct one_mount *mount)
{
    struct answer answer;
    if (ask(status, WANTS_OPTIONS, mount, &answer) < 0 || (answer.given & WANTS_OPTIONS) == 0)
        return NULL;
    return mount->room.text + answer.options;
}

bool statmount_of(const struct statx *status, struct one_mount *mount)
{
    const uint64_t always = WANTS_POINT | WANTS_TYPE | WANTS_SOURCE;
    struct answer answer;
    char *text = mount->room.text;
    if (ask(status, always | WANTS_SUBTYPE, mount, &answer) < 0)
        return false;
    if ((answer.given & always) != always || text[answer.point] != '/')
        return false;
    mount->point = text + answer.point;
    mount->type = text + answer.type;
    mount->source = text + answer.source;
    if ((answer.given & WANTS_SUBTYPE) == 0)
        return true;
    /* As the list has it: fuse.sshfs. */
    size_t type_bytes = strlen(mount->type), subtype_bytes = strlen(text + answer.subtype);
    char *joined = text + sizeof mount->room.text - type_bytes - subtype_bytes - 2;
    if (joined < text + (answer.size - sizeof mount->room.head))
        return false;
    memcpy(joined, mount->type, type_bytes);
    joined[type_bytes] = '.';
    memcpy(joined + type_bytes + 1, text + answer.subtype, subtype_bytes + 1);
    mount->type = joined;
    return true;
}
