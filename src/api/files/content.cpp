#include "api/files/content.hpp"

#include <fmt/format.h>

#include "api/files/file_call.hpp"
#include "api/files/place.hpp"
#include "http/server/request/byte_range.hpp"
#include "session/runs/artifacts.hpp"

namespace cloche::api {

namespace {

constexpr Bytes looked_at = kib(4);

// A regular file that can be read, and what an answer says of it.
struct Content {
  Files files;
  FilePath place;
  std::uint64_t size = 0;
  std::string type;
  std::string tag;
};

Task<Result<Content>> open_content(Files files, FilePath place, std::string name) {
  const Deadline deadline = Deadline::after(file_timeout);
  Content content{files, std::move(place), 0, "", ""};
  CLOCHE_CO_TRY(const FileEntry entry, co_await files.stat(content.place, Links::follow, deadline));
  const FileRange beginning{0, looked_at.count};
  CLOCHE_CO_TRY(const ReadResult read, co_await files.read(content.place, beginning, looked_at, deadline));
  content.size = entry.size;
  content.type = session::content_type_of(name, read.bytes);
  content.tag = fmt::format("W/\"{:x}-{:x}\"", entry.size, static_cast<std::uint64_t>(entry.mtime_ns));
  co_return content;
}

// True if a list of entity tags is "*" or contains this one; weak comparison.
bool tag_is_in(std::string_view list, std::string_view tag) {
  if (http::without_blanks_around(list) == "*") return true;
  const std::string_view opaque = tag.substr(2);
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    std::string_view each = http::without_blanks_around(list.substr(0, comma));
    if (each.starts_with("W/")) each.remove_prefix(2);
    if (each == opaque) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

http::Fields fields_of(const Content& content) {
  http::Fields fields;
  fields.emplace_back("Content-Type", content.type);
  fields.emplace_back("ETag", content.tag);
  fields.emplace_back("Cache-Control", "private, no-cache");
  add_untrusted_content_fields(fields);
  return fields;
}

Task<Status> stream(http::Exchange& exchange, Content content, unsigned status, http::Fields fields, FileRange range) {
  // The answer to HEAD has no content whose length it could promise.
  const bool is_head = exchange.method() == "HEAD";
  std::optional<Bytes> size;
  if (!is_head) size = Bytes{range.length};
  CLOCHE_CO_CHECK(co_await exchange.begin(status, std::move(fields), size));
  if (range.length > 0 && !is_head) {
    Files::Sink sink = [&exchange](std::string piece) -> Task<Status> {
      auto written = co_await exchange.write(piece);
      co_return written;
    };
    const Deadline deadline = Deadline::after(stream_timeout);
    CLOCHE_CO_CHECK(co_await content.files.read_stream(content.place, range, std::move(sink), deadline));
  }
  co_return co_await exchange.end();
}

}  // namespace

void add_untrusted_content_fields(http::Fields& fields) {
  fields.emplace_back("Content-Security-Policy", "sandbox");
  fields.emplace_back("X-Content-Type-Options", "nosniff");
  fields.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
}

Task<Status> send_file(http::Exchange& exchange, session::Session& session, std::string path) {
  CLOCHE_CO_TRY(Place place, place_in(session, path));
  Files files = place.sandbox->files();
  co_return co_await send_file(exchange, std::move(files), std::move(place.file), std::move(place.path));
}

Task<Status> send_file(http::Exchange& exchange, Files files, FilePath place, std::string name) {
  CLOCHE_CO_TRY(Content content, co_await open_content(std::move(files), std::move(place), std::move(name)));
  http::Fields fields = fields_of(content);
  if (tag_is_in(exchange.field("If-None-Match"), content.tag)) {
    co_return co_await exchange.respond(304, std::move(fields), std::string());
  }
  fields.emplace_back("Accept-Ranges", "bytes");
  http::WantedBytes wanted = http::WholeContent{};
  // If-Range requires a strong validator. There is none, so the whole file is sent.
  if (exchange.field("If-Range").empty()) wanted = http::parse_range(exchange.field("Range"), content.size);
  if (std::holds_alternative<http::UnsatisfiableRange>(wanted)) {
    http::Fields refusal;
    refusal.emplace_back("Content-Range", http::unsatisfied_range(content.size));
    co_return co_await exchange.refuse(416, "the range starts after the end of the file", std::move(refusal));
  }
  FileRange range{0, content.size};
  unsigned status = 200;
  if (const auto* part = std::get_if<http::ByteRange>(&wanted)) {
    range = FileRange{part->first, part->length};
    status = 206;
    fields.emplace_back("Content-Range", http::content_range(*part, content.size));
  }
  co_return co_await stream(exchange, std::move(content), status, std::move(fields), range);
}

Task<Status> send_part(http::Exchange& exchange, session::Session& session, std::string path, FileRange part) {
  CLOCHE_CO_TRY(Place place, place_in(session, path));
  Files files = place.sandbox->files();
  CLOCHE_CO_TRY(Content content, co_await open_content(std::move(files), std::move(place.file), std::move(place.path)));
  http::Fields fields = fields_of(content);
  const std::uint64_t there = content.size - std::min(content.size, part.offset);
  FileRange range{part.offset, part.length == 0 ? there : std::min(there, part.length)};
  co_return co_await stream(exchange, std::move(content), 200, std::move(fields), range);
}

}  // namespace cloche::api
