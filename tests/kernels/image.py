"""The files of the machines: a small Debian, made once, and what is tested.

Both are archives that the kernel unpacks into its first root.
"""
import os
import shutil
import stat
import subprocess

from fetch import Missing, archive, release, run

PACKAGES = ("systemd", "systemd-sysv", "dbus-user-session", "libpam-systemd", "python3", "kmod",
            "util-linux", "procps")
# Not needed, and half of it.
LEFT_OUT = ("/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/man/*", "/usr/share/zoneinfo/*",
            "/usr/share/i18n/*", "/usr/lib/x86_64-linux-gnu/gconv/*", "/usr/lib/udev/hwdb.d/*")


def pack(folder, archive_path):
    """All of a folder but its device nodes, as the kernel reads it."""
    names = []
    for base, dirs, files in os.walk(folder):
        for name in dirs + files:
            path = os.path.join(base, name)
            mode = os.lstat(path).st_mode
            if not (stat.S_ISBLK(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)):
                names.append(os.path.relpath(path, folder))
    with open(archive_path + ".new", "wb") as out:
        subprocess.run(["cpio", "-o", "-H", "newc", "-0", "--quiet", "--owner=+0:+0"]
                       if os.geteuid() else ["cpio", "-o", "-H", "newc", "-0", "--quiet"],
                       input="\0".join(sorted(names)).encode() + b"\0", stdout=out, cwd=folder,
                       check=True)
    os.rename(archive_path + ".new", archive_path)


def add_user(tree):
    for path, line in (("passwd", "user:x:1000:1000::/home/user:/bin/sh"),
                       ("shadow", "user:*:19000:0:99999:7:::"), ("group", "user:x:1000:")):
        with open(os.path.join(tree, "etc", path), "a", encoding="ascii") as f:
            f.write(line + "\n")


def base(folder):
    """The small Debian; its C library is the one that cordon was built with."""
    made = os.path.join(folder, "base.cpio")
    tree = os.path.join(folder, "tree")
    if os.path.exists(made):
        return made
    if not shutil.which("mmdebstrap") or not shutil.which("cpio"):
        raise Missing("mmdebstrap or cpio is not installed; tools/packages test-all installs them")
    shutil.rmtree(tree, ignore_errors=True)
    options = [f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT]
    try:
        run(["mmdebstrap", "--quiet", "--variant=essential", "--include=" + ",".join(PACKAGES),
             "--aptopt=Acquire::Check-Valid-Until \"false\""] + options +
            [release(), tree, archive()])
        for part in ("var/cache", "var/lib/apt", "var/lib/dpkg", "usr/share/perl", "boot"):
            shutil.rmtree(os.path.join(tree, part), ignore_errors=True)
        add_user(tree)
        pack(tree, made)
    finally:
        shutil.rmtree(tree, ignore_errors=True)
    return made


def put(tree, path, source, mode):
    target = os.path.join(tree, path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copyfile(source, target)
    os.chmod(target, mode)


def put_text(tree, path, text, mode=0o644):
    target = os.path.join(tree, path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(target, mode)


def tested(folder, cordon, others):
    """cordon and what tries it; `others` maps paths below /opt to files."""
    tree = os.path.join(folder, "tested")
    guest = os.path.join(os.path.dirname(os.path.abspath(__file__)), "guest")
    shutil.rmtree(tree, ignore_errors=True)
    put(tree, "usr/bin/cordon", cordon, 0o755)
    for name in os.listdir(guest):
        if os.path.isfile(os.path.join(guest, name)):
            put(tree, "opt/kernels/" + name, os.path.join(guest, name), 0o755)
    for path, source in others.items():
        put(tree, "opt/" + path, source, 0o755)
    put_text(tree, "var/lib/systemd/linger/user", "")
    put_text(tree, "etc/systemd/system/kernels.service",
             "[Unit]\nAfter=user@1000.service\n"
             "Wants=dbus.service systemd-logind.service user@1000.service\n"
             "[Service]\nType=oneshot\nExecStart=/opt/kernels/main systemd\n"
             "StandardOutput=tty\nTTYPath=/dev/ttyS1\nStandardError=inherit\n")
    made = os.path.join(folder, "tested.cpio")
    for root, _, _ in os.walk(tree):
        os.chmod(root, 0o755)
    pack(tree, made)
    shutil.rmtree(tree)
    return made
