"""What the checks share: which files are ours, and C text without its comments.

A check is a program tools/check/NAME that takes the root of a tree (default:
this one), prints `FILE:LINE: what; what instead` for each finding and exits 1
if there was one.
"""
import os
import re
import sys

TOOLS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.dirname(TOOLS)

findings = 0


def finding(path, line, what):
    global findings
    findings += 1
    print(f"{os.path.relpath(path, ROOT)}:{line}: {what}")


def finish():
    sys.exit(1 if findings else 0)


def read(path):
    with open(path, encoding="utf-8", errors="replace", newline="") as f:
        return f.read()


def files(*under, ends=""):
    """Our files below the named folders (all, if none), sorted."""
    found = []
    for top in [os.path.join(ROOT, u) for u in under] or [ROOT]:
        for folder, folders, names in os.walk(top):
            folders[:] = [d for d in folders
                          if d not in (".git", "__pycache__", "node_modules")
                          and not (folder == ROOT and d.startswith("build"))]
            found += [os.path.join(folder, n) for n in names if n.endswith(ends) and n != ".git"]
    return sorted(f for f in found if os.path.isfile(f) and not os.path.islink(f))


def is_text(path):
    with open(path, "rb") as f:
        return b"\0" not in f.read(8192)


def rows(name):
    """The rows of a table in tools/, as lists of words."""
    for line in read(os.path.join(TOOLS, name)).splitlines():
        words = line.split("#")[0].split()
        if words:
            yield words


def line_of(text, pos):
    return text.count("\n", 0, pos) + 1


TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def blank(piece):
    return re.sub(r"[^\n]", " ", piece)


def code_only(text):
    """C text with comments and the insides of literals blanked; positions stay."""
    def hide(m):
        s = m.group()
        return blank(s) if s[0] == "/" else s[0] + blank(s[1:-1]) + s[-1]
    return TOKEN.sub(hide, text)


def no_directives(code):
    """The same without preprocessor lines, `#if 0` and C++-only parts."""
    code = re.sub(r"^[ \t]*#[ \t]*(?:ifdef[ \t]+__cplusplus|if[ \t]+0)\b.*?^[ \t]*#[ \t]*endif\b",
                  lambda m: blank(m.group()), code, flags=re.S | re.M)
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: blank(m.group()), code, flags=re.M)


def close_of(code, pos):
    """The position after the bracket that closes the one at pos."""
    pairs = {"(": ")", "{": "}", "[": "]"}
    opener, closer, depth = code[pos], pairs[code[pos]], 0
    for i in range(pos, len(code)):
        if code[i] == opener:
            depth += 1
        elif code[i] == closer:
            depth -= 1
            if depth == 0:
                return i + 1
    return None


class Function:
    def __init__(self, name, params, begin, body, end):
        self.name, self.params = name, params
        self.begin, self.body, self.end = begin, body, end  # positions in the text


ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")


def functions(text):
    """The functions defined in C text; None if its braces do not match."""
    code = no_directives(code_only(text))
    found, pos, last = [], 0, 0
    while True:
        brace = code.find("{", pos)
        if brace < 0:
            return found if "}" not in code[pos:] else None
        end = close_of(code, brace)
        if end is None or "}" in code[pos:brace]:
            return None
        last = max(code.rfind(";", pos, brace) + 1, pos)
        head = ATTRIBUTE.sub(lambda m: blank(m.group()), code[last:brace])
        sign = signature(head)
        if sign:
            begin = last + len(head) - len(head.lstrip())
            found.append(Function(*sign, begin, brace, end))
        pos = end


def signature(head):
    """(name, number of parameters) if head ends like a function's, else None."""
    head = head.rstrip()
    if not head.endswith(")") or "=" in head:
        return None
    depth, i = 0, len(head)
    while i:
        i -= 1
        depth += {")": 1, "(": -1}.get(head[i], 0)
        if depth == 0:
            break
    name = re.search(r"(\w+)\s*$", head[:i])
    if not name:
        return None
    inside, depth, n = head[i + 1:-1], 0, 1
    for c in inside:
        depth += {"(": 1, ")": -1}.get(c, 0)
        n += c == "," and depth == 0
    return name.group(1), 0 if inside.strip() in ("", "void") else n
