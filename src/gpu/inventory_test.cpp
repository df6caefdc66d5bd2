#include "gpu/inventory.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "gpu/testing/tree.hpp"

namespace cloche::gpu {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Every host has these, and their numbers are always the same.
std::string two_devices() {
  return R"(cdiVersion: 0.5.0
kind: test.cloche/gpu
containerEdits:
  env: [DRIVER=yes, LD_PRELOAD=/x.so, PATH=/x]
  deviceNodes: [{path: /dev/fakectl, hostPath: /dev/null}]
  hooks: [{hookName: createContainer, path: /bin/false, args: [false, update-ldcache]}]
devices:
- name: "0"
  containerEdits: {env: [NUMBER=0], deviceNodes: [{path: /dev/fake0, hostPath: /dev/full}]}
- name: "1"
  containerEdits: {env: [NUMBER=1], deviceNodes: [{path: /dev/fake1, hostPath: /dev/zero}, {path: /dev/fakectl, hostPath: /dev/null}]}
- name: GPU-1
  containerEdits: {deviceNodes: [{path: /dev/fake1, hostPath: /dev/zero}]}
- name: all
  containerEdits: {deviceNodes: [{path: /dev/fake0, hostPath: /dev/full}, {path: /dev/fake1, hostPath: /dev/zero}]}
)";
}

Inventory with_specification(const std::string& text) {
  const TestingTree tree;
  tree.write("etc/cdi/test.yaml", text);
  return find_gpus(tree.places());
}

TEST(Inventory, HostWithoutGpus_HasNone) {
  const TestingTree tree;
  const Inventory found = find_gpus(tree.places());
  EXPECT_TRUE(found.gpus.empty() && found.drivers.empty() && found.problems.empty() && found.left_out.empty());
}

TEST(Inventory, Specification_BecomesGpusThatDoNotOverlap) {
  const Inventory found = with_specification(two_devices());
  EXPECT_THAT(found.problems, IsEmpty());
  ASSERT_EQ(found.gpus.size(), 2u);
  EXPECT_EQ(found.gpus[0].name, "0");
  EXPECT_EQ(found.gpus[0].key(), "1-7");
  EXPECT_EQ(found.gpus[1].name, "1");
  EXPECT_THAT(found.gpus[1].other_names, ElementsAre("GPU-1"));
  ASSERT_EQ(found.gpus[1].nodes.size(), 1u) << "nodes of the driver are not a GPU's own";
  EXPECT_EQ(found.gpus[1].key(), "1-5");
  EXPECT_TRUE(found.gpus[1].is_called("1") && found.gpus[1].is_called("GPU-1") &&
              found.gpus[1].is_called("test.cloche/gpu=1"));
  EXPECT_FALSE(found.gpus[1].is_called("0") || found.gpus[1].is_called("other/gpu=1"));
  EXPECT_THAT(found.left_out, Contains(HasSubstr("all: others have its nodes")));
}

TEST(Inventory, HooksAndVariablesOfCloche_AreLeftOutAndNamed) {
  const Inventory found = with_specification(two_devices());
  EXPECT_THAT(found.left_out, Contains(HasSubstr("hook createContainer /bin/false update-ldcache")));
  EXPECT_THAT(found.left_out, Contains(HasSubstr("variable LD_PRELOAD")));
  EXPECT_THAT(found.left_out, Contains(HasSubstr("variable PATH")));
  EXPECT_THAT(found.drivers.at(0).env, ElementsAre(std::pair<const std::string, std::string>("DRIVER", "yes")));
}

TEST(Inventory, Equipment_IsOfTheDriverAndTheChosenGpus) {
  const Inventory found = with_specification(two_devices());
  const Equipment one = equip(found, {found.gpus.at(1)});
  ASSERT_EQ(one.nodes.size(), 2u);
  EXPECT_EQ(one.nodes[0].target, "/dev/fakectl");
  EXPECT_EQ(one.nodes[1].target, "/dev/fake1");
  EXPECT_EQ(one.nodes[1].source, "/dev/zero");
  EXPECT_EQ(one.env.at("NUMBER"), "1");
  EXPECT_FALSE(one.env.contains("LD_LIBRARY_PATH"));
  EXPECT_EQ(equip(found, found.gpus).nodes.size(), 3u);
}

TEST(Inventory, PartsOfAGpu_AreLentByThemselves) {
  const Inventory found = with_specification(R"(cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
- {name: "0", containerEdits: {deviceNodes: [{path: /dev/nvidia0, hostPath: /dev/full}]}}
- {name: "0:0", containerEdits: {deviceNodes: [{path: /dev/nvidia0, hostPath: /dev/full}, {path: /dev/nvidia-caps/a, hostPath: /dev/zero}]}}
- {name: "0:1", containerEdits: {deviceNodes: [{path: /dev/nvidia0, hostPath: /dev/full}, {path: /dev/nvidia-caps/b, hostPath: /dev/null}]}}
)");
  ASSERT_EQ(found.gpus.size(), 2u);
  EXPECT_EQ(found.gpus[0].name, "0:0");
  EXPECT_NE(found.gpus[0].key(), found.gpus[1].key());
  EXPECT_EQ(found.gpus[0].nodes.size(), 2u);
}

TEST(Inventory, DeviceThatIsNotThere_IsAProblem) {
  const std::string head = "cdiVersion: 0.5.0\nkind: test.cloche/gpu\ndevices:\n";
  const auto device = [&](const std::string& node) {
    return head + "- {name: x, containerEdits: {deviceNodes: [{" + node + "}]}}\n";
  };
  for (const auto& [node, problem] :
       {std::pair("path: /dev/no-such-device", "there is no device /dev/no-such-device"),
        std::pair("path: /dev/x, hostPath: /etc/passwd", "is not a character device"),
        std::pair("path: /dev/full, major: 7, minor: 7", "/dev/full is the device 1:7")}) {
    const Inventory found = with_specification(device(node));
    EXPECT_THAT(found.gpus, IsEmpty());
    EXPECT_THAT(found.problems, ElementsAre(HasSubstr(problem)));
  }
}

TEST(Inventory, OtherClassesAndOtherFiles_AreNotRead) {
  const TestingTree tree;
  tree.write("etc/cdi/nic.yaml",
             "cdiVersion: 0.5.0\nkind: test.cloche/nic\ndevices: [{name: a, containerEdits: "
             "{deviceNodes: [{path: /dev/full}]}}]\n");
  tree.write("etc/cdi/notes.txt", "nothing");
  const Inventory found = find_gpus(tree.places());
  EXPECT_TRUE(found.gpus.empty() && found.drivers.empty() && found.problems.empty());
}

TEST(Inventory, FileThatAnyUserCouldHaveWritten_IsRefused) {
  const TestingTree tree;
  tree.write("etc/cdi/test.yaml", two_devices());
  ::chmod((tree / "etc/cdi/test.yaml").c_str(), 0666);
  const Inventory found = find_gpus(tree.places());
  EXPECT_THAT(found.gpus, IsEmpty());
  EXPECT_THAT(found.problems, ElementsAre(HasSubstr("test.yaml")));
}

TEST(Inventory, LaterDirectory_ReplacesADevice) {
  const TestingTree tree;
  const auto device = [](const std::string& host) {
    return "cdiVersion: 0.5.0\nkind: a.b/gpu\ndevices: [{name: x, containerEdits: {deviceNodes: [{path: /dev/x, "
           "hostPath: " +
           host + "}]}}]\n";
  };
  tree.write("etc/cdi/a.yaml", device("/dev/full"));
  tree.write("run/cdi/a.json", R"({"cdiVersion": "0.5.0", "kind": "a.b/gpu", "devices": [{"name": "x",
    "containerEdits": {"deviceNodes": [{"path": "/dev/x", "hostPath": "/dev/zero"}]}}]})");
  const Inventory found = find_gpus(tree.places());
  ASSERT_EQ(found.gpus.size(), 1u);
  EXPECT_EQ(found.gpus[0].key(), "1-5");
}

TEST(Inventory, LibrariesAndPrograms_HavePlacesOfTheirOwn) {
  const TestingTree tree;
  // Any library of this host has a SONAME; the one of the C library is the same everywhere.
  std::error_code ignored;
  std::string library;
  for (const char* place :
       {"/lib/x86_64-linux-gnu/libm.so.6", "/lib/aarch64-linux-gnu/libm.so.6", "/lib64/libm.so.6"}) {
    if (library.empty() && std::filesystem::exists(place, ignored)) library = place;
  }
  ASSERT_FALSE(library.empty());
  tree.write("opt/vendor/data", "x");
  tree.write("share/icd.json", "{}");
  tree.write("etc/cdi/test.yaml", R"(cdiVersion: 0.5.0
kind: test.cloche/gpu
containerEdits:
  mounts:
  - {hostPath: )" + library + R"(, containerPath: /usr/lib/x/libm.so.9.9}
  - {hostPath: /bin/true, containerPath: /usr/bin/tool}
  - {hostPath: )" + (tree / "opt/vendor") +
                                      R"(, containerPath: /opt/vendor}
  - {hostPath: )" + (tree / "share/icd.json") +
                                      R"(, containerPath: /usr/share/icd.json}
  - {hostPath: )" + (tree / "gone") + R"(, containerPath: /opt/gone}
  - {hostPath: /dev/null, containerPath: /run/socket}
devices: [{name: x, containerEdits: {deviceNodes: [{path: /dev/x, hostPath: /dev/full}]}}]
)");
  const Inventory found = find_gpus(tree.places());
  std::vector<std::string> targets;
  for (const DriverFile& file : files_of(found)) targets.push_back(file.target);
  EXPECT_THAT(targets, ElementsAre("/.cloche/gpu/lib/libm.so", "/.cloche/gpu/lib/libm.so.6", "/.cloche/bin/tool",
                                   "/opt/vendor"));
  EXPECT_THAT(found.left_out, AllOf(Contains(HasSubstr("icd.json: only libraries and programs")),
                                    Contains(HasSubstr("gone: it does not exist")),
                                    Contains(HasSubstr("/dev/null: it is neither a file nor a directory"))));
  EXPECT_EQ(equip(found, found.gpus).env.at("LD_LIBRARY_PATH"), "/.cloche/gpu/lib");
}

}  // namespace
}  // namespace cloche::gpu
