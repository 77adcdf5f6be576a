#include "program.h"

#include "peek.h"
#include "raw.h"
#include "settings.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/xattr.h>

#define MOST_INTERPRETERS 4 /* a script's interpreter may be a script: as many as the kernel follows */
#define GO_BUILD_ID 4

/* The library's own header: what it was made for. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

/* Reads a part of the file, at most `size` bytes and as many as there is room for. Returns how many, or -errno. */
static long read_part(struct program *program, int fd, uint64_t offset, uint64_t size)
{
    size = size < sizeof program->part ? size : sizeof program->part;
    long got = raw_result(syscall(SYS_pread64, fd, program->part, size, offset));
    program->reads++;
    program->read_bytes += got > 0 ? (uint64_t)got : 0;
    return got;
}

/* The loader takes a program for privileged if it gives other rights than its caller's. */
static bool is_privileged(int fd)
{
    struct statx status;
    char capabilities[64];
    if (syscall(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 || raw_statx_descriptor(fd, &status) < 0)
        return false;
    bool sets_user = (status.stx_mode & S_ISUID) != 0 && status.stx_uid != raw_getuid();
    bool sets_group = (status.stx_mode & S_ISGID) != 0 && (status.stx_mode & S_IXGRP) != 0 && status.stx_gid != raw_getgid();
    return sets_user || sets_group || (raw_getuid() != 0 && syscall(SYS_fgetxattr, fd, "security.capability", capabilities, sizeof capabilities) > 0);
}

static bool has_go_note(const unsigned char *notes, size_t bytes)
{
    for (size_t at = 0; at + sizeof(ElfW(Nhdr)) + 4 <= bytes;) {
        ElfW(Nhdr) note;
        memcpy(&note, notes + at, sizeof note);
        if (note.n_type == GO_BUILD_ID && note.n_namesz == 4 && memcmp(notes + at + sizeof note, "Go\0", 4) == 0)
            return true;
        at += sizeof note + (((size_t)note.n_namesz + 3) & ~(size_t)3) + (((size_t)note.n_descsz + 3) & ~(size_t)3);
    }
    return false;
}

/* The loader itself may be run as a program, and has no interpreter either; it does load what is to be preloaded. */
static bool is_loader(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    return strncmp(name, "ld", 2) == 0 && strstr(name, ".so") != NULL;
}

/* Other C libraries' loaders by name: of musl, uClibc and Android's. */
static bool is_of_other_libc(struct program *program, int fd, const ElfW(Phdr) * segment)
{
    long got = read_part(program, fd, segment->p_offset, segment->p_filesz);
    char *name = (char *)program->part;
    name[got > 0 && got < (long)sizeof program->part ? got : 0] = '\0';
    const char *slash = strrchr(name, '/'), *loader = slash != NULL ? slash + 1 : name;
    return strncmp(loader, "ld-musl", 7) == 0 || strncmp(loader, "ld-uClibc", 9) == 0 || strncmp(loader, "linker", 6) == 0;
}

static enum reason reason_of_elf(struct program *program, int fd)
{
    ElfW(Ehdr) header;
    memcpy(&header, program->part, sizeof header);
    if (header.e_ident[EI_CLASS] != __ehdr_start.e_ident[EI_CLASS] || header.e_machine != __ehdr_start.e_machine)
        return REASON_foreign;
    if (is_privileged(fd))
        return REASON_privileged;
    long got = read_part(program, fd, header.e_phoff, (uint64_t)header.e_phnum * sizeof(ElfW(Phdr)));
    ElfW(Phdr) segment, notes = { .p_type = PT_NULL };
    for (size_t at = 0; got > 0 && at + sizeof segment <= (size_t)got; at += sizeof segment) {
        memcpy(&segment, program->part + at, sizeof segment);
        if (segment.p_type == PT_INTERP)
            return is_of_other_libc(program, fd, &segment) ? REASON_other_libc : REASON_unknown;
        if (segment.p_type == PT_NOTE && notes.p_type == PT_NULL)
            notes = segment;
    }
    if (got <= 0 || (header.e_type == ET_DYN && is_loader(program->path)))
        return REASON_unknown;
    got = notes.p_type == PT_NOTE ? read_part(program, fd, notes.p_offset, notes.p_filesz) : 0;
    return got > 0 && has_go_note(program->part, (size_t)got) ? REASON_go : REASON_static;
}

static void note_path(struct program *program, int fd)
{
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long length = raw_readlink(link, program->path, sizeof program->path - 1);
    program->path[length > 0 ? length : 0] = '\0';
}

/* A script's first line names its interpreter: opened, or -1. */
static int open_interpreter(struct program *program, size_t filled)
{
    char *line = (char *)program->part;
    line[filled < sizeof program->part ? filled : sizeof program->part - 1] = '\0';
    char *name = line + 2 + strspn(line + 2, " \t");
    name[strcspn(name, " \t\r\n")] = '\0';
    return raw_open(name, O_RDONLY | O_NONBLOCK, 0);
}

/* Takes the descriptor over. */
static void look_at(struct program *program, int fd)
{
    struct statx status;
    for (int followed = 0; fd >= 0 && followed <= MOST_INTERPRETERS; followed++) {
        bool is_file = raw_statx_descriptor(fd, &status) == 0 && S_ISREG(status.stx_mode);
        long got = is_file ? read_part(program, fd, 0, sizeof program->part) : 0;
        if (got < 2 || memcmp(program->part, "#!", 2) != 0) {
            note_path(program, fd);
            if (got >= (long)sizeof(ElfW(Ehdr)) && memcmp(program->part, ELFMAG, SELFMAG) == 0)
                program->reason = reason_of_elf(program, fd);
            break;
        }
        int interpreter = open_interpreter(program, (size_t)got);
        raw_close(fd);
        fd = interpreter;
    }
    if (fd >= 0)
        raw_close(fd);
}

void program_look(struct program *program, int dirfd, const char *path)
{
    struct peek_pages pages = { 0 };
    program->reason = REASON_unknown;
    if (!peek_can_read(&pages, path, 1)) /* no program is begun by it */
        return;
    if (path[0] == '\0') /* by the name, so that the program's own descriptor keeps its place and its flags */
        note_path(program, dirfd);
    look_at(program, (int)raw_result(syscall(SYS_openat, dirfd, path[0] != '\0' ? path : program->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)));
}

static bool is_executable_file(const char *path)
{
    struct statx status;
    return raw_statx(AT_FDCWD, path, 0, &status) == 0 && S_ISREG(status.stx_mode) && (status.stx_mode & 0111) != 0;
}

void program_look_for(struct program *program, const char *command)
{
    const char *search = settings_environment("PATH");
    struct peek_pages pages = { 0 };
    size_t name_bytes = (size_t)(peek_length(&pages, command) + 1);
    program->reason = REASON_unknown;
    if (name_bytes == 0) /* a child of libc's that tried to read it is dead */
        return;
    if (strchr(command, '/') != NULL) {
        program_look(program, AT_FDCWD, command);
        return;
    }
    for (const char *at = search != NULL ? search : "/bin:/usr/bin"; name_bytes > 1; at++) {
        size_t length = strcspn(at, ":");
        if (length + 1 + name_bytes <= sizeof program->path) {
            memcpy(program->path, at, length);
            program->path[length] = '/'; /* an empty name in the PATH is the current directory */
            memcpy(program->path + length + (length > 0), command, name_bytes);
            if (is_executable_file(program->path)) {
                look_at(program, raw_open(program->path, O_RDONLY | O_NONBLOCK, 0));
                return;
            }
        }
        at += length;
        if (*at == '\0')
            break;
    }
    program->path[0] = '\0';
}

bool program_is_go(void)
{
    const ElfW(Phdr) *parts = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    uint64_t count = getauxval(AT_PHNUM), base = 0;
    for (uint64_t i = 0; parts != NULL && i < count; i++)
        if (parts[i].p_type == PT_PHDR)
            base = (uint64_t)(uintptr_t)parts - parts[i].p_vaddr;
    for (uint64_t i = 0; parts != NULL && i < count; i++)
        if (parts[i].p_type == PT_NOTE && has_go_note((const unsigned char *)(uintptr_t)(base + parts[i].p_vaddr), parts[i].p_memsz))
            return true;
    return false;
}
