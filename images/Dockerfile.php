# PHP of Debian 12.
# `cloche images build --backend docker php` builds it, or, in this folder: docker build -f Dockerfile.php -t sandbox-php .
FROM debian:bookworm-slim
COPY setup packages/common packages/php /tmp/image/
RUN sh /tmp/image/setup php
USER sandbox
WORKDIR /workspace
CMD ["php"]
