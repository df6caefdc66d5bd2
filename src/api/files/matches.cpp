#include "api/files/matches.hpp"

#include <algorithm>
#include <boost/json/array.hpp>

#include "api/files/paths.hpp"
#include "core/utf8.hpp"

namespace cloche::api {

namespace json = boost::json;

namespace {

constexpr std::size_t most_text = std::size_t{8} << 20;

// The lines of all files in their order; those around one of them are found beside it.
class Lines {
 public:
  explicit Lines(const std::vector<GrepMatch>& all) : all_(all) {}

  // Those directly before line `at` of the same file, at most `count`.
  std::size_t begin_before(std::size_t at, std::uint32_t count) const {
    std::size_t begin = at;
    while (begin > 0 && at - begin < count && adjoins(begin - 1, begin)) --begin;
    return begin;
  }
  std::size_t end_after(std::size_t at, std::uint32_t count) const {
    std::size_t last = at;
    while (last + 1 < all_.size() && last - at < count && adjoins(last, last + 1)) ++last;
    return last + 1;
  }
  json::array texts(std::size_t begin, std::size_t end, std::size_t& spent) const {
    json::array texts;
    for (std::size_t i = begin; i < end; ++i) {
      std::string text = to_utf8(all_[i].text);
      spent += text.size();
      texts.emplace_back(std::move(text));
    }
    return texts;
  }

 private:
  bool adjoins(std::size_t a, std::size_t b) const {
    return all_[a].line + 1 == all_[b].line && all_[a].path == all_[b].path;
  }

  const std::vector<GrepMatch>& all_;
};

}  // namespace

json::object matches_to_json(const GrepResult& found, std::string_view path, Searched searched, std::uint32_t context) {
  const Lines lines(found.matches);
  json::array matches;
  std::size_t spent = 0;
  bool cut = found.cut;
  for (std::size_t i = 0; i < found.matches.size(); ++i) {
    const GrepMatch& each = found.matches[i];
    if (each.is_context) continue;
    if (spent > most_text) {
      cut = true;
      break;
    }
    const std::string place = searched == Searched::file ? std::string(path) : joined_path(path, each.path);
    json::object match;
    match["path"] = to_utf8(place);
    match["line"] = each.line;
    match["text"] = to_utf8(each.text);
    match["text_truncated"] = each.text_cut;
    match["before"] = lines.texts(lines.begin_before(i, context), i, spent);
    match["after"] = lines.texts(i + 1, lines.end_after(i, context), spent);
    spent += place.size() + each.text.size();
    matches.emplace_back(std::move(match));
  }
  json::object answer;
  answer["matches"] = std::move(matches);
  answer["truncated"] = cut;
  answer["files_searched"] = found.files_searched;
  answer["files_skipped"] = found.files_skipped;
  if (found.files_binary) {
    const std::uint64_t binary = std::min(*found.files_binary, found.files_skipped);
    answer["files_binary"] = binary;
    answer["files_unreadable"] = found.files_skipped - binary;
  }
  return answer;
}

json::object entries_to_json(const EntryList& found, std::string_view path, Searched searched) {
  json::array paths;
  json::array entries;
  std::size_t spent = 0;
  bool cut = found.cut;
  for (const FileEntry& each : found.entries) {
    if (spent > most_text) {
      cut = true;
      break;
    }
    const std::string place = to_utf8(searched == Searched::file ? std::string(path) : joined_path(path, each.path));
    spent += 2 * place.size();
    json::object entry;
    entry["path"] = place;
    entry["type"] = to_string(each.type);
    entry["size"] = each.size;
    paths.emplace_back(place);
    entries.emplace_back(std::move(entry));
  }
  json::object answer;
  answer["paths"] = std::move(paths);
  answer["entries"] = std::move(entries);
  answer["truncated"] = cut;
  return answer;
}

std::string_view to_string(FileType type) {
  switch (type) {
    case FileType::regular: return "file";
    case FileType::directory: return "directory";
    case FileType::symlink: return "symlink";
    case FileType::fifo: return "fifo";
    case FileType::socket: return "socket";
    case FileType::device: return "device";
    case FileType::other: break;
  }
  return "other";
}

}  // namespace cloche::api
