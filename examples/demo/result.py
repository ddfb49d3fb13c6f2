#!/usr/bin/python3
"""What the demo shows of a result and of an audit log.

    result.py RESULT LOG
"""
import json
import sys


def show_result(path):
    with open(path, encoding="utf-8") as f:
        found = json.load(f)
    for key in ("exit_code", "signal", "limit", "enforced"):
        print(f"{key}: {json.dumps(found[key])}")
    for denial in found["denials"]:
        print("denial:", json.dumps(denial))


def show_log(path):
    with open(path, encoding="utf-8") as f:
        events = [json.loads(line) for line in f]
    for e in events:
        words = [e.get("network.policy"), e.get("network.host"), e.get("port"), e.get("protocol"),
                 e.get("limit"), e.get("reason")]
        print(e["seq"], e["event"], *(w for w in words if w is not None))


def main(result, log):
    show_result(result)
    print()
    show_log(log)


main(*sys.argv[1:])
