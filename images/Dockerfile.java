# Java: the JDK of Debian 12, without a display.
# `cloche images build --backend docker java` builds it, or, in this folder: docker build -f Dockerfile.java -t sandbox-java .
FROM debian:bookworm-slim
COPY setup packages/common packages/java /tmp/image/
RUN sh /tmp/image/setup java
USER sandbox
WORKDIR /workspace
CMD ["bash"]
