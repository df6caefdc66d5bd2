#include "snapshot/manifest.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cstring>

#include "auth/names.hpp"
#include "json/json_object.hpp"
#include "json/strict_json.hpp"
#include "snapshot/snapshot_id.hpp"

namespace cloche::snapshot {

namespace {

constexpr std::string_view manifest_magic = "cloche snapshot 1\n";
constexpr std::size_t digest_size = std::tuple_size_v<Digest>;
constexpr std::size_t most_of_header = 4096;
constexpr std::int64_t most_of_number = INT64_MAX;

void put_number(std::string& bytes, std::uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(number >> shift & 0xff);
}

void put_digest(std::string& bytes, const Digest& digest) {
  bytes.append(reinterpret_cast<const char*>(digest.data()), digest.size());
}

void put_tree(std::string& bytes, const Tree& tree) {
  put_number(bytes, static_cast<std::uint32_t>(tree.size()));
  for (const Piece& piece : tree) {
    put_digest(bytes, piece.digest);
    put_number(bytes, piece.size);
  }
}

std::string header_of(const Manifest& manifest) {
  const SnapshotInfo& info = manifest.info;
  json::object header;
  header["id"] = info.id;
  header["tenant"] = info.tenant;
  header["name"] = info.name;
  header["session"] = info.session;
  header["profile"] = info.profile;
  header["created"] = info.created.time_since_epoch().count();
  header["files"] = info.files;
  header["size"] = info.size.count;
  header["temporary"] = manifest.lifetime == Manifest::Lifetime::temporary;
  header["home"] = manifest.home.has_value();
  return json::serialize(header);
}

std::unexpected<Error> damaged_manifest(std::string_view why) {
  return fail(ErrorCode::protocol, "damaged manifest: " + std::string(why));
}

// Takes fields from the front of the bytes.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  Result<std::string_view> take(std::size_t count) {
    if (count > rest_.size()) return damaged_manifest("too short");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  Result<std::uint32_t> number() {
    CLOCHE_TRY(const std::string_view bytes, take(4));
    std::uint32_t value = 0;
    for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
  }
  Result<Digest> digest() {
    CLOCHE_TRY(const std::string_view bytes, take(digest_size));
    Digest value{};
    std::memcpy(value.data(), bytes.data(), digest_size);
    return value;
  }
  Result<Tree> tree() {
    CLOCHE_TRY(const std::uint32_t count, number());
    if (count > most_pieces || count > rest_.size() / (digest_size + 4)) return damaged_manifest("too many pieces");
    Tree tree(count);
    for (Piece& piece : tree) {
      CLOCHE_TRY(piece.digest, digest());
      CLOCHE_TRY(piece.size, number());
      if (piece.size == 0 || piece.size > most_of_piece) return damaged_manifest("size of a piece");
    }
    return tree;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// Whether there is a tree of the home directory.
Result<bool> read_header(std::string_view text, Manifest& manifest) {
  CLOCHE_TRY(json::object parsed, parse_strict_object(text, 2));
  const json::value whole = std::move(parsed);
  CLOCHE_TRY(JsonObject header, JsonObject::of(whole, "header"));
  SnapshotInfo& info = manifest.info;
  CLOCHE_TRY(info.id, header.text("id"));
  CLOCHE_TRY(info.tenant, header.text("tenant"));
  CLOCHE_TRY(info.name, header.text("name"));
  CLOCHE_TRY(info.session, header.text("session"));
  CLOCHE_TRY(info.profile, header.text("profile"));
  CLOCHE_TRY(const std::int64_t created, header.number("created", 0, std::int64_t{1} << 40));
  info.created = std::chrono::sys_seconds(std::chrono::seconds(created));
  CLOCHE_TRY(const std::int64_t files, header.number("files", 0, most_of_number));
  info.files = static_cast<std::uint64_t>(files);
  CLOCHE_TRY(const std::int64_t size, header.number("size", 0, most_of_number));
  info.size = Bytes{static_cast<std::uint64_t>(size)};
  CLOCHE_TRY(const bool temporary, header.flag("temporary", false));
  manifest.lifetime = temporary ? Manifest::Lifetime::temporary : Manifest::Lifetime::lasting;
  CLOCHE_TRY(const bool home, header.flag("home", false));
  CLOCHE_CHECK(header.finish());
  const bool good = is_id(info.id) && auth::is_valid_name(info.tenant) && auth::is_valid_name(info.session) &&
                    (info.name.empty() || check_name(info.name));
  if (!good) return damaged_manifest("names");
  return home;
}

}  // namespace

std::string write_manifest(const Manifest& manifest) {
  const std::string header = header_of(manifest);
  std::string bytes(manifest_magic);
  put_number(bytes, static_cast<std::uint32_t>(header.size()));
  bytes += header;
  put_tree(bytes, manifest.work);
  if (manifest.home) put_tree(bytes, *manifest.home);
  put_digest(bytes, sha256(bytes));
  return bytes;
}

Result<Manifest> read_manifest(std::string_view bytes) {
  if (!bytes.starts_with(manifest_magic)) return damaged_manifest("not a manifest of this version");
  if (bytes.size() < manifest_magic.size() + digest_size) return damaged_manifest("too short");
  const std::string_view content = bytes.substr(0, bytes.size() - digest_size);
  const Digest sum = sha256(content);
  if (std::memcmp(sum.data(), bytes.data() + content.size(), digest_size) != 0)
    return damaged_manifest("wrong checksum");
  Fields fields(content.substr(manifest_magic.size()));
  CLOCHE_TRY(const std::uint32_t header_size, fields.number());
  if (header_size > most_of_header) return damaged_manifest("header too long");
  CLOCHE_TRY(const std::string_view header, fields.take(header_size));
  Manifest manifest;
  auto has_home = read_header(header, manifest);
  if (!has_home) return damaged_manifest(has_home.error().message);
  CLOCHE_TRY(manifest.work, fields.tree());
  if (*has_home) {
    CLOCHE_TRY(manifest.home, fields.tree());
  }
  if (!fields.at_end()) return damaged_manifest("too long");
  return manifest;
}

}  // namespace cloche::snapshot
