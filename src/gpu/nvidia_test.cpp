#include "gpu/nvidia.hpp"

#include <gmock/gmock.h>

#include "gpu/inventory.hpp"
#include "gpu/testing/tree.hpp"

namespace cloche::gpu {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* version_text =
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (root@host)  Mon\n"
    "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n";

constexpr const char* information_text =
    "Model: \t\t NVIDIA H200\nIRQ:   \t\t 35\nGPU UUID: \t GPU-6f2a1b3c-0d4e-5f60-7182-93a4b5c6d7e8\n"
    "Video BIOS: \t ??.??.??.??.??\nBus Type: \t PCIe\nDevice Minor: \t 0\nGPU Excluded:\t No\n";

TEST(Nvidia, Version_IsTheFirstNumberWithDots) {
  EXPECT_EQ(parse_nvidia_version(version_text), "580.159.04");
  EXPECT_EQ(parse_nvidia_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun 6\n"),
            "535.54.03");
  EXPECT_EQ(parse_nvidia_version(""), "");
  EXPECT_EQ(parse_nvidia_version("none\n1.2\n"), "");
  EXPECT_EQ(parse_nvidia_version("../../1.2 5. .5"), "");
}

TEST(Nvidia, Information_HasTheNumberAndTheUuid) {
  const NvidiaInformation about = parse_nvidia_information(information_text);
  EXPECT_EQ(about.minor, 0u);
  EXPECT_EQ(about.uuid, "GPU-6f2a1b3c-0d4e-5f60-7182-93a4b5c6d7e8");
  EXPECT_EQ(parse_nvidia_information("GPU UUID: ../x\nDevice Minor: x\n").uuid, "");
  EXPECT_FALSE(parse_nvidia_information("GPU UUID: GPU-????\nDevice Minor: 99999999999\n").minor);
}

void add_host(const TestingTree& tree) {
  tree.write("proc/version", version_text);
  tree.write("proc/gpus/0000:01:00.0/information", information_text);
  tree.link("dev/nvidia0", "/dev/full");
  tree.link("dev/nvidia10", "/dev/zero");
  tree.link("dev/nvidia2", "/dev/urandom");
  tree.link("dev/nvidiactl", "/dev/null");
  tree.link("dev/nvidia-uvm", "/dev/random");
}

TEST(Nvidia, NodesAndLibraries_AreFoundWithoutASpecification) {
  const TestingTree tree;
  add_host(tree);
  tree.write("lib/libcuda.so.580.159.04", "no library");
  tree.write("lib/libcuda.so.535.1", "of another driver");
  tree.write("lib/libnvidia-ml.so.580.159.04", "no library");
  tree.write("lib/libGLX_nvidia.so.580.159.04", "for graphics");
  tree.write("bin/nvidia-smi", "#!/bin/sh\n");
  const Inventory found = find_gpus(tree.places());
  EXPECT_THAT(found.problems, IsEmpty());
  ASSERT_EQ(found.gpus.size(), 3u);
  EXPECT_EQ(found.gpus[0].name, "0");
  EXPECT_THAT(found.gpus[0].other_names, ElementsAre("GPU-6f2a1b3c-0d4e-5f60-7182-93a4b5c6d7e8"));
  EXPECT_EQ(found.gpus[1].name, "2");
  EXPECT_EQ(found.gpus[2].name, "10");
  ASSERT_EQ(found.drivers.size(), 1u);
  const Driver& driver = found.drivers[0];
  EXPECT_EQ(driver.found_in, "the NVIDIA driver 580.159.04");
  ASSERT_EQ(driver.nodes.size(), 2u);
  EXPECT_EQ(driver.nodes[0].target, "/dev/nvidiactl");
  EXPECT_EQ(driver.nodes[1].target, "/dev/nvidia-uvm");
  std::vector<std::string> targets;
  for (const DriverFile& file : driver.files) targets.push_back(file.target);
  EXPECT_THAT(targets, ElementsAre("/.cloche/gpu/lib/libcuda.so", "/.cloche/gpu/lib/libcuda.so.580.159.04",
                                   "/.cloche/gpu/lib/libnvidia-ml.so", "/.cloche/gpu/lib/libnvidia-ml.so.580.159.04",
                                   "/.cloche/bin/nvidia-smi"));
}

TEST(Nvidia, WhatIsMissing_IsSaid) {
  const TestingTree tree;
  tree.link("dev/nvidia0", "/dev/full");
  const Inventory found = find_gpus(tree.places());
  EXPECT_EQ(found.gpus.size(), 1u);
  EXPECT_THAT(found.problems, Contains(HasSubstr("nvidiactl")));
  EXPECT_THAT(found.problems, Contains(HasSubstr("nvidia-uvm")));
  EXPECT_THAT(found.problems, Contains(HasSubstr("version")));
  tree.write("proc/version", version_text);
  EXPECT_THAT(find_gpus(tree.places()).problems, Contains(HasSubstr("no libcuda.so.580.159.04 in ")));
}

TEST(Nvidia, InstancesOfAGpu_BelongToIt) {
  const TestingTree tree;
  add_host(tree);
  tree.write("proc/capabilities/gpu0/mig/gi1/access",
             "DeviceFileMinor: 12\nDeviceFileMode: 292\nDeviceFileModify: 1\n");
  tree.link("dev/nvidia-caps/nvidia-cap12", "/dev/tty");
  const Inventory found = find_gpus(tree.places());
  ASSERT_EQ(found.gpus.at(0).nodes.size(), 2u);
  EXPECT_EQ(found.gpus[1].nodes.size(), 1u);
  EXPECT_EQ(found.gpus[0].nodes[1].target, "/dev/nvidia-caps/nvidia-cap12");
}

TEST(Nvidia, SpecificationOfTheSameKind_TakesPrecedence) {
  const TestingTree tree;
  add_host(tree);
  tree.write("etc/cdi/nvidia.yaml",
             "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices: [{name: '0', containerEdits: "
             "{deviceNodes: [{path: /dev/nvidia0, hostPath: /dev/full}]}}]\n");
  const Inventory found = find_gpus(tree.places());
  ASSERT_EQ(found.gpus.size(), 1u);
  EXPECT_EQ(found.drivers.at(0).found_in, tree / "etc/cdi/nvidia.yaml");
}

}  // namespace
}  // namespace cloche::gpu
