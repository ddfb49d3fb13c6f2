"""What the vector suites share: records, a place for policy files, TAP."""

import json
import os
import subprocess
import sys
import tempfile


def load(name):
    """The records of one file of tests/vectors."""
    path = os.path.join(os.environ["CORDON_SRC"], "tests", "vectors", name)
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def cordon(*args, env=None):
    return subprocess.run([os.environ["CORDON"], *args], capture_output=True, text=True,
                          errors="replace", env=env, timeout=60, check=False)


class Tap:
    """Counts and prints; a suite that checked nothing fails."""

    def __init__(self):
        self.n = self.bad = 0

    def check(self, good, name, *notes):
        self.n += 1
        self.bad += not good
        print(f"{'' if good else 'not '}ok {self.n} - {name}")
        if not good:
            for note in notes:
                for line in str(note).splitlines():
                    print(f"# {line}")

    def end(self):
        print(f"1..{self.n}")
        sys.exit(1 if self.bad or not self.n else 0)


class Files:
    """Policy files in a directory of their own."""

    def __init__(self):
        self.dir = tempfile.TemporaryDirectory(prefix="cordon-vectors-")
        self.n = 0

    def write(self, name, text):
        self.n += 1
        folder = os.path.join(self.dir.name, str(self.n))
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path))
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path


def toml(value):
    """A value as TOML: JSON's strings, lists, numbers and words are the same."""
    return json.dumps(value, ensure_ascii=True)


def policy_of(record, files):
    """The policy file that a record of hosts.json describes, and its dialect."""
    patterns = record["patterns"]
    dialect = record["dialect"]
    if dialect == "ai-harness":
        block = ""
        if patterns is not None:
            block = f"network: {json.dumps({'allowed_domains': patterns})}\n"
        return files.write("harness.md", f"---\n{block}---\n"), "ai-harness"
    if dialect == "harbor":
        text = "[environment]\n"
        if patterns is not None:
            text += f'network_mode = "allowlist"\nallowed_hosts = {toml(patterns)}\n'
        return files.write("task.toml", text), "harbor"
    key = {"harn-egress": "egress", "harn-hostlib": "network"}[dialect]
    tree = {} if patterns is None else {key: patterns}
    return files.write("policy.json", json.dumps(tree)), "harn"
