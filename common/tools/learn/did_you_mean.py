#!/usr/bin/env python3
"""usage: did_you_mean.py WORD KNOWN…     prints "did you mean 'test'? " if one of the known words is much like WORD"""
import sys

sys.path.append(f"{sys.path[0]}/..")  # to project.py, which knows the other rooms
import project

print(project.did_you_mean(sys.argv[1], sys.argv[2:]), end="")
