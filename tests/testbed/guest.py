"""A guest with Debian's own kernel, under emulation: for what the kernel of this machine may lack, such as NFS.

All of it comes from Debian's packages. It takes 2 min to make, and 1 min to boot; no processor has to help.
"""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGES = (
    "kmod", "iproute2", "procps", "nfs-common", "nfs-kernel-server", "samba", "cifs-utils", "dmsetup", "python3",
)  # fmt: skip
# Of the kernel's modules these are of no use in a guest of two processors and one link.
UNUSED = (
    "sound", "drivers/gpu", "drivers/media", "drivers/net/wireless", "drivers/net/ethernet", "drivers/usb",
    "drivers/scsi", "drivers/infiniband", "drivers/iio", "drivers/staging", "drivers/hwmon", "drivers/input",
    "drivers/mtd", "drivers/ata",
)  # fmt: skip
MEMORY_MIB, PROCESSORS = 3500, 2
# Our programs there.
PLACE = "opt/slicewise"
INIT = """#!/bin/bash
export PATH=/opt/slicewise/bin:/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mkdir -p /dev/shm /out
for place in /dev/shm /tmp /run; do mount -t tmpfs tmpfs $place; done
for module in virtio_pci 9pnet_virtio 9p; do modprobe $module; done
mount -t 9p -o trans=virtio,version=9p2000.L out /out
bash /out/script > /out/log 2>&1
echo $? > /out/status
sync
echo o > /proc/sysrq-trigger
sleep 60
"""


def codename() -> str:
    """The codename of the Debian that runs here."""
    lines = Path("/etc/os-release").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)["VERSION_CODENAME"]


@dataclass(frozen=True)
class Guest:
    """A root directory, and a kernel for it."""

    root: Path
    kernel: Path

    def run(self, scripts: Sequence[Path], out: Path, built: Path, timeout_seconds: float) -> str:
        """What scripts, one after the other as one, printed there; they have an empty directory `out` as /out. built:
        where our programs are.

        Raises RuntimeError with the end of the log if it failed, or did not end.
        """
        for name in ("bin/slicewise-collect", "lib/libslicewise.so"):
            (self.root / PLACE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(built / name, self.root / PLACE / name)
        (self.root / "init").write_text(INIT)
        (self.root / "init").chmod(0o755)
        (out / "script").write_text("".join(script.read_text() for script in scripts))
        memory = self.root.parent / "initrd.gz"
        pack = f"find . -xdev | cpio --quiet -o -H newc | gzip -1 > {memory}"
        subprocess.run(["bash", "-o", "pipefail", "-c", pack], cwd=self.root, check=True)
        command = [
            "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-m", str(MEMORY_MIB), "-smp",
            str(PROCESSORS), "-nographic", "-no-reboot", "-net", "none", "-kernel", self.kernel, "-initrd", memory,
            "-append", "console=ttyS0 rdinit=/init quiet panic=1 mitigations=off",
            "-virtfs", f"local,path={out},mount_tag=out,security_model=none",
        ]  # fmt: skip
        with (out / "console").open("wb") as console:
            subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=console, stderr=console, timeout=timeout_seconds, check=True
            )
        log = (out / "log").read_text(errors="replace") if (out / "log").exists() else ""
        status = (out / "status").read_text().strip() if (out / "status").exists() else "none"
        if status != "0":
            raise RuntimeError(f"status {status}\n{log[-4000:]}")
        return log


def guest_in(folder: Path) -> Guest:
    """The guest, made in a folder if it is not there."""
    root, kernel = folder / "root", folder / "kernel"
    if not (folder / "made").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        packages = f"--include={','.join(PACKAGES)}"
        subprocess.run(["debootstrap", "--variant=minbase", packages, codename(), root], check=True)
        wanted = ["apt-cache", "depends", "linux-image-amd64"]
        depends = subprocess.run(wanted, capture_output=True, text=True, check=True).stdout
        (name,) = [line.split()[1] for line in depends.splitlines() if line.strip().startswith("Depends: linux-image-")]
        subprocess.run(["apt-get", "download", name], cwd=folder, check=True)
        subprocess.run(["dpkg", "-x", next(folder.glob("linux-image-*.deb")), kernel], check=True)
        (modules,) = (kernel / "lib/modules").iterdir()
        for unused in UNUSED:
            shutil.rmtree(modules / "kernel" / unused, ignore_errors=True)
        there = root / "lib/modules" / modules.name
        shutil.copytree(modules, there, symlinks=True)
        subprocess.run(["strip", "--strip-debug", *there.rglob("*.ko")], check=True)
        subprocess.run(["chroot", root, "depmod", modules.name], check=True)
        (folder / "made").touch()
    (image,) = (kernel / "boot").glob("vmlinuz-*")
    return Guest(root, image)
