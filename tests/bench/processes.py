"""What benchmarks ask about processes; no benchmark itself, as it cannot be executed."""
import re


def children(pid):
    """All that are below it."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            found = [int(word) for word in f.read().split()]
    except OSError:
        return []
    return found + [below for child in found for below in children(child)]


def private_kb(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
        return sum(int(kb) for kb in re.findall(r"^Private_(?:Clean|Dirty): +(\d+)", f.read(),
                                                re.M))
