"""Files in memory: what is mapped and stored is counted, what touching pages moves is not."""

import sys

from support.programs import Apps, Job, calls, total


def test_files_in_memory(job: Job, apps: Apps) -> None:
    profile = job.profiled([apps.build("mmap_files"), job.data / "file"])
    counted = calls(profile)
    assert {name: counted[name] for name in ("mmap", "mremap", "munmap", "msync")} == {
        "mmap": 5, "mremap": 6, "munmap": 5, "msync": 7,
    }  # fmt: skip
    assert total(profile, "mapped_bytes", obj="file") == 4 << 20
    assert total(profile, "sync_ops", obj="file") == 7
    assert total(profile, "meta_ops", obj="file") == 2 + 4 + 6 + 5  # open and ftruncate first
    assert total(profile, "sync_ns", obj="file") > 0
    assert total(profile, "errors") == 1 + 3
    assert total(profile, "write_bytes", obj="file") == 0


def test_small_files_are_mapped_in_whole_pages(job: Job) -> None:
    """As the kernel fetches them: of the many small objects of git more was fetched than mapped, and no wait known."""
    file = job.data / "file"
    file.write_bytes(b"x" * 100)
    program = (
        "import mmap, sys\nwith open(sys.argv[1], 'rb') as file:\n    for _ in range(3): "
        "mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ).close()"
    )
    profile = job.profiled([sys.executable, "-c", program, file])
    assert total(profile, "mapped_bytes", obj="file") == 3 * 4096
