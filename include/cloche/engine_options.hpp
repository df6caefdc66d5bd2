/// @file
/// Options of an engine.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cloche/bytes.hpp"

namespace cloche {

/// What creates sandboxes: an OCI runtime without a daemon, a Docker engine, an E2B service, or a Kubernetes cluster.
enum class BackendKind { oci, docker, e2b, kubernetes };

/// The disks of sandboxes whose workspace is WorkspaceKind::disk.
struct DiskOptions {
  /// Directory on the file system that stores the disks. Empty: `state_dir`/disks.
  std::string dir;
  /// The limit of SandboxSpec::disk_size.
  Bytes max_size = mib(16'384);
  /// The limit of the sizes of all disks of this engine together. Zero: half the size of the file system of `dir`.
  Bytes max_total;
  /// Whether a disk's whole size is allocated when it is created. Otherwise it is allocated as programs write.
  bool preallocate = false;
};

/// The E2B service of BackendKind::e2b. An empty or unset member has the value of the environment variable in brackets.
struct E2bOptions {
  std::string api_key;        ///< The key [E2B_API_KEY].
  std::string domain;         ///< The domain of the service [E2B_DOMAIN, or else `e2b.app`].
  std::string template_name;  ///< The template of sandboxes whose spec names none [E2B_TEMPLATE, or else `base`].
  /// Whether programs reach the internet directly, beyond Cloche's network rules [E2B_ALLOW_INTERNET_ACCESS, or else
  /// false].
  std::optional<bool> allow_internet_access;
  /// Whether the service protects a sandbox by an access token [E2B_SECURE_ACCESS, or else true].
  std::optional<bool> secure_access;
  std::string api_url;      ///< The control plane of a private installation [E2B_API_URL].
  std::string sandbox_url;  ///< The sandboxes of a private installation [E2B_SANDBOX_URL].
};

/// The cluster of BackendKind::kubernetes.
struct KubernetesOptions {
  /// Path of a kubeconfig, or several separated by `:`. Empty: KUBECONFIG, or else `~/.kube/config`, or else the
  /// service account of the pod that this process runs in.
  std::string kubeconfig;
  std::string context;         ///< A context of the kubeconfig. Empty: the current one.
  std::string namespace_name;  ///< The namespace of the pods. Empty: the context's, or else `default`.
  /// The image with the agent, at `/cloche-agent`. Required.
  std::string agent_image;
  std::string image_pull_policy;                ///< Always, IfNotPresent or Never. Empty: the cluster's rule.
  std::vector<std::string> image_pull_secrets;  ///< Names of secrets with which nodes pull images.
  /// How the agent gets into a pod. automatic: an image volume from Kubernetes 1.35, else an init container.
  enum class AgentVolume { automatic, image, init_container };
  AgentVolume agent_volume = AgentVolume::automatic;  ///< How the agent gets into a pod.
  std::map<std::string, std::string> node_selector;   ///< Labels that a node must have.
  /// A taint of nodes that pods tolerate.
  struct Toleration {
    std::string key;     ///< The taint's key. Empty: every taint.
    std::string value;   ///< The taint's value. Empty: every value.
    std::string effect;  ///< NoSchedule, PreferNoSchedule or NoExecute. Empty: every effect.
  };
  std::vector<Toleration> tolerations;  ///< Taints of nodes that pods tolerate.
};

/// The directories and the identity of an engine.
struct EngineOptions {
  BackendKind backend = BackendKind::oci;     ///< What creates the sandboxes.
  std::string state_dir = "/var/lib/cloche";  ///< Directory for root filesystems, images and the agent.
  std::string run_dir = "/run/cloche";        ///< Directory for state that does not survive a reboot.
  /// The name of an owner of sandboxes in `state_dir`: letters, digits and '-'. One process at a time can use it.
  /// Empty: a private owner; its sandboxes are removed with this engine or, after a crash, by the next engine with this
  /// `run_dir`.
  std::string instance;

  /// oci: paths of runtimes by name. A known name (crun, runc, runsc) is then not searched in PATH. Any other name adds
  /// a runtime that specs can use; its kind is detected from its `--version`.
  std::map<std::string, std::string> runtimes;

  DiskOptions disk;  ///< Disks of sandboxes.

  /// docker: address of the engine. Empty: DOCKER_HOST, DOCKER_TLS_VERIFY and DOCKER_CERT_PATH, or else the usual
  /// socket.
  std::string docker_host;
  /// Maps paths of Cloche to paths of the host for bind mounts, for a Cloche in a container. The longest prefix wins.
  std::map<std::string, std::string> host_path_map;
  /// docker: the first of the host's uids from which sandboxes without a uid get one each, and how many there are.
  std::uint32_t docker_first_uid = 2'093'056;
  std::uint32_t docker_uids = 4096;  ///< 0: such sandboxes have uid 1000, and share what the kernel counts for a user.

  E2bOptions e2b;                ///< e2b: the service.
  KubernetesOptions kubernetes;  ///< kubernetes: the cluster.
};

/// One capability of a host.
struct HostFinding {
  std::string backend;  ///< The backend it concerns: `oci`, `docker`, `e2b` or `kubernetes`.
  std::string name;     ///< The name of the capability.
  /// The state of the capability.
  enum class Level { good, warning, missing };
  Level level = Level::good;  ///< The state of the capability.
  std::string detail;         ///< What was found.
  std::string advice;         ///< What to do about it, unless it is good.
};

}  // namespace cloche
