"""Kernels of other releases, unpacked into BUILD/kernels and never installed.

Each comes through a view of apt of its own: lists, cache and sources are in a
folder here, the address of the archive is the one that this machine uses.
What was fetched once is not asked for again.
"""
import os
import re
import shutil
import subprocess

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"

# name, what the version begins with, releases that have it
KERNELS = (
    ("5.10", "5.10.", ("bullseye",)),
    ("6.1", "6.1.", ("bookworm",)),
    ("6.12", "6.12.", ("trixie", "bookworm-backports")),
    ("newest", "", ("trixie-backports", "sid")),
)


class Missing(Exception):
    """What cannot be had, and why."""


def run(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, **more)
    if done.returncode:
        last = done.stdout.strip().splitlines()[-1:] or ["no message"]
        raise Missing(f"{command[0]}: {last[0]}")
    return done.stdout


def release():
    """The code name of this machine's release."""
    with open("/etc/os-release", encoding="utf-8") as f:
        found = re.search(r"^VERSION_CODENAME=(\w+)$", f.read(), re.M)
    if not found:
        raise Missing("this machine's release has no code name")
    return found.group(1)


def archive():
    """The address from which this machine gets its own release."""
    if not shutil.which("apt-get"):
        raise Missing("there is no apt-get")
    rows = run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)",
                "Created-By: Packages"])
    for row in rows.splitlines():
        address, _, name = row.partition(" ")
        if name == release():
            return address
    raise Missing("apt has no source of this machine's own release")


class View:
    """apt for one release, beside the machine's own."""

    def __init__(self, folder, suite):
        self.suite = suite
        self.folder = os.path.join(folder, "apt", suite)
        for part in ("state/lists/partial", "cache/archives/partial"):
            os.makedirs(os.path.join(self.folder, part), exist_ok=True)
        sources = os.path.join(self.folder, "sources.list")
        signed = f"[signed-by={KEYRING}] " if os.path.exists(KEYRING) else ""
        with open(sources, "w", encoding="utf-8") as f:
            f.write(f"deb {signed}{archive()} {suite} main\n")
        self.options = [
            "-q", "-o", f"Dir::State={self.folder}/state", "-o", f"Dir::Cache={self.folder}/cache",
            "-o", f"Dir::Etc::sourcelist={sources}", "-o", "Dir::Etc::sourceparts=-",
            "-o", "Dir::State::status=/dev/null", "-o", "APT::Architecture=amd64",
            "-o", "APT::Sandbox::User=root", "-o", "Acquire::Check-Valid-Until=false",
            "-o", "Acquire::Languages=none", "-o", "Acquire::Retries=2",
        ]

    def update(self):
        run(["apt-get"] + self.options + ["update"])

    def kernels(self, begin):
        """Names of the cloud kernels, newest first."""
        names = run(["apt-cache"] + self.options + ["pkgnames", "linux-image-" + begin])
        found = [n for n in names.split()
                 if re.match(r"linux-image-\d[^-]*(-\d+)?-cloud-amd64$", n)]
        return sorted(found, key=lambda n: [int(x) for x in re.findall(r"\d+", n)[:4]],
                      reverse=True)

    def parts(self, image):
        """The packages that hold the kernel itself: newer ones are in several."""
        shown = run(["apt-cache"] + self.options + ["show", "--no-all-versions", image])
        return [image] + sorted(set(re.findall(r"linux-(?:binary|modules)-[\w.+~-]+", shown)))

    def unpack(self, packages, into):
        for package in packages:
            run(["apt-get"] + self.options + ["download", package], cwd=self.folder)
        for name in os.listdir(self.folder):
            if name.endswith(".deb"):
                run(["dpkg", "-x", name, into], cwd=self.folder)
                os.unlink(os.path.join(self.folder, name))


def find(folder, pattern):
    for base, _, names in os.walk(folder):
        for name in names:
            if re.match(pattern, name):
                return os.path.join(base, name)
    raise Missing(f"no file is {pattern}")


def keep(unpacked, image, target):
    """The kernel and the one module that is looked at; the rest is not needed."""
    kernel = find(unpacked, r"vmlinuz(-|$)")
    module = find(unpacked, r"overlay\.ko")
    os.makedirs(target, exist_ok=True)
    shutil.copy(module, os.path.join(target, os.path.basename(module)))
    with open(os.path.join(target, "name"), "w", encoding="utf-8") as f:
        f.write(re.sub(r"linux-image-|-cloud-amd64", "", image))
    os.rename(kernel, os.path.join(target, "vmlinuz"))


def fetch_from(folder, suite, begin, target):
    view = View(folder, suite)
    view.update()
    why = Missing(f"{suite} has no cloud kernel {begin}")
    for image in view.kernels(begin)[:3]:
        unpacked = os.path.join(view.folder, "unpacked")
        try:
            view.unpack(view.parts(image), unpacked)
            keep(unpacked, image, target)
            return
        except Missing as e:
            why = e
        finally:
            shutil.rmtree(unpacked, ignore_errors=True)
    raise why


def fetch(folder, name):
    """The folder of a kernel: vmlinuz, overlay.ko and its full name."""
    target = os.path.join(folder, "kernel-" + name)
    begin, suites = next(row[1:] for row in KERNELS if row[0] == name)
    why = None
    if os.path.exists(os.path.join(target, "vmlinuz")):
        return target
    for suite in suites:
        try:
            fetch_from(folder, suite, begin, target)
            return target
        except Missing as e:
            why = e
        finally:
            shutil.rmtree(os.path.join(folder, "apt", suite), ignore_errors=True)
    raise why
