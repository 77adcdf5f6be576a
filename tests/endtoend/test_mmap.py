"""Files in memory: what is mapped and stored is counted, what touching pages moves is not."""

from __future__ import annotations

from support.programs import Apps, Job, calls, total


def test_files_in_memory(job: Job, apps: Apps) -> None:
    ended = job.run([apps.build("mmap_files"), job.data / "file"])
    assert (ended.status, ended.errors) == (0, "")
    profile = job.profile()
    counted = calls(profile)
    assert {name: counted[name] for name in ("mmap", "munmap", "msync")} == {"mmap": 4, "munmap": 3, "msync": 3}
    assert total(profile, "mapped_bytes", obj="file") == 3 << 20
    assert total(profile, "sync_ops", obj="file") == 3
    assert total(profile, "sync_ns", obj="file") > 0
    assert total(profile, "errors") == 1
    assert total(profile, "write_bytes") == 0
