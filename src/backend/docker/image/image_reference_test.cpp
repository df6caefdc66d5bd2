#include "backend/docker/image/image_reference.hpp"

#include <gtest/gtest.h>

namespace cloche::docker {
namespace {

std::string parts(std::string_view text) {
  const auto reference = parse_image_reference(text);
  return reference ? reference->repository + " " + reference->tag : "refused";
}

TEST(ParseImageReference, UsualForms_AreTakenApart) {
  EXPECT_EQ(parts("python"), "python latest");
  EXPECT_EQ(parts("python:3.12-slim"), "python 3.12-slim");
  EXPECT_EQ(parts("registry:5000/team/app"), "registry:5000/team/app latest");
  EXPECT_EQ(parts("registry:5000/team/app:v1"), "registry:5000/team/app v1");
  EXPECT_EQ(parts("app@sha256:0123"), "app sha256:0123");
  EXPECT_EQ(parts("registry:5000/app:v1@sha256:0123"), "registry:5000/app sha256:0123");
  EXPECT_EQ(parts("sha256:0123abcd"), "sha256 0123abcd");
}

TEST(ParseImageReference, WhatWouldLeaveThePath_IsRefused) {
  for (const char* odd :
       {"", ":", "a:", "/a", "a/", "a//b", "a/../b", "a b", "a?x=1", "a#b", "a%2f", "-a", "a@", "a\nb"}) {
    EXPECT_EQ(parts(odd), "refused") << odd;
  }
  EXPECT_EQ(parts(std::string("a\0b", 3)), "refused");
  EXPECT_EQ(parts("\xff\xfe"), "refused");
  EXPECT_EQ(parts(std::string(600, 'a')), "refused");
}

}  // namespace
}  // namespace cloche::docker
