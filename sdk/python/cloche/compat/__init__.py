"""Interfaces of other systems over Cloche, so that code written for them changes one import.

`cloche.compat.autograder`, `cloche.compat.openmanus`, `cloche.compat.jazzmine`, `cloche.compat.coderunner`. Each talks
to the service at `$CLOCHE_URL`; where that is not set, to a private one that it starts and that ends with the program.
docs/compat.md says what differs from the originals, and why.
"""
