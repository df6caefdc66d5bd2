# JavaScript and TypeScript: Node.js and tsc of Debian 12.
# `cloche images build --backend docker node` builds it, or, in this folder: docker build -f Dockerfile.javascript -t sandbox-node .
FROM debian:bookworm-slim
COPY setup packages/common packages/node /tmp/image/
RUN sh /tmp/image/setup node
USER sandbox
WORKDIR /workspace
CMD ["node"]
