// GPUs of sandboxes on an engine: what the engine is asked for, and who has them.
#include "backend/docker/gpus.hpp"

#include <gmock/gmock.h>

#include "backend/docker/testing/backend_over_fake_engine.hpp"
#include "gpu/testing/tree.hpp"

namespace cloche::docker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

gpu::Gpu some_gpu(const std::string& kind, const std::string& name) {
  gpu::Gpu gpu;
  gpu.kind = kind;
  gpu.name = name;
  return gpu;
}

gpu::Inventory found_in(const std::string& kind, const std::string& place) {
  gpu::Inventory inventory;
  gpu::Driver driver;
  driver.kind = kind;
  driver.found_in = place;
  inventory.drivers.push_back(std::move(driver));
  return inventory;
}

TEST(DeviceRequests, EngineThatReadsSpecifications_IsAskedByName) {
  EngineFacts facts;
  facts.reads_cdi = true;
  const auto inventory = found_in("vendor.com/gpu", "/etc/cdi/vendor.yaml");
  const auto requests = device_requests(inventory, {some_gpu("vendor.com/gpu", "0")}, facts);
  ASSERT_TRUE(requests) << requests.error().message;
  ASSERT_EQ(requests->size(), 1u);
  EXPECT_EQ(requests->front().driver, "cdi");
  EXPECT_THAT(requests->front().ids, ElementsAre("vendor.com/gpu=0"));
  facts.reads_cdi = false;
  EXPECT_EQ(device_requests(inventory, {some_gpu("vendor.com/gpu", "0")}, facts).error().code, ErrorCode::unsupported);
}

TEST(DeviceRequests, DriverWithoutSpecification_IsAskedByIndex) {
  const auto inventory = found_in("nvidia.com/gpu", "the NVIDIA driver 580.1");
  EngineFacts facts;
  facts.reads_cdi = true;
  const auto requests =
      device_requests(inventory, {some_gpu("nvidia.com/gpu", "0"), some_gpu("nvidia.com/gpu", "2")}, facts);
  ASSERT_TRUE(requests) << requests.error().message;
  EXPECT_EQ(requests->front().driver, "nvidia");
  EXPECT_THAT(requests->front().ids, ElementsAre("0", "2"));
}

class DockerGpus : public testing::BackendOverFakeEngine {
 protected:
  DockerGpus() {
    tree_.write("etc/cdi/nvidia.yaml", R"(cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices: [{name: "0", containerEdits: {deviceNodes: [{path: /dev/nvidia0, hostPath: /dev/full}]}}]
)");
  }
  DockerOptions with_gpus() const {
    DockerOptions options = engine_.options();
    options.gpu_dir = tree_ / "gpus";
    options.gpu_places = tree_.places();
    return options;
  }
  static SandboxSpec with_one() {
    SandboxSpec one = spec();
    one.gpus.count = 1;
    return one;
  }
  std::string requested() const {
    std::string all;
    for (const auto& [id, container] : engine_.containers) {
      const json::value body = container.body;
      if (const json::value* found = json::find(body, "HostConfig", "DeviceRequests"))
        all += boost::json::serialize(*found);
    }
    return all;
  }
  std::vector<std::string> borrowers() const {
    return gpu::Lending(tree_ / "gpus", engine_.options().instance.value).borrowers().value();
  }

  gpu::TestingTree tree_;
};

TEST_F(DockerGpus, Sandbox_GetsTheOneThatIsLent) {
  run([this]() -> Task<> {
    auto made = backend(with_gpus());
    auto wanted = with_one();
    auto first = co_await made->create(wanted, soon());
    EXPECT_TRUE(first) << first.error().message;
    if (!first) co_return;
    EXPECT_EQ(requested(), R"([{"Driver":"nvidia","DeviceIDs":["0"],"Capabilities":[["gpu","compute","utility"]]}])");
    EXPECT_THAT(borrowers(), ElementsAre((*first)->id().value));
    auto second = co_await made->create(wanted, soon());
    EXPECT_FALSE(second);
    if (!second) {
      EXPECT_EQ(second.error().code, ErrorCode::limit_reached);
    }
    auto destroyed = co_await (*first)->destroy(soon());
    EXPECT_TRUE(destroyed);
    EXPECT_THAT(borrowers(), IsEmpty());
  });
}

TEST_F(DockerGpus, LoanOfAContainerThatIsGone_Ends) {
  run([this]() -> Task<> {
    auto made = backend(with_gpus());
    auto wanted = with_one();
    auto first = co_await made->create(wanted, soon());
    EXPECT_TRUE(first) << first.error().message;
    engine_.containers.clear();
    auto second = co_await made->create(wanted, soon());
    EXPECT_TRUE(second) << second.error().message;
    engine_.containers.clear();
    auto living = co_await made->recover(soon());
    EXPECT_TRUE(living);
    EXPECT_THAT(borrowers(), IsEmpty());
  });
}

TEST_F(DockerGpus, SandboxWithoutGpus_AsksForNone) {
  run([this]() -> Task<> {
    auto made = backend(with_gpus());
    auto wanted = spec();
    auto first = co_await made->create(wanted, soon());
    EXPECT_TRUE(first) << first.error().message;
    EXPECT_EQ(requested(), "");
    EXPECT_THAT(borrowers(), IsEmpty());
  });
}

TEST_F(DockerGpus, GvisorWithoutNvproxy_IsRefused) {
  engine_.runtimes = R"({"runsc":{"path":"/usr/bin/runsc"},"runc":{"path":"runc"}})";
  run([this]() -> Task<> {
    auto made = backend(with_gpus());
    auto wanted = with_one();
    wanted.runtime = "runsc";
    auto refused = co_await made->create(wanted, soon());
    EXPECT_FALSE(refused);
    if (refused) co_return;
    EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
    EXPECT_THAT(refused.error().message, HasSubstr("nvproxy"));
    EXPECT_THAT(borrowers(), IsEmpty());
  });
}

}  // namespace
}  // namespace cloche::docker
