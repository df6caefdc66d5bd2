"""A first program for `cloche run`: it prints where it runs."""
import os
import socket
import sys

print(f"Hello from Python {sys.version_info.major}, in {os.getcwd()}, as uid {os.getuid()}.")
try:
    socket.create_connection(("192.0.2.1", 80), timeout=1)
    print("The network is there.")
except OSError:
    print("There is no network here.")
