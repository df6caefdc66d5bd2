#include "sandbox/backend_traits.hpp"

#include <gmock/gmock.h>

#include <set>

namespace cloche {
namespace {

TEST(BackendTraits, EachRow_IsFoundByKindAndName) {
  std::set<std::string_view> names;
  for (const BackendTraits& row : all_backends()) {
    EXPECT_EQ(&traits_of(row.kind), &row);
    EXPECT_EQ(find_backend(row.name), &row);
    EXPECT_EQ(*parse_backend(row.name), row.kind);
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
  }
}

TEST(BackendTraits, EachRow_IsConsistent) {
  for (const BackendTraits& row : all_backends()) {
    EXPECT_NE(row.summary, "") << row.name;
    const bool has_usual_image = row.needs_image && row.images != BackendTraits::Images::templates;
    EXPECT_EQ(has_usual_image, !row.usual_image.empty()) << row.name;
    EXPECT_EQ(row.engine != nullptr, !row.usual_engine.empty()) << row.name;
    EXPECT_EQ(row.engine != nullptr, !row.engine_variable.empty()) << row.name;
  }
}

TEST(BackendTraits, TheDefault_HasARow) { EXPECT_EQ(traits_of(EngineOptions().backend).name, "oci"); }

TEST(BackendTraits, UnknownName_ListsTheKnownOnes) {
  for (const char* name : {"lxc", "Docker", ""}) {
    const auto parsed = parse_backend(name);
    ASSERT_FALSE(parsed) << name;
    EXPECT_EQ(parsed.error().message, "must be one of oci, docker, e2b, kubernetes, not `" + std::string(name) + "`");
  }
  EXPECT_EQ(describe_backends(),
            "oci (an OCI runtime, no daemon), docker (a Docker engine), e2b (an E2B service) or kubernetes (pods of a "
            "Kubernetes cluster)");
}

}  // namespace
}  // namespace cloche
