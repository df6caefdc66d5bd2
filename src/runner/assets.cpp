#include "runner/assets.hpp"

#include "runner/autograder/path_below.hpp"
#include "runner/judge/excerpt.hpp"

namespace cloche::runner {

namespace {

const std::string asset_root = "/tmp";

}  // namespace

Status validate_assets(const std::vector<Asset>& assets) {
  for (const Asset& asset : assets) {
    if (path_below(asset_root, asset.target)) continue;
    return fail(ErrorCode::invalid_argument, "Asset target must stay within /tmp: " + readable(asset.target, 200));
  }
  return {};
}

Task<Status> write_assets(LiveSandbox& sandbox, const std::vector<Asset>& assets, Deadline deadline) {
  if (auto valid = validate_assets(assets); !valid) co_return valid;
  auto there = sandbox.files();
  for (const Asset& asset : assets) {
    FilePath place = FilePath::beneath(asset_root, *path_below(asset_root, asset.target));
    std::string content = asset.content;
    WriteOptions how;
    how.mode = asset.access == Access::read_only ? 0444 : 0644;
    how.read_only = WriteOptions::ReadOnly::replace;  // the same asset may be injected again
    auto written = co_await there.write(std::move(place), std::move(content), how, deadline);
    if (!written) co_return fail(std::move(written).error().at("inject " + asset.target));
  }
  co_return Status{};
}

}  // namespace cloche::runner
