// Router: from method and path to whatever serves it. No I/O.
//
// Patterns consist of segments: "/sessions/{tenant}/{session}". A name in braces matches one segment that is not empty
// and contains no slash. "{rest...}" as the last segment matches everything that follows, percent-encoded as received.
// Literal segments take precedence over names, and names over the rest.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/server/request/target.hpp"

namespace cloche::http {

// The values of the names in a pattern.
class PathParameters {
 public:
  using Items = std::vector<std::pair<std::string, std::string>>;

  explicit PathParameters(Items items = {}) : items_(std::move(items)) {}
  // Empty when the pattern has no such name.
  std::string_view operator[](std::string_view name) const;
  const Items& items() const { return items_; }

 private:
  Items items_;
};

// One pattern, taken apart.
class PathPattern {
 public:
  // Throws std::logic_error for an invalid pattern: patterns are written by programmers.
  explicit PathPattern(std::string_view text);

  bool fits(const Target& target) const;
  PathParameters parameters(const Target& target) const;  // of a target that fits
  // True when this one is to be preferred where both fit.
  bool before(const PathPattern& other) const { return shape_ < other.shape_; }
  // True when both fit exactly the same paths.
  bool same_paths(const PathPattern& other) const;
  const std::string& text() const { return text_; }

 private:
  enum class Kind { literal, name, rest };
  struct Segment {
    Kind kind;
    std::string text;
  };

  std::string text_;
  std::vector<Segment> segments_;
  std::vector<Kind> shape_;
};

// T is what serves a route, usually a function.
template <class T>
class Router {
 public:
  struct Match {
    const T* found = nullptr;              // nullptr: 404 when `allowed` is empty, else 405
    const std::string* pattern = nullptr;  // of the route found, for logs and metrics
    PathParameters parameters;
    std::string allowed;  // the methods that this path has, as Allow lists them
  };

  // Throws std::logic_error if the pattern is invalid or the method is already used for these paths.
  void add(std::string method, std::string_view pattern, T serves) {
    PathPattern parsed(pattern);
    for (auto& route : routes_) {
      if (!route.pattern.same_paths(parsed)) continue;
      if (route.pattern.text() != parsed.text()) throw std::logic_error("two patterns for one path: " + parsed.text());
      const bool added = route.methods.emplace(std::move(method), std::move(serves)).second;
      if (!added) throw std::logic_error("duplicate route: " + parsed.text());
      return;
    }
    routes_.push_back(Route{std::move(parsed), {}});
    routes_.back().methods.emplace(std::move(method), std::move(serves));
  }

  // Called with each route: method, pattern and handler.
  void for_each(const std::function<void(const std::string&, const std::string&, const T&)>& tell) const {
    for (const auto& route : routes_) {
      for (const auto& [method, serves] : route.methods) tell(method, route.pattern.text(), serves);
    }
  }

  // All routes of another router, below a prefix such as "/v1/sandbox".
  void mount(const std::string& prefix, const Router& other) {
    other.for_each([&](const std::string& method, const std::string& pattern, const T& serves) {
      add(method, prefix + pattern, serves);
    });
  }

  // The best pattern that fits and has the method. HEAD is served by GET where it has no route of its own.
  Match match(std::string_view method, const Target& target) const {
    Match match;
    const PathPattern* best = nullptr;
    std::set<std::string_view> allowed;
    for (const auto& route : routes_) {
      if (!route.pattern.fits(target)) continue;
      for (const auto& [name, ignored] : route.methods) allowed.insert(name);
      auto serves = route.methods.find(method);
      if (serves == route.methods.end() && method == "HEAD") serves = route.methods.find("GET");
      if (serves == route.methods.end() || (best && !route.pattern.before(*best))) continue;
      best = &route.pattern;
      match.found = &serves->second;
    }
    if (best) {
      match.pattern = &best->text();
      match.parameters = best->parameters(target);
    }
    if (allowed.contains("GET")) allowed.insert("HEAD");
    for (const auto name : allowed) match.allowed.append(match.allowed.empty() ? "" : ", ").append(name);
    return match;
  }

 private:
  struct Route {
    PathPattern pattern;
    std::map<std::string, T, std::less<>> methods;
  };
  std::vector<Route> routes_;
};

}  // namespace cloche::http
