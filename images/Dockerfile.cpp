# C and C++: the GNU compilers of Debian 12.
# `cloche images build --backend docker cpp` builds it, or, in this folder: docker build -f Dockerfile.cpp -t sandbox-cpp .
FROM debian:bookworm-slim
COPY setup packages/common packages/cpp /tmp/image/
RUN sh /tmp/image/setup cpp
USER sandbox
WORKDIR /workspace
CMD ["bash"]
