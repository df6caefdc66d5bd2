# Shared by the scripts next to it; sourced, never run. Everything is below CLOCHE_K8S_DIR; nothing else on the machine
# is changed.
# shellcheck shell=bash disable=SC2034
set -euo pipefail

K8S_DIR=${CLOCHE_K8S_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/cloche/k8s}
BIN=$K8S_DIR/bin        # built once, kept by cluster-down
SOURCES=$K8S_DIR/src    # one Go module per program, pins what is built
PKI=$K8S_DIR/pki
ETC=$K8S_DIR/etc
STATE=$K8S_DIR/state    # etcd, kubelet and containerd data: fresh on every cluster-up
LOGS=$K8S_DIR/log
RUN=$K8S_DIR/run
KUBECONFIG_ADMIN=$K8S_DIR/kubeconfig

# A /24 for the link between host and node, another for pods. Change both if they are taken.
LINK_NET=${CLOCHE_K8S_LINK_NET:-10.87.0}
POD_NET=${CLOCHE_K8S_POD_NET:-10.88.0}
SERVICE_NET=10.89.0.0/16
HOST_IP=$LINK_NET.1
NODE_IP=$LINK_NET.2
NODE_NAME=cloche-node
CGROUP=cloche-k8s
LINK=cloche-k8s

KUBERNETES=1.36.3
CONTAINERD=2.4.2
RUNC=1.5.2
ETCD=3.6.16
HELM=3.19.0
GVISOR=v0.0.0-20260905035102-160fafc42237

say() { printf '%s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }

node_pid() { # the node's init as this machine sees it; fails when no cluster runs
  local pid
  pid=$(cat "$RUN/node.pid" 2>/dev/null) && [[ $(readlink "/proc/$pid/ns/net" 2>/dev/null) == "$(cat "$RUN/node.netns")" ]] && echo "$pid"
}

in_node() { nsenter --target "$(node_pid)" --mount --net --pid -- "$@"; }

ctr_in_node() { in_node "$BIN/ctr" --address /run/containerd/containerd.sock --namespace k8s.io "$@"; }
