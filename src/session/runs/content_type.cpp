// The type of a file, from its first bytes.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

#include "core/text.hpp"
#include "core/utf8.hpp"
#include "session/runs/artifacts.hpp"

namespace cloche::session {

namespace {

using namespace std::string_view_literals;

constexpr std::string_view unknown = "application/octet-stream";
constexpr std::string_view utf8 = "; charset=utf-8";

struct Signature {
  std::size_t at;
  std::string_view bytes;
  std::string_view type;
};

// Unlike anything that text begins with.
constexpr Signature signatures[] = {
    {0, "\x89PNG\r\n\x1a\n"sv, "image/png"},
    {0, "\xff\xd8\xff"sv, "image/jpeg"},
    {0, "GIF87a"sv, "image/gif"},
    {0, "GIF89a"sv, "image/gif"},
    {0, "II*\0"sv, "image/tiff"},
    {0, "MM\0*"sv, "image/tiff"},
    {0, "\0\0\1\0"sv, "image/x-icon"},
    {0, "%PDF-"sv, "application/pdf"},
    {0, "%!PS"sv, "application/postscript"},
    {0, "{\\rtf"sv, "application/rtf"},
    {0, "PK\5\6"sv, "application/zip"},
    {0, "\x1f\x8b"sv, "application/gzip"},
    {0,
     "\xfd"
     "7zXZ\0"sv,
     "application/x-xz"},
    {0, "\x28\xb5\x2f\xfd"sv, "application/zstd"},
    {0, "7z\xbc\xaf\x27\x1c"sv, "application/x-7z-compressed"},
    {257, "ustar"sv, "application/x-tar"},
    {0, "SQLite format 3\0"sv, "application/vnd.sqlite3"},
    {0, "PAR1"sv, "application/vnd.apache.parquet"},
    {0, "ARROW1\0\0"sv, "application/vnd.apache.arrow.file"},
    {0, "\x89HDF\r\n\x1a\n"sv, "application/x-hdf5"},
    {0, "\x93NUMPY"sv, "application/x-npy"},
    {0,
     "\x7f"
     "ELF"sv,
     "application/x-elf"},
    {0, "\0asm"sv, "application/wasm"},
    {0, "\xca\xfe\xba\xbe"sv, "application/java-vm"},
    {0, "ID3"sv, "audio/mpeg"},
    {0, "\xff\xfb"sv, "audio/mpeg"},
    {0, "\xff\xf3"sv, "audio/mpeg"},
    {0, "\xff\xf2"sv, "audio/mpeg"},
    {0, "OggS\0"sv, "audio/ogg"},
    {0, "fLaC\0"sv, "audio/flac"},
    {0, "wOFF"sv, "font/woff"},
    {0, "wOF2"sv, "font/woff2"},
    {0, "\xff\xfe"sv, "text/plain; charset=utf-16le"},
    {0, "\xfe\xff"sv, "text/plain; charset=utf-16be"},
};

using Named = std::pair<std::string_view, std::string_view>;

// The specific type of a text.
constexpr Named text_names[] = {
    {".csv", "text/csv"},
    {".tsv", "text/tab-separated-values"},
    {".md", "text/markdown"},
    {".markdown", "text/markdown"},
    {".html", "text/html"},
    {".htm", "text/html"},
    {".css", "text/css"},
    {".js", "text/javascript"},
    {".mjs", "text/javascript"},
    {".py", "text/x-python"},
    {".sh", "text/x-shellscript"},
    {".c", "text/x-c"},
    {".h", "text/x-c"},
    {".cpp", "text/x-c++"},
    {".hpp", "text/x-c++"},
    {".java", "text/x-java"},
    {".rs", "text/x-rust"},
    {".go", "text/x-go"},
    {".tex", "text/x-tex"},
    {".ics", "text/calendar"},
    {".vcf", "text/vcard"},
    {".yaml", "application/yaml"},
    {".yml", "application/yaml"},
    {".toml", "application/toml"},
    {".xml", "application/xml"},
    {".json", "application/json"},
    {".geojson", "application/geo+json"},
    {".jsonl", "application/jsonl"},
    {".ndjson", "application/x-ndjson"},
    {".ipynb", "application/x-ipynb+json"},
    {".sql", "application/sql"},
};

constexpr Named binary_names[] = {
    {".ttf", "font/ttf"},
    {".otf", "font/otf"},
    {".tar", "application/x-tar"},
    {".br", "application/x-brotli"},
    {".pkl", "application/x-pickle"},
    {".pickle", "application/x-pickle"},
};

template <std::size_t size>
std::optional<std::string_view> by_name(const Named (&table)[size], std::string_view name) {
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string extension = lower(name.substr(dot));
  const auto found = std::ranges::find(table, extension, &Named::first);
  if (found == std::end(table)) return std::nullopt;
  return found->second;
}

bool has(std::string_view bytes, std::string_view part) { return bytes.find(part) != std::string_view::npos; }

// An office document is a zip of parts; which kind it is, the parts' names say.
std::string type_of_zip(std::string_view name, std::string_view bytes) {
  // ODF and EPUB: the first part is called mimetype and is not compressed.
  constexpr std::size_t first_name = 30;
  constexpr std::string_view mimetype = "mimetype";
  if (bytes.substr(std::min(first_name, bytes.size())).starts_with(mimetype)) {
    const std::string_view rest = bytes.substr(first_name + mimetype.size());
    const auto is_part = [](unsigned char c) {
      return std::isalnum(c) || c == '/' || c == '.' || c == '-' || c == '+';
    };
    const auto end = std::ranges::find_if_not(rest, is_part);
    std::string_view type = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
    // It is followed by the next part's signature, which also begins with letters.
    type = type.substr(0, type.find("PK"));
    if (type.starts_with("application/") && type.size() < 100) return std::string(type);
  }
  const std::string extension = name.rfind('.') == name.npos ? "" : lower(name.substr(name.rfind('.')));
  const bool is_office = has(bytes, "[Content_Types].xml") || has(bytes, "_rels/.rels") || has(bytes, "docProps/");
  constexpr std::string_view office = "application/vnd.openxmlformats-officedocument.";
  if (is_office) {
    if (has(bytes, "word/") || extension == ".docx") return std::string(office) + "wordprocessingml.document";
    if (has(bytes, "xl/") || extension == ".xlsx") return std::string(office) + "spreadsheetml.sheet";
    if (has(bytes, "ppt/") || extension == ".pptx") return std::string(office) + "presentationml.presentation";
  }
  if (has(bytes, "META-INF/MANIFEST.MF")) return "application/java-archive";
  if (extension == ".npz") return "application/x-npz";
  return "application/zip";
}

// Containers that say what is in them a few bytes behind their own name.
std::optional<std::string> type_of_container(std::string_view name, std::string_view bytes) {
  const auto at = [&](std::size_t place, std::string_view what) {
    return bytes.size() >= place + what.size() && bytes.substr(place, what.size()) == what;
  };
  if (at(0, "PK\3\4")) return type_of_zip(name, bytes);
  if (at(0, "RIFF")) {
    if (at(8, "WEBP")) return "image/webp";
    if (at(8, "WAVE")) return "audio/wav";
    if (at(8, "AVI ")) return "video/x-msvideo";
  }
  if (at(4, "ftyp")) {
    if (at(8, "M4A ")) return "audio/mp4";
    if (at(8, "qt  ")) return "video/quicktime";
    if (at(8, "avif")) return "image/avif";
    if (at(8, "heic") || at(8, "mif1")) return "image/heic";
    return "video/mp4";
  }
  if (at(0, "\x1a\x45\xdf\xa3")) return has(bytes.substr(0, 64), "webm") ? "video/webm" : "video/x-matroska";
  // Two letters are too few: the size that follows, and four bytes that are always zero, decide.
  if (at(0, "BM") && at(6, "\0\0\0\0"sv)) return "image/bmp";
  if (at(0, "BZh") && at(4, "1AY&SY")) return "application/x-bzip2";
  return std::nullopt;
}

bool looks_like_text(std::string_view bytes) {
  return std::ranges::none_of(bytes, [](unsigned char c) {
    return (c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != '\b' && c != 0x1b) || c == 0x7f;
  });
}

std::string_view trimmed_front(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const auto first = text.find_first_not_of(" \t\r\n");
  return first == text.npos ? std::string_view() : text.substr(first);
}

// {"key": …
bool begins_as_json_object(std::string_view text) {
  if (!text.starts_with('{')) return false;
  text = trimmed_front(text.substr(1));
  if (!text.starts_with('"')) return false;
  const auto end = text.find('"', 1);
  return end != text.npos && trimmed_front(text.substr(end + 1)).starts_with(':');
}

std::string type_of_text(std::string_view name, std::string_view bytes) {
  const std::string start = lower(trimmed_front(bytes).substr(0, 1024));
  if (start.starts_with("<?xml") || start.starts_with("<!--") || start.starts_with("<!doctype svg")) {
    if (has(start, "<svg")) return "image/svg+xml";
    if (has(start, "<html")) return "text/html" + std::string(utf8);
    if (start.starts_with("<?xml")) return "application/xml";
  }
  if (start.starts_with("<svg")) return "image/svg+xml";
  if (start.starts_with("<!doctype html") || start.starts_with("<html")) return "text/html" + std::string(utf8);
  if (const auto named = by_name(text_names, name)) {
    return std::string(*named) + std::string(named->starts_with("text/") ? utf8 : "");
  }
  if (begins_as_json_object(trimmed_front(bytes))) return "application/json";
  return "text/plain" + std::string(utf8);
}

}  // namespace

std::string content_type_of(std::string_view name, std::string_view first_bytes) {
  name = name.substr(name.rfind('/') + 1);
  if (first_bytes.empty()) {
    if (const auto named = by_name(text_names, name)) return std::string(*named);
    return name.ends_with(".txt") ? "text/plain" : std::string(unknown);
  }
  for (const Signature& signature : signatures) {
    if (first_bytes.size() < signature.at + signature.bytes.size()) continue;
    if (first_bytes.substr(signature.at, signature.bytes.size()) == signature.bytes) return std::string(signature.type);
  }
  if (auto type = type_of_container(name, first_bytes)) return *type;
  if (looks_like_text(first_bytes)) {
    // The last character may be cut off with the bytes that are not here.
    const std::string_view whole = first_bytes.substr(0, first_bytes.size() - incomplete_tail(first_bytes));
    if (is_utf8(whole)) return type_of_text(name, whole);
    if (const auto named = by_name(text_names, name)) return std::string(*named);
    if (name.ends_with(".txt")) return "text/plain";
  }
  return std::string(by_name(binary_names, name).value_or(unknown));
}

}  // namespace cloche::session
