#include "backend/docker/labels.hpp"

#include <gtest/gtest.h>

namespace cloche::docker {
namespace {

SandboxSpec sample() {
  SandboxSpec spec;
  spec.image = "python:3.12-slim";
  spec.runtime = "runsc";
  spec.work_dir = "/home/w";
  spec.uid = 1234;
  spec.gid = 2345;
  spec.user = "someone";
  spec.root = true;
  spec.hostname = "box";
  spec.name = "my-box";
  spec.limits.memory = mib(77);
  spec.limits.cpus = 0.25;
  spec.limits.pids = 33;
  spec.limits.shm_dir = kib(65);
  spec.mounts = {{"/srv/data", "/data", Access::read_only}, {"/srv/out", "/out", Access::read_write}};
  spec.labels = {{"team", "a \"quoted\" one"}};
  spec.ready_timeout = std::chrono::milliseconds(1500);
  return spec;
}

TEST(Labels, Gpus_AreReadAsTheyWereWritten) {
  SandboxSpec spec;
  spec.gpus.ids = {"GPU-1", "0"};
  EXPECT_EQ(read_spec(write_spec(spec))->gpus, spec.gpus);
  spec.gpus = {.all = true, .count = 0, .ids = {}};
  EXPECT_EQ(read_spec(write_spec(spec))->gpus, spec.gpus);
}

TEST(SpecLabel, Spec_SurvivesTheRoundTrip) {
  const SandboxSpec spec = sample();
  const auto back = read_spec(write_spec(spec));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(write_spec(*back), write_spec(spec));
  EXPECT_EQ(back->user, "someone");
  EXPECT_TRUE(back->root);
  EXPECT_EQ(back->limits.memory, mib(77));
  EXPECT_EQ(back->limits.cpus, 0.25);
  EXPECT_EQ(back->mounts.size(), 2u);
  EXPECT_EQ(back->mounts[1].access, Access::read_write);
  EXPECT_EQ(back->labels, spec.labels);
  EXPECT_EQ(back->ready_timeout, spec.ready_timeout);
}

TEST(SpecLabel, UidThatWasNotSet_IsNotSetAfterwards) {
  SandboxSpec spec = sample();
  spec.uid.reset();
  EXPECT_EQ(read_spec(write_spec(spec)).value().uid, std::nullopt);
}

TEST(UidLabel, Number_IsRead) {
  EXPECT_EQ(labels::read_uid({{"cloche.uid", "2093056"}}), 2'093'056u);
  for (const char* odd : {"", "0", "x", "1x", "-1", "99999999999"})
    EXPECT_EQ(labels::read_uid({{"cloche.uid", odd}}), std::nullopt) << odd;
  EXPECT_EQ(labels::read_uid({}), std::nullopt);
}

TEST(SpecLabel, NonsenseOrRoot_IsRefused) {
  for (const char* odd : {"", "{", "null", "{}", "[]", R"({"work_dir":7})"}) EXPECT_FALSE(read_spec(odd)) << odd;
  SandboxSpec root = sample();
  root.uid = 0;
  EXPECT_FALSE(read_spec(write_spec(root)));
}

TEST(SandboxLabels, OwnNames_CannotBeTakenByTheCaller) {
  SandboxSpec spec = sample();
  const auto all = labels::for_sandbox(spec, {"abc"}, {"one"});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->at("cloche.app"), "cloche");
  EXPECT_EQ(all->at("cloche.owner"), "one");
  EXPECT_EQ(all->at("cloche.instance"), "one");
  EXPECT_EQ(all->at("cloche.sandbox"), "abc");
  EXPECT_EQ(all->at("team"), "a \"quoted\" one");
  EXPECT_EQ(all->at("cloche.deriving.owner"), "");
  spec.work_dir = "/w\xff";
  EXPECT_EQ(labels::for_sandbox(spec, {"abc"}, {"one"}).error().code, ErrorCode::invalid_argument);
  spec.work_dir = "/\xc3\xa4";
  EXPECT_TRUE(labels::for_sandbox(spec, {"abc"}, {"one"}));
  spec.labels["cloche.instance"] = "another";
  EXPECT_FALSE(labels::for_sandbox(spec, {"abc"}, {"one"}));
}

TEST(SandboxLabels, OwnerIsTheIdAndNeverTheName) {
  const auto all = labels::for_sandbox(sample(), {"abc"}, {"0123", "default", "/state"}).value();
  EXPECT_EQ(all.at("cloche.instance"), "default");
  EXPECT_EQ(labels::owner_of(all), "0123");
  EXPECT_EQ(labels::of_owner({"0123", "another"}), labels::of_owner({"0123", "default"}));
  EXPECT_EQ(labels::owner_of({{"cloche.app", "cloche"}, {"cloche.instance", "default"}}), "default") << "of old";
  EXPECT_EQ(labels::owner_of({{"cloche.deriving.owner", "0123"}}), "0123");
  EXPECT_EQ(labels::owner_of({{"cloche.owner", "0123"}}), "") << "none of Cloche's";
  EXPECT_EQ(labels::owner_of({}), "");
}

}  // namespace
}  // namespace cloche::docker
