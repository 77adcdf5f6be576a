#include "peek.h"

#include "raw.h"

#include <string.h>

enum { PAGES_AT_ONCE = 16 };

size_t peek_most(uint64_t address, void *to, size_t bytes)
{
    struct iovec there[PAGES_AT_ONCE], here = { to, bytes };
    unsigned pages = 0;
    size_t done = 0;
    for (; done < bytes && pages < PAGES_AT_ONCE; pages++) {
        size_t in_page = PEEK_PAGE_BYTES - (address + done) % PEEK_PAGE_BYTES;
        size_t part = in_page < bytes - done ? in_page : bytes - done;
        there[pages] = (struct iovec){ (void *)(uintptr_t)(address + done), part }; // NOLINT(performance-no-int-to-ptr)
        done += part;
    }
    int saved_errno = errno_now();
    long got = syscall(SYS_process_vm_readv, raw_getpid(), &here, 1, there, pages, 0);
    errno_put(saved_errno);
    if (got == (long)done && done < bytes)
        return done + peek_most(address + done, (unsigned char *)to + done, bytes - done);
    return got > 0 ? (size_t)got : 0;
}

bool peek(uint64_t address, void *to, size_t bytes)
{
    return peek_most(address, to, bytes) == bytes;
}

long peek_text(const char *text, char *to, size_t room)
{
    enum { PART = 256 }; /* few texts are longer, and no more than that is read beyond the end of one */
    for (size_t done = 0; done < room;) {
        size_t part = room - done < PART ? room - done : PART, got = peek_most((uintptr_t)text + done, to + done, part);
        const char *end = memchr(to + done, '\0', got);
        if (end != NULL)
            return end - to;
        if (got < part)
            break;
        done += got;
    }
    return -1;
}

/* The kernel reads a set of signals before it looks at what to do with it, which is nothing. */
static bool is_word_readable(uintptr_t address)
{
    enum { NO_CHANGE = -1 };
    int saved_errno = errno_now();
    bool is_readable = address != 0 && (syscall(SYS_rt_sigprocmask, NO_CHANGE, address, NULL, sizeof(uint64_t)) == 0 || errno_now() != EFAULT);
    errno_put(saved_errno);
    return is_readable;
}

/* The word lies whole on the page, and the page is readable as a whole. */
static bool is_page_readable(struct peek_pages *pages, uintptr_t address)
{
    enum { REMEMBERED = sizeof pages->readable / sizeof *pages->readable };
    uintptr_t page = address / PEEK_PAGE_BYTES;
    for (unsigned i = 0; i < REMEMBERED; i++)
        if (page != 0 && pages->readable[i] == page)
            return true;
    if (!is_word_readable(address & ~(sizeof(uint64_t) - 1)))
        return false;
    pages->readable[pages->next++ % REMEMBERED] = page;
    return true;
}

bool peek_can_read(struct peek_pages *pages, const void *address, size_t bytes)
{
    uintptr_t begin = (uintptr_t)address;
    if (bytes > UINTPTR_MAX - begin)
        return false;
    for (uintptr_t at = begin; at < begin + bytes; at = (at / PEEK_PAGE_BYTES + 1) * PEEK_PAGE_BYTES)
        if (!is_page_readable(pages, at))
            return false;
    return true;
}

long peek_length(struct peek_pages *pages, const char *text)
{
    for (size_t length = 0; is_page_readable(pages, (uintptr_t)text + length);) {
        size_t in_page = PEEK_PAGE_BYTES - ((uintptr_t)text + length) % PEEK_PAGE_BYTES;
        size_t more = strnlen(text + length, in_page);
        length += more;
        if (more < in_page)
            return (long)length;
    }
    return -1;
}
