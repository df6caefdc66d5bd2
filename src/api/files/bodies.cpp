#include "api/files/bodies.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <limits>

#include "api/files/paths.hpp"
#include "auth/names.hpp"

namespace cloche::api {

namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t most_lines = 1'000'000;
constexpr std::int64_t most_results = 10'000;
constexpr std::int64_t most_context = 20;
constexpr std::size_t most_files = 1'000;

constexpr ShapeMember write_members[] = {{"tenant_id", &shapes::text},      {"session_id", &shapes::text},
                                         {"path", &shapes::text},           {"content", &shapes::text},
                                         {"content_base64", &shapes::text}, {"mode", &shapes::text_or_number},
                                         {"append", &shapes::flag}};
constexpr ShapeMember edit_members[] = {
    {"tenant_id", &shapes::text},  {"session_id", &shapes::text},  {"path", &shapes::text},
    {"old", &shapes::text},        {"old_base64", &shapes::text},  {"new", &shapes::text},
    {"new_base64", &shapes::text}, {"replace_all", &shapes::flag}, {"expected", &shapes::number}};
constexpr ShapeMember sent_file_members[] = {{"path", &shapes::text},
                                             {"content", &shapes::text},
                                             {"content_base64", &shapes::text},
                                             {"mode", &shapes::text_or_number}};
constexpr Shape sent_file_shape{.kinds = Shape::text | Shape::object,
                                .wanted = "a string or an object",
                                .members = sent_file_members,
                                .each = &shapes::anything,
                                .most = 8};
// One more than are allowed, so that the error below can say what to do instead.
constexpr Shape sent_files_shape{.kinds = Shape::object | Shape::list,
                                 .wanted = "an object keyed by path, or a list",
                                 .each = &sent_file_shape,
                                 .most = most_files + 1};
constexpr ShapeMember copy_members[] = {{"files", &sent_files_shape}};

Result<std::uint64_t> count(JsonObject& body, std::string_view name, std::int64_t least, std::int64_t most,
                            std::int64_t otherwise) {
  CLOCHE_TRY(const std::int64_t number, body.number(name, least, most, otherwise));
  return static_cast<std::uint64_t>(number);
}

Result<std::string> path_in(JsonObject& body, std::string text, std::string_view name = "path") {
  if (auto checked = check_path(text); !checked) {
    return fail(ErrorCode::invalid_argument, body.place_of(name) + ": " + checked.error().message);
  }
  return text;
}
Result<std::string> needed_path(JsonObject& body, std::string_view name = "path") {
  CLOCHE_TRY(std::string text, body.text(name));
  return path_in(body, std::move(text), name);
}
// A directory to search: the workspace if none is given.
Result<std::string> path_or_workspace(JsonObject& body) {
  CLOCHE_TRY(std::string text, body.text("path", "."));
  return path_in(body, std::move(text));
}

Result<TextEncoding> encoding_in(JsonObject& body) {
  CLOCHE_TRY(const std::string name, body.text("encoding", "utf-8"));
  for (const auto each : {TextEncoding::utf_8, TextEncoding::latin_1, TextEncoding::replace}) {
    if (name == to_string(each)) return each;
  }
  return fail(
      ErrorCode::invalid_argument,
      body.place_of("encoding") + R"( must be "utf-8", "latin-1" or "replace" (UTF-8, invalid bytes become U+FFFD))");
}

// "0644" in octal, or a number whose bits are meant. Only permission bits, and some of them.
Result<std::uint32_t> mode_in(JsonObject& body, std::uint32_t otherwise) {
  const json::value* found = body.find("mode");
  if (found == nullptr) return otherwise;
  const auto wrong = [&] {
    return fail(
        ErrorCode::invalid_argument,
        body.place_of("mode") + R"( must be a string of octal digits, "0001" to "0777", or a number from 1 to 511)");
  };
  if (!found->is_string()) {
    auto number = body.number("mode", 1, 0777);
    if (!number) return wrong();
    return static_cast<std::uint32_t>(*number);
  }
  std::string_view digits = found->get_string();
  if (digits.starts_with("0o")) digits.remove_prefix(2);
  constexpr std::size_t longest = 4;
  if (digits.empty() || digits.size() > longest) return wrong();
  std::uint32_t mode = 0;
  for (const char digit : digits) {
    if (digit < '0' || digit > '7') return wrong();
    mode = mode * 8 + static_cast<std::uint32_t>(digit - '0');
  }
  if (mode == 0 || mode > 0777) return wrong();
  return mode;
}

// Text under a name, or bytes under the same with `_base64`.
Result<std::string> bytes_in(JsonObject& body, const std::string& name) {
  const std::string encoded = name + "_base64";
  if (body.has(name) == body.has(encoded)) {
    return fail(ErrorCode::invalid_argument, body.place_of(name) + " or " + encoded + ": send exactly one of them");
  }
  return body.has(name) ? body.text(name) : body.base64(encoded);
}
Result<std::string> content_in(JsonObject& body) { return bytes_in(body, "content"); }

Result<session::FileToPack> file_in(JsonObject& about) {
  session::FileToPack file;
  CLOCHE_TRY(file.content, content_in(about));
  CLOCHE_TRY(file.mode, mode_in(about, 0));
  CLOCHE_CHECK(about.finish());
  return file;
}

Result<session::FileToPack> named_file(std::string_view path, const json::value& value) {
  if (auto checked = check_path(path); !checked) return fail(std::move(checked).error().at("files"));
  const std::string where = "files[\"" + std::string(path) + "\"]";
  session::FileToPack file;
  if (const auto* text = value.if_string()) {
    file.content = std::string(*text);
  } else {
    if (!value.is_object()) return fail(ErrorCode::invalid_argument, where + " must be a string or an object");
    CLOCHE_TRY(JsonObject about, JsonObject::of(value, where));
    CLOCHE_TRY(file, file_in(about));
  }
  file.path = path;
  return file;
}

Result<session::FileToPack> listed_file(std::size_t index, const json::value& value) {
  CLOCHE_TRY(JsonObject about, JsonObject::of(value, "files[" + std::to_string(index) + "]"));
  CLOCHE_TRY(std::string path, needed_path(about));
  CLOCHE_TRY(session::FileToPack file, file_in(about));
  file.path = std::move(path);
  return file;
}

}  // namespace

constinit const Shape write_body_shape = shapes::object_of(write_members);
constinit const Shape edit_body_shape = shapes::object_of(edit_members);
constinit const Shape copy_body_shape = shapes::object_of(copy_members);

std::string_view to_string(TextEncoding encoding) {
  switch (encoding) {
    case TextEncoding::utf_8: return "utf-8";
    case TextEncoding::latin_1: return "latin-1";
    case TextEncoding::replace: return "replace";
  }
  return "";
}

Result<SessionName> read_session_name(JsonObject& body) {
  SessionName name;
  if (body.has("tenant_id")) {
    CLOCHE_TRY(name.tenant, body.text("tenant_id"));
  }
  CLOCHE_TRY(name.session, body.text("session_id"));
  if (auto valid = auth::check_session_id(name.session); !valid) {
    return fail(std::move(valid).error().at(body.place_of("session_id")));
  }
  return name;
}

Result<ReadTextBody> read_text_body(const json::value& body) {
  CLOCHE_TRY(JsonObject fields, JsonObject::of(body, "the body"));
  ReadTextBody read;
  CLOCHE_TRY(read.where, read_session_name(fields));
  CLOCHE_TRY(read.path, needed_path(fields));
  CLOCHE_TRY(read.offset, count(fields, "offset", 0, largest, 0));
  CLOCHE_TRY(read.limit, count(fields, "limit", 1, most_lines, static_cast<std::int64_t>(read.limit)));
  CLOCHE_TRY(read.encoding, encoding_in(fields));
  CLOCHE_CHECK(fields.finish());
  return read;
}

Result<ReadBinaryBody> read_binary_body(const json::value& body) {
  CLOCHE_TRY(JsonObject fields, JsonObject::of(body, "the body"));
  ReadBinaryBody read;
  CLOCHE_TRY(read.where, read_session_name(fields));
  CLOCHE_TRY(read.path, needed_path(fields));
  CLOCHE_TRY(read.offset, count(fields, "offset", 0, largest, 0));
  if (fields.has("length")) {
    CLOCHE_TRY(read.length, count(fields, "length", 1, largest, 1));
    if (*read.length > static_cast<std::uint64_t>(largest) - read.offset) {
      return fail(ErrorCode::invalid_argument, fields.place_of("length") + ": offset plus length is too large");
    }
  }
  CLOCHE_CHECK(fields.finish());
  return read;
}

Result<WriteBody> read_write_body(const json::value& body) {
  CLOCHE_TRY(JsonObject fields, JsonObject::of(body, "the body"));
  WriteBody write;
  CLOCHE_TRY(write.where, read_session_name(fields));
  CLOCHE_TRY(write.path, needed_path(fields));
  CLOCHE_TRY(write.content, content_in(fields));
  CLOCHE_TRY(write.mode, mode_in(fields, 0));
  CLOCHE_TRY(const bool append, fields.flag("append", false));
  if (append) write.existing = WriteBody::Existing::append;
  CLOCHE_CHECK(fields.finish());
  return write;
}

Result<GrepBody> read_grep_body(const json::value& body) {
  CLOCHE_TRY(JsonObject fields, JsonObject::of(body, "the body"));
  GrepBody grep;
  CLOCHE_TRY(grep.where, read_session_name(fields));
  CLOCHE_TRY(grep.pattern, fields.text("pattern"));
  CLOCHE_TRY(grep.path, path_or_workspace(fields));
  CLOCHE_TRY(grep.glob, fields.text("glob", ""));
  CLOCHE_TRY(grep.ignore_case, fields.flag("ignore_case", false));
  CLOCHE_TRY(const std::int64_t context, fields.number("context", 0, most_context, 0));
  grep.context = static_cast<std::uint32_t>(context);
  CLOCHE_TRY(grep.exclude, fields.texts("exclude"));
  CLOCHE_TRY(grep.hidden, fields.flag("hidden", grep.hidden));
  CLOCHE_TRY(grep.limit, count(fields, "limit", 1, most_results, static_cast<std::int64_t>(grep.limit)));
  CLOCHE_CHECK(fields.finish());
  return grep;
}

Result<GlobBody> read_glob_body(const json::value& body) {
  CLOCHE_TRY(JsonObject fields, JsonObject::of(body, "the body"));
  GlobBody glob;
  CLOCHE_TRY(glob.where, read_session_name(fields));
  CLOCHE_TRY(glob.pattern, fields.text("pattern"));
  CLOCHE_TRY(glob.path, path_or_workspace(fields));
  CLOCHE_TRY(glob.limit, count(fields, "limit", 1, most_results, static_cast<std::int64_t>(glob.limit)));
  CLOCHE_TRY(glob.exclude, fields.texts("exclude"));
  CLOCHE_TRY(glob.hidden, fields.flag("hidden", false));
  CLOCHE_CHECK(fields.finish());
  return glob;
}

Result<StatBody> read_stat_body(const json::value& body) {
  CLOCHE_TRY(JsonObject fields, JsonObject::of(body, "the body"));
  StatBody stat;
  CLOCHE_TRY(stat.where, read_session_name(fields));
  CLOCHE_TRY(stat.path, needed_path(fields));
  CLOCHE_TRY(stat.follow, fields.flag("follow", stat.follow));
  CLOCHE_CHECK(fields.finish());
  return stat;
}

Result<DeleteBody> read_delete_body(const json::value& body) {
  CLOCHE_TRY(JsonObject fields, JsonObject::of(body, "the body"));
  DeleteBody removal;
  CLOCHE_TRY(removal.where, read_session_name(fields));
  CLOCHE_TRY(removal.path, needed_path(fields));
  CLOCHE_TRY(removal.recursive, fields.flag("recursive", removal.recursive));
  CLOCHE_TRY(removal.missing_ok, fields.flag("missing_ok", removal.missing_ok));
  CLOCHE_CHECK(fields.finish());
  return removal;
}

Result<MoveBody> read_move_body(const json::value& body) {
  CLOCHE_TRY(JsonObject fields, JsonObject::of(body, "the body"));
  MoveBody move;
  CLOCHE_TRY(move.where, read_session_name(fields));
  CLOCHE_TRY(move.path, needed_path(fields));
  CLOCHE_TRY(move.to, needed_path(fields, "to"));
  CLOCHE_TRY(move.overwrite, fields.flag("overwrite", move.overwrite));
  CLOCHE_TRY(move.parents, fields.flag("parents", move.parents));
  CLOCHE_CHECK(fields.finish());
  return move;
}

Result<MkdirBody> read_mkdir_body(const json::value& body) {
  CLOCHE_TRY(JsonObject fields, JsonObject::of(body, "the body"));
  MkdirBody directory;
  CLOCHE_TRY(directory.where, read_session_name(fields));
  CLOCHE_TRY(directory.path, needed_path(fields));
  CLOCHE_TRY(directory.parents, fields.flag("parents", directory.parents));
  CLOCHE_TRY(directory.mode, mode_in(fields, directory.mode));
  CLOCHE_CHECK(fields.finish());
  return directory;
}

Result<EditBody> read_edit_body(const json::value& body) {
  CLOCHE_TRY(JsonObject fields, JsonObject::of(body, "the body"));
  EditBody edit;
  CLOCHE_TRY(edit.where, read_session_name(fields));
  CLOCHE_TRY(edit.path, needed_path(fields));
  CLOCHE_TRY(edit.old_text, bytes_in(fields, "old"));
  CLOCHE_TRY(edit.new_text, bytes_in(fields, "new"));
  CLOCHE_TRY(const bool all, fields.flag("replace_all", false));
  const bool has_count = fields.has("expected");
  CLOCHE_TRY(edit.expected, count(fields, "expected", 1, largest, 1));
  if (all && !has_count) edit.expected = 0;
  CLOCHE_CHECK(fields.finish());
  if (edit.old_text.empty()) return fail(ErrorCode::invalid_argument, "the body: old must not be empty");
  return edit;
}

Result<std::vector<session::FileToPack>> read_copy_body(const json::value& body) {
  CLOCHE_TRY(JsonObject fields, JsonObject::of(body, "the body"));
  const json::value* listed = fields.find("files");
  CLOCHE_CHECK(fields.finish());
  const auto* by_name = listed == nullptr ? nullptr : listed->if_object();
  const auto* in_order = listed == nullptr ? nullptr : listed->if_array();
  if (by_name == nullptr && in_order == nullptr) {
    return fail(ErrorCode::invalid_argument, "the body: files must be an object keyed by path, or a list");
  }
  const std::size_t size = by_name != nullptr ? by_name->size() : in_order->size();
  if (size > most_files) {
    return fail(ErrorCode::limit_reached,
                "more than " + std::to_string(most_files) + " files; send them as a tar archive");
  }
  std::vector<session::FileToPack> files;
  files.reserve(size);
  for (std::size_t i = 0; in_order != nullptr && i < size; ++i) {
    CLOCHE_TRY(session::FileToPack file, listed_file(i, (*in_order)[i]));
    files.push_back(std::move(file));
  }
  if (by_name == nullptr) return files;
  for (const auto& [path, value] : *by_name) {
    CLOCHE_TRY(session::FileToPack file, named_file(path, value));
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace cloche::api
