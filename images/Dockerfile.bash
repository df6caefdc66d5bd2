# Bash of Debian 12.
# `cloche images build --backend docker bash` builds it, or, in this folder: docker build -f Dockerfile.bash -t sandbox-bash .
FROM debian:bookworm-slim
COPY setup packages/common packages/bash /tmp/image/
RUN sh /tmp/image/setup bash
USER sandbox
WORKDIR /workspace
CMD ["bash"]
