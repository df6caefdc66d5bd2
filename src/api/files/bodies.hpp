// Bodies of the file routes, to our types. Strict: a field that is not known, of another type or out of its bounds is
// `invalid_argument` with its name.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "json/json_object.hpp"
#include "json/shape.hpp"
#include "session/runs/file_tar.hpp"

namespace cloche::api {

// "tenant_id", where it is not the caller's own, and "session_id".
struct SessionName {
  std::optional<std::string> tenant;
  std::string session;
};
Result<SessionName> read_session_name(JsonObject& body);

enum class TextEncoding {
  utf_8,    // what is not UTF-8 is refused
  latin_1,  // each byte is the character of its number
  replace,  // UTF-8, U+FFFD in the place of what is not
};
std::string_view to_string(TextEncoding encoding);

struct ReadTextBody {
  SessionName where;
  std::string path;
  std::uint64_t offset = 0;  // the first line; they count from 0
  std::uint64_t limit = 2000;
  TextEncoding encoding = TextEncoding::utf_8;
};
Result<ReadTextBody> read_text_body(const json::value& body);

struct ReadBinaryBody {
  SessionName where;
  std::string path;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;  // none: to the end
};
Result<ReadBinaryBody> read_binary_body(const json::value& body);

struct WriteBody {
  SessionName where;
  std::string path;
  std::string content;
  std::uint32_t mode = 0;  // 0: that of the file that is replaced, else 0644
  enum class Existing { replace, append } existing = Existing::replace;
};
Result<WriteBody> read_write_body(const json::value& body);
extern const Shape write_body_shape;

struct GrepBody {
  SessionName where;
  std::string pattern;
  std::string path;
  std::string glob;
  bool ignore_case = false;
  std::uint32_t context = 0;
  std::uint64_t limit = 1000;
  std::vector<std::string> exclude;
  bool hidden = true;
};
Result<GrepBody> read_grep_body(const json::value& body);

struct GlobBody {
  SessionName where;
  std::string pattern;
  std::string path;
  std::uint64_t limit = 1000;
  std::vector<std::string> exclude;
  bool hidden = false;
};
Result<GlobBody> read_glob_body(const json::value& body);

struct StatBody {
  SessionName where;
  std::string path;
  bool follow = true;
};
Result<StatBody> read_stat_body(const json::value& body);

struct DeleteBody {
  SessionName where;
  std::string path;
  bool recursive = false;
  bool missing_ok = false;
};
Result<DeleteBody> read_delete_body(const json::value& body);

struct MoveBody {
  SessionName where;
  std::string path;
  std::string to;
  bool overwrite = false;
  bool parents = false;
};
Result<MoveBody> read_move_body(const json::value& body);

struct MkdirBody {
  SessionName where;
  std::string path;
  bool parents = false;
  std::uint32_t mode = 0755;
};
Result<MkdirBody> read_mkdir_body(const json::value& body);

extern const Shape edit_body_shape;
// "old" or "old_base64", "new" or "new_base64", "replace_all", "expected".
struct EditBody {
  SessionName where;
  std::string path;
  std::string old_text;
  std::string new_text;
  std::uint64_t expected = 1;  // 0: once or more often
};
Result<EditBody> read_edit_body(const json::value& body);

// {"files": {path: text | {"content" | "content_base64", "mode"}}}, or a list of {"path", …}.
Result<std::vector<session::FileToPack>> read_copy_body(const json::value& body);
extern const Shape copy_body_shape;

}  // namespace cloche::api
