# Ruby of Debian 12.
# `cloche images build --backend docker ruby` builds it, or, in this folder: docker build -f Dockerfile.ruby -t sandbox-ruby .
FROM debian:bookworm-slim
COPY setup packages/common packages/ruby /tmp/image/
RUN sh /tmp/image/setup ruby
USER sandbox
WORKDIR /workspace
CMD ["bash"]
