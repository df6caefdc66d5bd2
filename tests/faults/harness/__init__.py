"""What the tests of faults and the soak share: a server as a process, sandboxes seen from the host, an engine's gate."""
