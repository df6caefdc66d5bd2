#include "pattern/glob_pattern.hpp"

#include <algorithm>

#include "pattern/glob_braces.hpp"

namespace cloche {

namespace {

constexpr std::size_t longest_pattern = std::size_t{16} * 1024;

bool is_hidden(std::string_view name) { return name.starts_with('.'); }

}  // namespace

Result<GlobPattern> GlobPattern::compile(std::string_view pattern, Hidden hidden) {
  if (pattern.empty()) return fail(ErrorCode::invalid_argument, "pattern is empty");
  if (pattern.size() > longest_pattern) return fail(ErrorCode::invalid_argument, "pattern is too long");
  if (pattern.find('\0') != std::string_view::npos)
    return fail(ErrorCode::invalid_argument, "pattern contains a NUL byte");
  GlobPattern compiled;
  compiled.hidden_ = hidden;
  CLOCHE_TRY(const auto alternatives, expand_braces(pattern));
  for (const std::string& alternative : alternatives) CLOCHE_CHECK(compiled.add_alternative(alternative));
  return compiled;
}

Status GlobPattern::add_alternative(std::string_view pattern) {
  if (pattern.starts_with('/')) return fail(ErrorCode::invalid_argument, "pattern is absolute");
  const bool directories = pattern.ends_with('/');
  starts_.push_back(static_cast<std::uint32_t>(parts_.size()));
  bool any_depth = false;  // the last part
  while (!pattern.empty()) {
    const auto slash = pattern.find('/');
    const auto part = pattern.substr(0, slash);
    pattern.remove_prefix(slash == std::string_view::npos ? pattern.size() : slash + 1);
    if (part == "..") return fail(ErrorCode::invalid_argument, "pattern contains a `..` component");
    if (part.empty() || part == ".") continue;
    if (part == "**") {
      if (!any_depth) parts_.push_back({Kind::any_depth, {}});
      any_depth = true;
      continue;
    }
    any_depth = false;
    CLOCHE_TRY(Wildcard wildcard, Wildcard::compile(part));
    parts_.push_back({Kind::name, std::move(wildcard)});
  }
  if (any_depth) {
    CLOCHE_TRY(Wildcard star, Wildcard::compile("*"));
    parts_.push_back({Kind::name, std::move(star)});
  }
  if (parts_.size() == starts_.back()) {
    // Nothing is named, so nothing can match: an alternative such as the second of `{a,}`.
    starts_.pop_back();
    return {};
  }
  parts_.push_back({directories ? Kind::end_directory : Kind::end, {}});
  return {};
}

void GlobPattern::add_state(States& states, std::uint32_t state) const {
  states.push_back(state);
  if (parts_[state].kind == Kind::any_depth) states.push_back(state + 1);  // no directory at all
}

void GlobPattern::tidy(States& states) {
  std::sort(states.begin(), states.end());
  states.erase(std::unique(states.begin(), states.end()), states.end());
}

GlobPattern::States GlobPattern::start() const {
  States states;
  for (const std::uint32_t first : starts_) add_state(states, first);
  tidy(states);
  return states;
}

GlobPattern::States GlobPattern::step(const States& states, std::string_view name) const {
  const bool shy = is_hidden(name) && hidden_ == Hidden::skip;
  States next;
  for (const std::uint32_t state : states) {
    const Part& part = parts_[state];
    if (part.kind == Kind::any_depth && !shy) add_state(next, state);
    if (part.kind == Kind::name && (!shy || part.wildcard.starts_with_dot()) && part.wildcard.matches(name)) {
      add_state(next, state + 1);
    }
  }
  tidy(next);
  return next;
}

bool GlobPattern::accepts(const States& states, Is is) const {
  return std::any_of(states.begin(), states.end(), [&](std::uint32_t state) {
    const Kind kind = parts_[state].kind;
    return kind == Kind::end || (kind == Kind::end_directory && is == Is::directory);
  });
}

bool GlobPattern::goes_on(const States& states) const {
  return std::any_of(states.begin(), states.end(), [&](std::uint32_t state) {
    return parts_[state].kind == Kind::name || parts_[state].kind == Kind::any_depth;
  });
}

bool GlobPattern::matches(std::string_view path, Is is) const {
  States states = start();
  while (!path.empty()) {
    const auto slash = path.find('/');
    states = step(states, path.substr(0, slash));
    if (slash == std::string_view::npos) return accepts(states, is);
    path.remove_prefix(slash + 1);
  }
  return false;
}

}  // namespace cloche
