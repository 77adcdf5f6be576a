"""A guest with Debian's own kernel, under emulation: for what the kernel of this machine may lack, such as NFS.

Its root directory is this machine's, read only and through 9p, below a directory of the packages that are missing here.
So there is no image to make but the few modules that mount it. No processor has to help.
"""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGES = (
    "linux-image-amd64", "kmod", "iproute2", "procps", "nfs-common", "nfs-kernel-server", "samba", "cifs-utils",
    "dmsetup", "xfsprogs", "python3",
)  # fmt: skip
# What mounts the root directory.
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
MEMORY_MIB, PROCESSORS = 3500, 2
# Our programs there.
PLACE = "opt/slicewise"
MOUNT_9P = "mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144"
BOOT = f"""#!/bin/sh
mkdir -p /proc /extra /host /up /new
mount -t proc proc /proc; mount -t tmpfs tmpfs /up; mkdir /up/upper /up/work
for module in $(cat /modules/order); do insmod /modules/$module; done
{MOUNT_9P},ro,cache=loose host /host
{MOUNT_9P},ro,cache=loose extra /extra
mount -t overlay -o lowerdir=/extra:/host,upperdir=/up/upper,workdir=/up/work overlay /new
exec switch_root /new /bin/bash /guest-init
"""
# It makes what the packages' own scripts would have made.
INIT = f"""export PATH=/opt/slicewise/bin:/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mkdir -p /dev/shm /out
for place in /dev/shm /tmp /run; do mount -t tmpfs tmpfs $place; done
{MOUNT_9P} out /out
grep -q ^_rpc: /etc/passwd || echo "_rpc:x:990:65534::/run/rpcbind:/usr/sbin/nologin" >> /etc/passwd
mkdir -p /var/lib/nfs && touch /var/lib/nfs/etab /var/lib/nfs/rmtab
bash /out/script > /out/log 2>&1
echo $? > /out/status
sync
echo o > /proc/sysrq-trigger
sleep 60
"""


class NoPackages(Exception):
    """Debian's archive was not reached, or its list here is too old."""


@dataclass(frozen=True)
class Guest:
    """A directory of what is there beside this machine's root directory, a kernel, and what it boots from."""

    extra: Path
    kernel: Path
    initrd: Path

    def run(self, scripts: Sequence[Path], out: Path, built: Path, timeout_seconds: float) -> str:
        """What scripts, one after the other as one, printed there; they have an empty directory `out` as /out. built:
        where our programs are.

        Raises RuntimeError with the end of the log if it failed, or did not end.
        """
        for name in ("bin/slicewise-collect", "lib/libslicewise.so"):
            (self.extra / PLACE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(built / name, self.extra / PLACE / name)
        (self.extra / "guest-init").write_text(INIT)
        (out / "script").write_text("".join(script.read_text() for script in scripts))
        shared = {"host": ("/", ",readonly=on"), "extra": (self.extra, ",readonly=on"), "out": (out, "")}
        command = [
            "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-m", str(MEMORY_MIB), "-smp",
            str(PROCESSORS), "-nographic", "-no-reboot", "-net", "none", "-kernel", self.kernel, "-initrd", self.initrd,
            "-append", "console=ttyS0 rdinit=/init quiet panic=1 mitigations=off",
        ]  # fmt: skip
        for tag, (path, options) in shared.items():
            command += ["-virtfs", f"local,path={path},mount_tag={tag},security_model=none,multidevs=remap{options}"]
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
    extra, initrd = folder / "extra", folder / "initrd"
    if not (folder / "made").exists():
        shutil.rmtree(folder, ignore_errors=True)
        archives = folder / "archives"
        (archives / "partial").mkdir(parents=True)
        for place in ("bin", "sbin", "lib", "lib64"):
            (extra / "usr" / place).mkdir(parents=True)
            (extra / place).symlink_to(f"usr/{place}")
        fetch = ["apt-get", "install", "--download-only", "--yes", "--quiet", "--no-install-recommends"]
        options = ("Debug::NoLocking=1", "APT::Sandbox::User=root", f"Dir::Cache::archives={archives}")
        fetch += [word for option in options for word in ("-o", option)]
        fetched = subprocess.run([*fetch, *PACKAGES], capture_output=True, text=True, check=False)
        if fetched.returncode != 0:  # its list may be older than the archive
            subprocess.run(["apt-get", "update", "--quiet"], check=False)
            fetched = subprocess.run([*fetch, *PACKAGES], capture_output=True, text=True, check=False)
        if fetched.returncode != 0:
            raise NoPackages(f"apt-get has no packages: {fetched.stderr.strip().splitlines()[-1:]}")
        unpack = 'dpkg-deb --fsys-tarfile "$1" | tar -x --keep-directory-symlink -C "$2"'
        for archive in archives.glob("*.deb"):
            subprocess.run(["bash", "-o", "pipefail", "-c", unpack, "-", archive, extra], check=True)
        shutil.rmtree(archives)
        _make_initrd(extra, folder / "boot", initrd)
        (folder / "made").touch()
    (kernel,) = (extra / "boot").glob("vmlinuz-*")
    return Guest(extra, kernel, initrd)


def _make_initrd(extra: Path, boot: Path, initrd: Path) -> None:
    (modules,) = (extra / "lib/modules").iterdir()
    subprocess.run(["depmod", "--basedir", extra, modules.name], check=True)
    show = ["modprobe", "--dirname", extra, "--set-version", modules.name, "--show-depends", "--all", *MODULES]
    needed = subprocess.run(show, capture_output=True, text=True, check=True).stdout
    paths = dict.fromkeys(Path(line.split()[1]) for line in needed.splitlines() if line.startswith("insmod "))
    for place in ("bin", "dev", "modules"):
        (boot / place).mkdir(parents=True)
    for path in paths:
        shutil.copy(path, boot / "modules")
    (boot / "modules/order").write_text("\n".join(path.name for path in paths))
    busybox = shutil.which("busybox")
    assert busybox is not None
    shutil.copy(busybox, boot / "bin/busybox")
    for name in ("sh", "mount", "mkdir", "insmod", "cat", "switch_root"):
        (boot / "bin" / name).symlink_to("busybox")
    (boot / "init").write_text(BOOT)
    (boot / "init").chmod(0o755)
    with initrd.open("wb") as file:
        subprocess.run(["bash", "-c", "find . | cpio --quiet -o -H newc"], cwd=boot, stdout=file, check=True)
