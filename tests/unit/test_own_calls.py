"""What the library asks of others: all its system calls are in the list that a program's seccomp filter is tried
against, and of libc it calls nothing that another library, or the program, may have another idea of."""

from __future__ import annotations

import re
import subprocess

from support.programs import LIBRARY, ROOT, need

# Not made in a process that may have such a filter.
NOT_OURS = {
    "fdatasync": "the collector's alone (spool_is_kept)",
    "statmount": "not made where a filter is in force",
    "mlockall": "the program's own call, passed on",
    "mremap": "the program's own call, passed on",
    "setsid": "a step of the program's own call of daemon",
    "chdir": "a step of the program's own call of daemon",
}
LIST = re.compile(r"own_calls\[\] = \{\n(.*?)\n\};", re.DOTALL)


def listed() -> set[str]:
    found = LIST.search((ROOT / "libprofiler" / "filter.c").read_text())
    assert found is not None
    return set(re.findall(r"\bSYS_(\w+)", found[1]))


def made() -> set[str]:
    names: set[str] = set()
    for path in (*(ROOT / "libprofiler").glob("*.[ch]"), *(ROOT / "store").glob("*.[ch]")):
        if path.name != "filter.c":
            names |= set(re.findall(r"\bSYS_(\w+)", path.read_text()))
    for path in (ROOT / "wrappers").glob("*.[ch]"):
        names |= set(re.findall(r"\bsyscall\(SYS_(\w+)", path.read_text()))
    return names


def test_what_the_library_calls_by_number_is_listed() -> None:
    assert {"statx", "clone", "writev"} <= made()
    assert made() - listed() == set(NOT_OURS)


# What the library asks the loader for. No function that tells or changes anything of the process or the node: that of a
# library beside ours (libfaketime's clock_gettime), or of the program (bash's getenv), would be found.
IMPORTED = {
    "text and memory": "memchr memcpy memmove mempcpy memrchr memset strchr strchrnul strcmp strcspn strlen strncmp "
    "memcmp strncpy strnlen strrchr strsep strspn strstr strtol strtoul strtoull snprintf inet_pton strerror_r "
    "strerrordesc_np bcmp rawmemchr stpcpy strcpy strcat strncat",
    "the loader's own": "dlsym dlvsym getauxval _r_debug gnu_get_libc_version x86_get_cpuid_feature_leaf tls_get_addr",
    "the program's threads, streams and environment": "pthread_key_create pthread_key_delete pthread_once "
    "pthread_setspecific libc_single_threaded errno_location environ stdin stdout stderr _IO_list_all "
    "_IO_list_lock _IO_list_unlock ctype_get_mb_cur_max dirfd stack_chk_fail",
    "the program's end": "cxa_atexit cxa_at_quick_exit cxa_finalize",
    "zstd's, which are not called": "malloc calloc free ZSTD_trace_compress_begin ZSTD_trace_compress_end",
}


def test_what_the_library_imports_has_no_state_of_another() -> None:
    need("nm")
    listing = ["nm", "--dynamic", "--undefined-only", "--format=posix", LIBRARY]
    lines = subprocess.run(listing, check=True, capture_output=True, text=True).stdout.splitlines()
    plain = re.compile(r"^(?:__isoc23_|__)?(\w+?)(?:_chk)?(?:@.*)?$")
    imported = {plain.sub(r"\1", line.split()[0]) for line in lines}
    assert {"memcpy", "dlsym"} <= imported
    assert imported <= {name for names in IMPORTED.values() for name in names.split()}
