#include "gpu/cdi_spec.hpp"

#include <gmock/gmock.h>

namespace cloche::gpu {
namespace {

using ::testing::HasSubstr;

// As `nvidia-ctk cdi generate` writes it, shortened.
constexpr std::string_view nvidia_yaml = R"(---
cdiVersion: 0.5.0
kind: nvidia.com/gpu
containerEdits:
  deviceNodes:
  - path: /dev/nvidia-uvm
  - path: /dev/nvidiactl
  env:
  - NVIDIA_VISIBLE_DEVICES=void
  hooks:
  - args:
    - nvidia-cdi-hook
    - update-ldcache
    - --folder
    - /usr/lib/x86_64-linux-gnu
    env:
    - NVIDIA_CTK_DEBUG=false
    hookName: createContainer
    path: /usr/bin/nvidia-cdi-hook
  mounts:
  - containerPath: /usr/bin/nvidia-smi
    hostPath: /usr/bin/nvidia-smi
    options:
    - ro
    - nosuid
    - nodev
    - rbind
    - rprivate
devices:
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
    - hostPath: /dev/dri/card1
      path: /dev/dri/card0
  name: "0"
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
  name: all
)";

std::string error_of(std::string_view text, CdiForm form = CdiForm::yaml) {
  const auto spec = parse_cdi(text, "f.yaml", form);
  if (spec) return "no error";
  EXPECT_EQ(spec.error().code, ErrorCode::invalid_argument);
  return spec.error().message;
}

TEST(CdiSpec, SpecificationOfNvidia_IsRead) {
  const auto spec = parse_cdi(nvidia_yaml, "nvidia.yaml", CdiForm::yaml);
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->kind, "nvidia.com/gpu");
  EXPECT_EQ(spec->device_class(), "gpu");
  ASSERT_EQ(spec->edits.nodes.size(), 2u);
  EXPECT_EQ(spec->edits.nodes[0].host_path, "/dev/nvidia-uvm");
  ASSERT_EQ(spec->edits.env.size(), 1u);
  EXPECT_EQ(spec->edits.env[0].name, "NVIDIA_VISIBLE_DEVICES");
  EXPECT_EQ(spec->edits.env[0].value, "void");
  ASSERT_EQ(spec->edits.hooks.size(), 1u);
  EXPECT_EQ(spec->edits.hooks[0],
            "createContainer /usr/bin/nvidia-cdi-hook update-ldcache --folder /usr/lib/x86_64-linux-gnu");
  ASSERT_EQ(spec->devices.size(), 2u);
  EXPECT_EQ(spec->devices[0].name, "0");
  EXPECT_EQ(spec->devices[0].edits.nodes[1].path, "/dev/dri/card0");
  EXPECT_EQ(spec->devices[0].edits.nodes[1].host_path, "/dev/dri/card1");
}

TEST(CdiSpec, Json_IsReadTheSame) {
  const auto spec = parse_cdi(R"({"cdiVersion": "0.8.0", "kind": "vendor.com/gpu", "annotations": {"a": "b"},
    "devices": [{"name": "x", "annotations": {}, "containerEdits": {
      "deviceNodes": [{"path": "/dev/x", "type": "c", "major": 195, "minor": 255, "fileMode": 438, "permissions": "rw"}],
      "mounts": [{"hostPath": "/opt/a", "containerPath": "/opt/b", "type": "bind"}],
      "additionalGids": [44], "intelRdt": {"closID": "q"}}}]})",
                              "v.json", CdiForm::json);
  ASSERT_TRUE(spec) << spec.error().message;
  const CdiEdits& edits = spec->devices.at(0).edits;
  EXPECT_EQ(edits.nodes.at(0).major, 195u);
  EXPECT_EQ(edits.nodes.at(0).minor, 255u);
  EXPECT_EQ(edits.mounts.at(0).container_path, "/opt/b");
  EXPECT_TRUE(edits.sets_other_things);
  EXPECT_FALSE(spec->edits.sets_other_things);
}

TEST(CdiSpec, Versions_FromThreeToEight) {
  const auto with = [](const std::string& version) { return "cdiVersion: " + version + "\nkind: a.b/gpu\n"; };
  for (const char* good : {"0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0"}) {
    EXPECT_TRUE(parse_cdi(with(good), "f", CdiForm::yaml)) << good;
  }
  for (const char* bad : {"0.2.0", "1.0.0", "0.5", "x", "\"\""}) {
    EXPECT_THAT(error_of(with(bad)), HasSubstr("cdiVersion")) << bad;
  }
}

TEST(CdiSpec, WhatIsNotUnderstood_IsRejectedAsAWhole) {
  const std::string head = "cdiVersion: 0.5.0\nkind: a.b/gpu\n";
  const auto node = [&](const std::string& fields) {
    return head + "devices: [{name: x, containerEdits: {deviceNodes: [{" + fields + "}]}}]\n";
  };
  EXPECT_THAT(error_of(""), HasSubstr("cdiVersion"));
  EXPECT_THAT(error_of("cdiVersion: 0.5.0\nkind: gpu\n"), HasSubstr("vendor/class"));
  EXPECT_THAT(error_of("cdiVersion: 0.5.0\nkind: ../gpu\n"), HasSubstr("vendor/class"));
  EXPECT_THAT(error_of(head + "device: []\n"), HasSubstr("device"));
  EXPECT_THAT(error_of(head + "devices: [{name: a}, {name: a}]\n"), HasSubstr("more than one device"));
  EXPECT_THAT(error_of(head + "devices: [{name: a/b}]\n"), HasSubstr("name"));
  EXPECT_THAT(error_of(head + "devices: [{containerEdits: {}}]\n"), HasSubstr("needs a name"));
  EXPECT_THAT(error_of(node("type: c")), HasSubstr("needs a path"));
  EXPECT_THAT(error_of(node("path: /dev/../etc/shadow")), HasSubstr("path"));
  EXPECT_THAT(error_of(node("path: /etc/x")), HasSubstr("below /dev"));
  EXPECT_THAT(error_of(node("path: dev/x")), HasSubstr("absolute"));
  EXPECT_THAT(error_of(node("path: /dev/x, type: b")), HasSubstr("character device"));
  EXPECT_THAT(error_of(node("path: /dev/x, major: -1")), HasSubstr("major"));
  EXPECT_THAT(error_of(node("path: /dev/x, minor: 99999999")), HasSubstr("minor"));
  EXPECT_THAT(error_of(node("path: /dev/x, permissions: rwx")), HasSubstr("permissions"));
  EXPECT_THAT(error_of(node("path: /dev/x, owner: me")), HasSubstr("owner"));
  EXPECT_THAT(error_of(head + "containerEdits: {env: [NOVALUE]}\n"), HasSubstr("NAME=VALUE"));
  EXPECT_THAT(error_of(head + "containerEdits: {env: ['9=1']}\n"), HasSubstr("NAME=VALUE"));
  EXPECT_THAT(error_of(head + "containerEdits: {mounts: [{hostPath: /a}]}\n"), HasSubstr("containerPath"));
  EXPECT_THAT(error_of(head + "containerEdits: {mounts: [{hostPath: /a/../b, containerPath: /c}]}\n"),
              HasSubstr("hostPath"));
  EXPECT_THAT(error_of(head + "containerEdits: {mounts: [{hostPath: /a, containerPath: /c, type: tmpfs}]}\n"),
              HasSubstr("type"));
  EXPECT_THAT(error_of("{\"kind\": \"a/gpu\", \"kind\": \"b/gpu\"}", CdiForm::json), HasSubstr("duplicate"));
  EXPECT_THAT(error_of("[]", CdiForm::json), HasSubstr("f.yaml"));
}

}  // namespace
}  // namespace cloche::gpu
