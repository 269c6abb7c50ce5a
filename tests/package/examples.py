#!/usr/bin/env python3
"""Variables of the examples in packaging/, and of a configuration.

    examples.py compose FILE       the variables that it sets, NAME=VALUE
    examples.py kubernetes FILE
    examples.py keys FILE          the names of all, from outbox-master -T
"""
import sys

import yaml


def names(section, prefix):
    for key, value in section.items():
        name = f"{prefix}_{key.upper()}"
        if isinstance(value, dict):
            yield from names(value, name)
        else:
            yield name


with open(sys.argv[2], encoding="utf-8") as f:
    documents = list(yaml.safe_load_all(f))
if sys.argv[1] == "keys":
    print("\n".join(names(documents[0], "OUTBOX")))
    sys.exit()
if sys.argv[1] == "compose":
    found = documents[0]["services"]["outbox-master"]["environment"]
else:
    found = next(d for d in documents if d["kind"] == "ConfigMap")["data"]
for name, value in found.items():
    if not isinstance(value, str):
        sys.exit(f"{name}: {value!r} is not a text")
    print(f"{name}={value}")
