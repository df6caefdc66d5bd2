# Go of Debian 12.
# `cloche images build --backend docker go` builds it, or, in this folder: docker build -f Dockerfile.go -t sandbox-go .
FROM debian:bookworm-slim
COPY setup packages/common packages/go /tmp/image/
RUN sh /tmp/image/setup go
USER sandbox
WORKDIR /workspace
CMD ["bash"]
