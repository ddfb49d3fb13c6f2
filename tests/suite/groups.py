"""Control groups that cordon made, by whatever hierarchy and wherever in it."""

import glob
import os


def all_groups():
    return set(glob.glob("/sys/fs/cgroup/**/cordon-[0-9]*", recursive=True))


def maker(group):
    """A group is named by the process id of its supervisor."""
    return group.rsplit("/cordon-", 1)[1].split("-")[0]


def dead_groups():
    """Of supervisors that are gone: others may run meanwhile."""
    return {g for g in all_groups() if not os.path.exists("/proc/" + maker(g))}
