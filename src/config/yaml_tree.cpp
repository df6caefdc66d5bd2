#include "config/yaml_tree.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "config/text.hpp"

namespace cloche::config {

namespace {

// Thrown through yaml-cpp's parser, which has no other way to stop, and caught in parse_yaml().
struct YamlError {
  int line;
  std::string why;
};

// yaml-cpp's word for the kind of a scalar.
constexpr std::string_view plain_tag = "?";
constexpr std::string_view quoted_tag = "!";
constexpr std::string_view text_tag = "tag:yaml.org,2002:str";

int line_of(const YAML::Mark& mark) { return mark.line + 1; }

class TreeBuilder final : public YAML::EventHandler {
 public:
  YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    // yaml-cpp also takes what it cannot place for the start of another document.
    if (documents_++ > 0) throw YamlError{line_of(mark), "the file must contain exactly one YAML document"};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    YamlNode node;
    node.line = line_of(mark);
    add(std::move(node), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node;
    node.kind = YamlNode::Kind::scalar;
    node.line = line_of(mark);
    if (tag == quoted_tag || tag == text_tag) {
      node.quoted = true;
    } else {
      refuse_tag(mark, tag);
    }
    if (value.find('\0') != value.npos) throw YamlError{node.line, "a string contains NUL"};
    node.text = value;
    add(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end()) throw YamlError{line_of(mark), "an alias refers to a value that contains it"};
    if (open_.size() + depth(found->second) > max_depth) throw too_deep(line_of(mark));
    spend(found->second, line_of(mark));
    YamlNode copy = found->second;
    copy.line = line_of(mark);
    place(std::move(copy));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(YamlNode::Kind::list, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(YamlNode::Kind::map, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YamlNode node;
    YAML::anchor_t anchor = 0;
    std::optional<Key> key;  // of the value that comes next
    std::map<std::string, int> lines;
  };

  static YamlError too_deep(int line) {
    return {line, "lists and maps are nested more than " + std::to_string(max_depth) + " deep"};
  }

  static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != plain_tag) throw YamlError{line_of(mark), "tags are not supported: " + shown(tag)};
  }

  static std::size_t depth(const YamlNode& node) {
    std::size_t deepest = 0;
    for (const YamlNode& item : node.items) deepest = std::max(deepest, depth(item));
    return node.kind == YamlNode::Kind::list || node.kind == YamlNode::Kind::map ? deepest + 1 : 0;
  }

  void spend(std::size_t nodes, std::size_t bytes, int line) {
    nodes_ += nodes;
    bytes_ += bytes;
    if (nodes_ > max_unfolded_nodes || bytes_ > max_unfolded_text.count) {
      throw YamlError{line, "the document is too large with its aliases expanded: at most " +
                                std::to_string(max_unfolded_nodes) + " values and " + to_string(max_unfolded_text)};
    }
  }

  // Enough for a copy of all of it.
  void spend(const YamlNode& node, int line) {
    std::size_t bytes = node.text.size();
    for (const Key& key : node.keys) bytes += key.text.size();
    spend(1, bytes, line);
    for (const YamlNode& item : node.items) spend(item, line);
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    refuse_tag(mark, tag);
    if (expects_key()) throw YamlError{line_of(mark), "a key must be a string, not a list or a map"};
    if (open_.size() >= max_depth) throw too_deep(line_of(mark));
    spend(1, 0, line_of(mark));
    Open opened;
    opened.node.kind = kind;
    opened.node.line = line_of(mark);
    opened.anchor = anchor;
    open_.push_back(std::move(opened));
  }

  void close() {
    Open closed = std::move(open_.back());
    open_.pop_back();
    remember(closed.node, closed.anchor);
    place(std::move(closed.node));
  }

  void add(YamlNode node, YAML::anchor_t anchor) {
    spend(1, node.text.size(), node.line);
    remember(node, anchor);
    place(std::move(node));
  }

  void remember(const YamlNode& node, YAML::anchor_t anchor) {
    if (anchor == 0) return;
    spend(node, node.line);
    anchored_[anchor] = node;
  }

  bool expects_key() const {
    return !open_.empty() && open_.back().node.kind == YamlNode::Kind::map && !open_.back().key;
  }

  void place(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (expects_key()) {
      if (node.kind != YamlNode::Kind::scalar) throw YamlError{node.line, "a key must be a string"};
      if (node.text == "<<" && !node.quoted) throw YamlError{node.line, "merge keys (`<<`) are not supported"};
      const auto [before, is_new] = parent.lines.emplace(node.text, node.line);
      if (!is_new) {
        throw YamlError{node.line,
                        "key " + shown(node.text) + " is given twice, first at line " + std::to_string(before->second)};
      }
      parent.key = Key{std::move(node.text), node.line};
      return;
    }
    if (parent.key) {
      parent.node.keys.push_back(std::move(*parent.key));
      parent.key.reset();
    }
    parent.node.items.push_back(std::move(node));
  }

  YamlNode root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, YamlNode> anchored_;
  std::size_t documents_ = 0;
  std::size_t nodes_ = 0;
  std::size_t bytes_ = 0;
};

// With an end that yaml-cpp notices: otherwise it takes the end of the file for the end of a quotation.
std::string terminated(std::string_view text) {
  std::string whole(text);
  if (!whole.ends_with('\n')) whole += '\n';
  const bool has_end = whole == "...\n" || whole.ends_with("\n...\n") || whole.ends_with("\n...\r\n");
  return has_end ? whole : whole + "...\n";
}

}  // namespace

Result<YamlNode> parse_yaml(std::string_view text, std::string_view name) {
  const auto refused = [&](int line, const std::string& why) {
    return fail(ErrorCode::invalid_argument, std::string(name) + ": line " + std::to_string(line) + ": " + why);
  };
  if (text.size() > max_document.count) {
    return fail(ErrorCode::invalid_argument, std::string(name) + ": larger than " + to_string(max_document));
  }
  // yaml-cpp would guess other encodings from a NUL, and takes a control character for the end.
  if (const auto bad = first_bad_character(text)) return refused(bad->line, bad->why);
  try {
    std::istringstream stream{terminated(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder;
    if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
    return builder.take();
  } catch (const YamlError& error) {
    return refused(error.line, error.why);
  } catch (const YAML::Exception& error) {
    return refused(line_of(error.mark), "not YAML: " + error.msg);
  }
}

}  // namespace cloche::config
