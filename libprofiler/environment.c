/* What a process hands on to the programs that it starts: the job's name, and, where a program gives them an environment that lacks them,
 * the preload and our settings; or an environment without them, where they would do harm. Made at the start; afterwards any thread
 * reads it, a vforked child included. */
#include "environment.h"

#include "clock.h"
#include "lazy_start.h"
#include "peek.h"
#include "raw.h"
#include "settings.h"
#include "vfork_child.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

extern char **environ;

#define PRELOAD "LD_PRELOAD="
#define OURS "SLICEWISE_"
#define LIBRARY "libslicewise"
#define SHELL_AGAIN "; exec /bin/sh -c "
enum { LEAST_ROOM = 128 << 10, MOST_ROOM = 6 << 20, SHELL_ROOM = 8 << 10 };
#define ITS_NAME " sh" /* $0, as without us */

/* Copies of what is carried: the program may write over the strings that it began with. */
static START_DATA char **carried;
static START_DATA size_t carried_count;
static char stood_down[] = OURS "OFF=1";
static bool has_stood_down;

static size_t count_of(char *const *envp)
{
    size_t count = 0;
    while (envp != NULL && envp[count] != NULL)
        count++;
    return count;
}

static bool is_prefixed(const char *entry, const char *prefix)
{
    return strncmp(entry, prefix, strlen(prefix)) == 0;
}

/* Bytes before the first of two letters, or before the end. Not by strcspn, whose code a process that does little would have to bring in. */
static size_t length_until(const char *text, char one, char other)
{
    size_t length = 0;
    while (text[length] != '\0' && text[length] != one && text[length] != other)
        length++;
    return length;
}

static size_t name_length(const char *entry)
{
    return length_until(entry, '=', '=');
}

static bool is_our_element(const char *element, size_t length)
{
    const char *found = strstr(element, LIBRARY);
    return found != NULL && found < element + length;
}

/* The list's element that is our library, as it was given to the loader; NULL if there is none. */
static const char *our_element(const char *list, size_t *length)
{
    while (*list != '\0') {
        *length = length_until(list, ':', ' ');
        if (is_our_element(list, *length))
            return list;
        list += *length + (list[*length] != '\0');
    }
    return NULL;
}

/* The elements that are ours, libslicewise-threads.so included, or all others, as a list. Returns its end. */
static char *put_elements(char *to, const char *list, bool are_ours)
{
    const char *began = to;
    for (size_t length; *list != '\0'; list += length + (list[length] != '\0')) {
        length = length_until(list, ':', ' ');
        if (length == 0 || is_our_element(list, length) != are_ours)
            continue;
        if (to != began)
            *to++ = ':';
        to = mempcpy(to, list, length);
    }
    *to = '\0';
    return to;
}

static bool names_library(const char *entry)
{
    size_t length;
    return is_prefixed(entry, PRELOAD) && our_element(entry + strlen(PRELOAD), &length) != NULL;
}

static bool is_same_variable(const char *entry, const char *other)
{
    size_t name = name_length(entry);
    return strncmp(entry, other, name) == 0 && other[name] == '=';
}

/* The environment's entry of the same variable; NULL if there is none. */
static char *const *entry_like(char *const *envp, const char *entry)
{
    while (envp != NULL && *envp != NULL && !is_same_variable(entry, *envp))
        envp++;
    return envp != NULL && *envp != NULL ? envp : NULL;
}

/* Without setenv: shells have one of their own, which is not up yet and whose variables are others. */
void environment_name_job(const char *job)
{
    static const char name[] = OURS "JOB=";
    static char entry[256];
    size_t count = count_of(environ), kept = 0;
    char **longer = (char **)syscall(SYS_mmap, NULL, (count + 2) * sizeof *longer, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (longer == MAP_FAILED)
        return;
    for (size_t i = 0; i < count; i++)
        if (!is_prefixed(environ[i], name))
            longer[kept++] = environ[i];
    snprintf(entry, sizeof entry, "%s%s", name, job);
    longer[kept] = entry;
    environ = longer;
}

void environment_start(void)
{
    size_t bytes = 0, count = count_of(environ), entries_most = 1;
    const char *preload = NULL;
    for (size_t i = 0; i < count; i++) {
        if (names_library(environ[i]))
            preload = environ[i];
        if (is_prefixed(environ[i], OURS)) {
            bytes += strlen(environ[i]) + 1;
            entries_most++;
        }
    }
    if (preload == NULL) /* linked, or opened: no program that is started has us by its environment */
        return;
    bytes += strlen(preload) + 1 + entries_most * sizeof(char *);
    char **entries = settings_room(bytes);
    if (entries == NULL)
        entries = (char **)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (entries == MAP_FAILED)
        return;
    char *text = (char *)(entries + entries_most);
    size_t used = 0;
    entries[used++] = text;
    text = put_elements(mempcpy(text, PRELOAD, strlen(PRELOAD)), preload + strlen(PRELOAD), true) + 1;
    for (size_t i = 0; i < count; i++)
        if (is_prefixed(environ[i], OURS)) {
            entries[used++] = text;
            text = mempcpy(text, environ[i], strlen(environ[i]) + 1);
        }
    carried = entries;
    carried_count = used;
}

void environment_stand_down(void)
{
    has_stood_down = true;
}

/* A list of other libraries gets ours at its end; an empty one says that nothing is to be preloaded. */
static bool lacks_library(const char *preload)
{
    size_t length;
    return preload[strlen(PRELOAD)] != '\0' && our_element(preload + strlen(PRELOAD), &length) == NULL;
}

static bool lacks(char *const *envp, size_t i)
{
    char *const *own = entry_like(envp, carried[i]);
    return own == NULL || (i == 0 && lacks_library(*own));
}

bool environment_is_readable(char *const *envp)
{
    struct peek_pages pages = { 0 };
    for (; envp != NULL; envp++) {
        if (!peek_can_read(&pages, envp, sizeof *envp))
            return false;
        if (*envp == NULL)
            break;
        if (peek_length(&pages, *envp) < 0)
            return false;
    }
    return true;
}

/* Stands before the copy. It links the copies that vforked children mapped, and says how many children deep the thread was. */
struct environment_room {
    size_t mapped_bytes; /* 0: the caller's memory */
    struct environment_room *next;
    uint32_t vfork_depth;
    bool is_listed;
};

/* The room for a copy without the library (and without our settings); 0 where `envp` has nothing of ours. */
static size_t room_without(char *const *envp, bool has_settings)
{
    size_t text = 0, count = 0;
    bool has_any = false;
    for (; envp != NULL && envp[count] != NULL; count++) {
        bool is_preload = names_library(envp[count]);
        text += is_preload ? strlen(envp[count]) + 1 : 0;
        has_any = has_any || is_preload || (!has_settings && is_prefixed(envp[count], OURS));
    }
    return has_any ? sizeof(struct environment_room) + (count + 1) * sizeof(char *) + text : 0;
}

static void put_without(char **entries, char *const *envp, bool has_settings)
{
    char *text = (char *)(entries + count_of(envp) + 1);
    for (; *envp != NULL; envp++) {
        if (names_library(*envp)) {
            char *list = mempcpy(text, PRELOAD, strlen(PRELOAD)), *end = put_elements(list, *envp + strlen(PRELOAD), false);
            if (end == list)
                continue;
            *entries++ = text;
            text = end + 1;
        } else if (has_settings || !is_prefixed(*envp, OURS)) {
            *entries++ = *envp;
        }
    }
    *entries = NULL;
}

size_t environment_room(char *const *envp, enum handed_on handed_on)
{
    if (handed_on != HANDED_ON_ALL)
        return has_stood_down || environment_is_readable(envp) ? room_without(envp, handed_on == HANDED_ON_SETTINGS) : 0;
    /* Who has stood down may be where no call of ours is allowed: then nothing asks whether it can be read. */
    if ((carried_count == 0 && !has_stood_down) || (!has_stood_down && !environment_is_readable(envp)))
        return 0;
    size_t lacking = has_stood_down && entry_like(envp, stood_down) == NULL;
    for (size_t i = 0; i < carried_count; i++)
        lacking += lacks(envp, i);
    if (lacking == 0)
        return 0;
    char *const *preload = entry_like(envp, PRELOAD);
    size_t text = preload != NULL && carried_count > 0 ? strlen(*preload) + strlen(carried[0]) + 2 : 0;
    return sizeof(struct environment_room) + (count_of(envp) + lacking + 1) * sizeof(char *) + text;
}

/* An exec that succeeds leaves behind what a child in its parent's memory mapped for it. Where the parent's thread waits for that child it
 * gives the memory back (environment_vfork_end); else nobody would, so there is none. */
void *environment_map(size_t bytes)
{
    struct thread *thread = &thread_state;
    bool is_childs = lazy_start_pid() != (uint32_t)raw_getpid();
    struct environment_room *room = MAP_FAILED;
    int saved_errno = errno_now();
    if (!is_childs || (thread->vfork_depth > 0 && !vfork_child_is_left_alone()))
        room = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) {
        engine_count_problem(PROBLEM_environment_kept, 1);
        errno_put(saved_errno);
        return NULL;
    }
    room->mapped_bytes = bytes;
    if (is_childs) {
        room->is_listed = true;
        room->vfork_depth = thread->vfork_depth;
        room->next = thread->vfork_rooms;
        thread->vfork_rooms = room;
    }
    return room;
}

void environment_vfork_end(void)
{
    struct thread *thread = &thread_state;
    while (thread->vfork_rooms != NULL && thread->vfork_rooms->vfork_depth >= thread->vfork_depth) {
        struct environment_room *room = thread->vfork_rooms;
        thread->vfork_rooms = room->next;
        syscall(SYS_munmap, room, room->mapped_bytes);
    }
}

/* A signal handler's exec began after the one that it interrupted, and ended before: so a list's first room is the one that ends. */
void environment_carried_end(char *const *envp, char *const *copy)
{
    if (copy == envp)
        return;
    struct environment_room *room = (struct environment_room *)(uintptr_t)copy - 1;
    if (room->mapped_bytes == 0)
        return;
    if (room->is_listed)
        thread_state.vfork_rooms = room->next;
    syscall(SYS_munmap, room, room->mapped_bytes);
}

char *const *environment_carried(char *const *envp, enum handed_on handed_on, void *room)
{
    if (room == NULL)
        return envp;
    char **entries = (char **)((struct environment_room *)room + 1);
    if (handed_on != HANDED_ON_ALL) {
        put_without(entries, envp, handed_on == HANDED_ON_SETTINGS);
        return entries;
    }
    size_t count = count_of(envp), used = count;
    if (count > 0)
        memcpy(entries, envp, count * sizeof *entries);
    char *const *preload = entry_like(envp, PRELOAD);
    if (has_stood_down && entry_like(envp, stood_down) == NULL)
        entries[used++] = stood_down;
    for (size_t i = preload != NULL; i < carried_count; i++)
        if (lacks(envp, i))
            entries[used++] = carried[i];
    entries[used++] = NULL;
    if (preload != NULL && carried_count > 0 && lacks(envp, 0)) {
        char *text = (char *)(entries + used);
        entries[preload - envp] = text;
        text = mempcpy(mempcpy(text, *preload, strlen(*preload)), ":", 1);
        memcpy(text, carried[0] + strlen(PRELOAD), strlen(carried[0] + strlen(PRELOAD)) + 1);
    }
    return entries;
}

/* In single quotes: all that a shell would read anything into is a single quote. */
static char *quote(char *to, const char *text)
{
    *to++ = '\'';
    for (; *text != '\0'; text++)
        to = *text == '\'' ? mempcpy(to, "'\\''", 4) : mempcpy(to, text, 1);
    *to++ = '\'';
    return to;
}

static bool is_name(const char *entry, size_t length)
{
    return strspn(entry, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == length;
}

static bool is_told_to_shell(const char *entry)
{
    return (is_prefixed(entry, PRELOAD) || is_prefixed(entry, OURS)) && is_name(entry, name_length(entry));
}

static size_t quoted_bytes(const char *text)
{
    size_t bytes = 2;
    for (; *text != '\0'; text++)
        bytes += *text == '\'' ? 4 : 1;
    return bytes;
}

/* What the kernel takes of arguments and environment together. */
static size_t room_of_program(void)
{
    struct rlimit stack;
    if (raw_result(syscall(SYS_prlimit64, 0, RLIMIT_STACK, NULL, &stack)) < 0)
        return LEAST_ROOM;
    return stack.rlim_cur / 4 < LEAST_ROOM ? LEAST_ROOM : stack.rlim_cur / 4 < MOST_ROOM ? stack.rlim_cur / 4 : MOST_ROOM;
}

/* How many bytes the environment takes, with what the shell adds to it. */
static size_t environment_bytes(char *const *envp)
{
    size_t bytes = SHELL_ROOM;
    for (; *envp != NULL; envp++)
        bytes += sizeof *envp + strlen(*envp) + 1;
    return bytes;
}

static size_t command_bytes(char *const *envp, const char *command)
{
    size_t bytes = strlen("export") + strlen(SHELL_AGAIN) + quoted_bytes(command) + sizeof ITS_NAME;
    for (; *envp != NULL; envp++)
        bytes += is_told_to_shell(*envp) ? 1 + quoted_bytes(*envp) : 0;
    return bytes;
}

const char *environment_command(char *const *envp, const char *command)
{
    struct peek_pages pages = { 0 };
    size_t bytes = envp == environ || peek_length(&pages, command) < 0 ? COMMAND_BYTES + 1 : command_bytes(envp, command);
    if (bytes > COMMAND_BYTES || bytes + environment_bytes(envp) > room_of_program())
        return command;
    char *text = (char *)syscall(SYS_mmap, NULL, COMMAND_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (text == MAP_FAILED)
        return command;
    char *end = mempcpy(text, "export", strlen("export"));
    for (; *envp != NULL; envp++) {
        size_t name = name_length(*envp) + 1;
        if (is_told_to_shell(*envp))
            end = quote(mempcpy(mempcpy(end, " ", 1), *envp, name), *envp + name);
    }
    end = quote(mempcpy(end, SHELL_AGAIN, strlen(SHELL_AGAIN)), command);
    memcpy(end, ITS_NAME, sizeof ITS_NAME);
    return text;
}

bool environment_fills_room(char *const *envp, const char *command)
{
    struct peek_pages pages = { 0 };
    long length = command != NULL && environment_is_readable(envp) ? peek_length(&pages, command) : -1;
    return length >= 0 && environment_bytes(envp) + (size_t)length > room_of_program();
}

bool environment_is_one_threads(void)
{
    enum { LINKS_OF_ONE = 3 }; /* of a directory with one in it */
    struct statx status;
    return raw_statx(AT_FDCWD, "/proc/self/task", 0, &status) == 0 && status.stx_nlink == LINKS_OF_ONE;
}

void environment_command_end(const char *made, const char *command)
{
    if (made != command)
        syscall(SYS_munmap, made, COMMAND_BYTES);
}
