#!/usr/bin/python3 -B
"""The kernel's settings of the networks that suites make.

A new network namespace has some settings of the host (forwarding, rp_filter, congestion
control) and the kernel's own for the rest.  apply() sets those that a suite relies on;
every namespace that a suite makes calls it.

    settings.py COMMAND...

runs COMMAND in a network of its own, with OTHERS in it and in every network that a suite
makes below: tests/run does so for suites with `# settings: others`.
"""
import os
import subprocess
import sys

# What a suite's world relies on.
RELIED_ON = (
    ("ipv4/ip_forward", "0"),
    ("ipv4/conf/all/rp_filter", "0"),
    ("ipv4/conf/default/rp_filter", "0"),
    ("ipv4/conf/all/arp_ignore", "0"),
    ("ipv6/bindv6only", "0"),
    ("ipv6/conf/all/disable_ipv6", "0"),
    ("ipv6/conf/default/disable_ipv6", "0"),
)
# Settings of hosts with containers, routers and hardened ones: each is unlike the kernel's own.
OTHERS = (
    ("ipv4/ip_forward", "1"),
    ("ipv4/conf/all/rp_filter", "1"),
    ("ipv4/conf/default/rp_filter", "1"),
    ("ipv4/conf/all/accept_local", "1"),
    ("ipv4/conf/all/route_localnet", "1"),
    ("ipv4/conf/all/arp_ignore", "1"),
    ("ipv4/conf/all/arp_announce", "2"),
    ("ipv4/ip_local_port_range", "20000 24999"),
    ("ipv4/ip_nonlocal_bind", "1"),
    ("ipv4/ip_unprivileged_port_start", "0"),
    ("ipv4/tcp_congestion_control", "reno"),
    ("ipv4/tcp_ecn", "1"),
    ("ipv4/tcp_syncookies", "2"),
    ("ipv4/tcp_timestamps", "0"),
    ("ipv6/bindv6only", "1"),
    ("ipv6/conf/all/disable_ipv6", "1"),
    ("ipv6/conf/default/disable_ipv6", "1"),
    ("ipv6/conf/all/forwarding", "1"),
)
WANTED = "CORDON_TEST_SETTINGS"


def write(settings):
    """Where a setting cannot be written it must have the value; a kernel may lack IPv6."""
    for name, value in settings:
        path = "/proc/sys/net/" + name
        if not os.path.exists(path):
            continue
        with open(path, encoding="ascii") as f:
            if f.read().split() == value.split():
                continue
        with open(path, "w", encoding="ascii") as f:
            f.write(value)


def apply():
    """In the network of this process, which a suite has made."""
    if os.environ.get(WANTED) == "others":
        write(OTHERS)
    write(RELIED_ON)


def main(command):
    if os.environ.get(WANTED) != "inside":
        os.environ[WANTED] = "inside"
        os.execvp("unshare", ["unshare", "--net", "--", sys.executable, "-B", __file__, *command])
    os.environ[WANTED] = "others"
    write(OTHERS)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
