#!/usr/bin/python3 -I
"""crun, but sandboxes whose hostname begins with `lie-` get the lying agent in the agent's place.

House.with_liars() puts a copy of this over crun in the server's own mount namespace, with the paths filled in.
"""
import json
import os
import pathlib
import sys

CRUN = "@CRUN@"
LIAR = "@LIAR@"

if "--bundle" in sys.argv:
    path = pathlib.Path(sys.argv[sys.argv.index("--bundle") + 1]) / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    if config.get("hostname", "").startswith("lie-"):
        config["mounts"].append({"destination": "/.cloche/agent", "type": "bind", "source": LIAR,
                                 "options": ["bind", "ro", "nosuid", "nodev"]})
        path.write_text(json.dumps(config), encoding="utf-8")
os.execv(CRUN, ["crun", *sys.argv[1:]])
