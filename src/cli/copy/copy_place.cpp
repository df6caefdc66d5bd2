#include "cli/copy/copy_place.hpp"

namespace cloche::cli {

namespace {

// Where programs find their files, unless a profile says otherwise.
constexpr std::string_view usual_workspace = "/workspace";

// Programs call their files by absolute paths; the service wants them relative to the workspace.
Result<std::string> in_workspace(const std::string& path) {
  if (!path.starts_with('/')) return path;
  std::string_view rest = path;
  if (!rest.starts_with(usual_workspace) ||
      (rest.size() > usual_workspace.size() && rest[usual_workspace.size()] != '/')) {
    return fail(ErrorCode::invalid_argument, path + " is not in the workspace; give a path relative to it");
  }
  rest.remove_prefix(usual_workspace.size());
  while (rest.starts_with('/')) rest.remove_prefix(1);
  return rest.empty() ? std::string(".") : std::string(rest);
}

}  // namespace

CopyPlace parse_copy_place(std::string_view text) {
  CopyPlace place;
  const auto colon = text.find(':');
  const std::string_view before = text.substr(0, colon == text.npos ? 0 : colon);
  if (before.empty() || before.find('/') != before.npos) {
    place.path = text;
    return place;
  }
  place.session = std::string(before);
  place.path = text.substr(colon + 1);
  if (place.path.empty()) place.path = ".";
  return place;
}

Result<CopyArguments> plan_copy(std::string_view from, std::string_view to) {
  CopyArguments args;
  CopyPlace source = parse_copy_place(from);
  CopyPlace target = parse_copy_place(to);
  if (source.session.has_value() == target.session.has_value()) {
    return fail(
        ErrorCode::invalid_argument,
        "exactly one path must be in a session, written SESSION:PATH; write ./a:b for a local file with a colon");
  }
  if (source.path.empty() || target.path.empty()) return fail(ErrorCode::invalid_argument, "a path is empty");
  args.way = target.session ? CopyArguments::Way::up : CopyArguments::Way::down;
  args.local = target.session ? std::move(source) : target;
  args.remote = target.session ? std::move(target) : std::move(source);
  CLOCHE_TRY(args.remote.path, in_workspace(args.remote.path));
  return args;
}

std::string last_name(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  const auto slash = path.rfind('/');
  const std::string_view name = slash == path.npos ? path : path.substr(slash + 1);
  return name == "." || name == ".." ? std::string() : std::string(name);
}

bool names_directory(std::string_view path) {
  return path.ends_with('/') || path == "." || path == ".." || path.ends_with("/.") || path.ends_with("/..");
}

std::string joined(std::string_view directory, std::string_view name) {
  while (directory.ends_with('/')) directory.remove_suffix(1);
  if (directory.empty() || directory == ".") return std::string(name);
  if (name.empty()) return std::string(directory);
  return std::string(directory) + "/" + std::string(name);
}

}  // namespace cloche::cli
