#include "http/server/router.hpp"

#include <algorithm>
#include <stdexcept>

namespace cloche::http {

namespace {

// What follows the first `count` segments of a path, as received and without the leading slash.
std::string_view raw_rest(std::string_view path, std::size_t count) {
  path.remove_prefix(1);
  for (; count > 0; --count) path.remove_prefix(std::min(path.find('/') + 1, path.size()));
  return path;
}

}  // namespace

std::string_view PathParameters::operator[](std::string_view name) const {
  const auto found = std::ranges::find_if(items_, [&](const auto& item) { return item.first == name; });
  return found == items_.end() ? std::string_view() : std::string_view(found->second);
}

PathPattern::PathPattern(std::string_view text) : text_(text) {
  const auto refuse_if = [&](bool wrong) {
    if (wrong) throw std::logic_error("invalid route pattern: " + text_);
  };
  refuse_if(!text.starts_with('/'));
  text.remove_prefix(1);
  for (bool more = true; more;) {
    const auto slash = std::min(text.find('/'), text.size());
    std::string_view part = text.substr(0, slash);
    more = slash < text.size();
    text.remove_prefix(std::min(slash + 1, text.size()));
    Segment segment{Kind::literal, std::string(part)};
    if (part.starts_with('{')) {
      refuse_if(!part.ends_with('}'));
      part = part.substr(1, part.size() - 2);
      segment.kind = part.ends_with("...") ? Kind::rest : Kind::name;
      if (segment.kind == Kind::rest) part.remove_suffix(3);
      segment.text = part;
      refuse_if(part.empty() || (segment.kind == Kind::rest && more));
    }
    refuse_if(part.find_first_of("{}") != std::string_view::npos);
    shape_.push_back(segment.kind);
    segments_.push_back(std::move(segment));
  }
}

bool PathPattern::fits(const Target& target) const {
  const bool open = shape_.back() == Kind::rest;
  const std::size_t fixed = segments_.size() - (open ? 1 : 0);
  const auto& given = target.segments;
  if (open ? given.size() <= fixed : given.size() != fixed) return false;
  for (std::size_t i = 0; i < fixed; ++i) {
    const bool named = segments_[i].kind == Kind::name;
    if (named && (given[i].empty() || given[i].find('/') != std::string::npos)) return false;
    if (!named && given[i] != segments_[i].text) return false;
  }
  return true;
}

PathParameters PathPattern::parameters(const Target& target) const {
  PathParameters::Items items;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (segments_[i].kind == Kind::name) items.emplace_back(segments_[i].text, target.segments[i]);
    if (segments_[i].kind == Kind::rest) items.emplace_back(segments_[i].text, raw_rest(target.path, i));
  }
  return PathParameters(std::move(items));
}

bool PathPattern::same_paths(const PathPattern& other) const {
  return std::ranges::equal(segments_, other.segments_, [](const Segment& a, const Segment& b) {
    return a.kind == b.kind && (a.kind != Kind::literal || a.text == b.text);
  });
}

}  // namespace cloche::http
