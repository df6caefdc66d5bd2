"""Interfaces of other systems on Cloche: code that was written for them changes one import.

`cloche.compat.autograder`, `cloche.compat.openmanus`, `cloche.compat.jazzmine`, `cloche.compat.coderunner`. Each uses
the service at `$CLOCHE_URL`. If that is not set, it starts a private service that ends with the program. docs/compat.md
lists the differences from the originals and the reasons.
"""
