"""What a container with Docker's default settings is to a program: no namespaces to be had, no
capabilities (as with --cap-drop ALL), Docker's default seccomp profile, /sys read-only.

no_new_privs is not set, as Docker does not set it.  The calls that the profile refuses a
process without capabilities are named here, from docs.docker.com ("Seccomp security profiles
for Docker") and default.json of Docker 20.10.24; what is newer than the profile is answered
with ENOSYS, as runc does.
"""

import ctypes
import errno
import os
import platform
import struct

REFUSED = """
    syslog uselib ustat sysfs vhangup pivot_root _sysctl chroot acct settimeofday mount umount2
    swapon swapoff reboot sethostname setdomainname iopl ioperm create_module init_module
    delete_module get_kernel_syms query_module quotactl nfsservctl lookup_dcookie clock_settime
    vserver mbind set_mempolicy get_mempolicy kexec_load add_key request_key keyctl migrate_pages
    unshare move_pages perf_event_open fanotify_init name_to_handle_at open_by_handle_at setns
    process_vm_readv process_vm_writev kcmp finit_module kexec_file_load bpf userfaultfd
    pkey_mprotect pkey_alloc pkey_free open_tree move_mount fsopen fsconfig fsmount fspick
    pidfd_getfd process_madvise mount_setattr quotactl_fd""".split()
NEWEST = 449			# futex_waitv: the last call that the profile knows
NAMESPACES = 0x7E020000		# the flags of clone() that make one
PERSONALITIES = (0, 8, 0x20000, 0x20008, 0xFFFFFFFF)
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_PRIVATE_ALL = 0x44000	# MS_PRIVATE | MS_REC
MOUNT_SETATTR = 442
MOUNT_ATTR_RDONLY, AT_RECURSIVE = 1, 0x8000
CAPSET = {"x86_64": 126, "aarch64": 91}
SECCOMP = {"x86_64": 317, "aarch64": 277}
PR_CAPBSET_DROP, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 24, 47, 4

libc = ctypes.CDLL(None, use_errno=True)


def must(result, what):
    if result < 0:
        e = ctypes.get_errno()
        raise OSError(e, os.strerror(e), what)
    return result


def syscall(number, *args):
    return must(libc.syscall(ctypes.c_long(number),
                             *(ctypes.c_long(a) if isinstance(a, int) else a for a in args)),
                f"system call {number}")


# ---- the profile ----------------------------------------------------------

LOAD, JEQ, JGT, JSET, RET, AND = 0x20, 0x15, 0x25, 0x45, 0x06, 0x54
ALLOW = 0x7FFF0000
ARG0 = 16


def refuse(error):
    return 0x50000 | error


def numbers(names):
    """Of the names that this architecture has."""
    seccomp = ctypes.CDLL("libseccomp.so.2")
    found = (seccomp.seccomp_syscall_resolve_name(name.encode()) for name in names)
    return [n for n in found if n >= 0]


def when_called(number, block):
    """Run the block for this call; the number is in the accumulator, before and after."""
    return [(JEQ, 0, len(block), number), *block]


def profile():
    machine = platform.machine()
    one = {name: numbers([name])[0] for name in ("clone", "clone3", "personality", "socket")}
    code = [(LOAD, 0, 0, 4), (JEQ, 1, 0, MACHINES[machine]), (RET, 0, 0, refuse(errno.EPERM)),
            (LOAD, 0, 0, 0)]
    code += [(JGT, 0, 1, NEWEST), (RET, 0, 0, refuse(errno.ENOSYS))]
    for n in numbers(REFUSED):
        code += when_called(n, [(RET, 0, 0, refuse(errno.EPERM))])
    code += when_called(one["clone3"], [(RET, 0, 0, refuse(errno.ENOSYS))])
    code += when_called(one["clone"], [(LOAD, 0, 0, ARG0), (JSET, 0, 1, NAMESPACES),
                                       (RET, 0, 0, refuse(errno.EPERM)), (RET, 0, 0, ALLOW)])
    code += when_called(one["personality"],
                        [(LOAD, 0, 0, ARG0),
                         *(row for p in PERSONALITIES
                           for row in ((JEQ, 0, 1, p), (RET, 0, 0, ALLOW))),
                         (RET, 0, 0, refuse(errno.EPERM))])
    vsock = 40
    code += when_called(one["socket"], [(LOAD, 0, 0, ARG0), (JEQ, 0, 1, vsock),
                                        (RET, 0, 0, refuse(errno.EPERM)), (RET, 0, 0, ALLOW)])
    return [*code, (RET, 0, 0, ALLOW)]


def load_profile():
    code = profile()
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in code))
    prog = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(text)))
    syscall(SECCOMP[platform.machine()], 1, 0, prog)	# SECCOMP_SET_MODE_FILTER


# ---- the rest -------------------------------------------------------------

def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def enter_user_namespace():
    """An ordinary user has the rights to enter the rest here only, and none are left after it."""
    uid, gid = os.getuid(), os.getgid()
    must(libc.unshare(CLONE_NEWUSER), "unshare(CLONE_NEWUSER)")
    write("/proc/self/setgroups", "deny")
    write("/proc/self/uid_map", f"{uid} {uid} 1")
    write("/proc/self/gid_map", f"{gid} {gid} 1")
    write("/proc/sys/user/max_user_namespaces", "0")


def make_read_only(path):
    """All mounts there, and only as this process sees them."""
    must(libc.unshare(CLONE_NEWNS), "unshare(CLONE_NEWNS)")
    must(libc.mount(None, b"/", None, ctypes.c_ulong(MS_PRIVATE_ALL), None), "mount --make-rprivate /")
    attr = ctypes.create_string_buffer(struct.pack("QQQQ", MOUNT_ATTR_RDONLY, 0, 0, 0))
    syscall(MOUNT_SETATTR, -100, ctypes.c_char_p(path), AT_RECURSIVE, attr, 32)


def drop_capabilities():
    must(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "ambient capabilities")
    with open("/proc/sys/kernel/cap_last_cap", encoding="ascii") as f:
        last = int(f.read())
    for cap in range(last + 1):
        must(libc.prctl(PR_CAPBSET_DROP, cap, 0, 0, 0), "bounding set")
    header = ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0))
    syscall(CAPSET[platform.machine()], header, ctypes.create_string_buffer(24))


def enter():
    """This process, and all that it starts from now on."""
    if os.getuid() != 0:
        enter_user_namespace()
    make_read_only(b"/sys")
    load_profile()
    drop_capabilities()
