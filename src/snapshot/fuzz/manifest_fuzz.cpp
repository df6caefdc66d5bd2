// The reader of manifests on any bytes: what it reads is within bounds, and is written as it was read.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "snapshot/manifest.hpp"
#include "snapshot/snapshot_id.hpp"

namespace {

using namespace cloche::snapshot;

void require(bool condition) {
  if (!condition) std::abort();
}

void check_tree(const Tree& tree) {
  require(tree.size() <= most_pieces);
  for (const Piece& piece : tree) require(piece.size > 0 && piece.size <= most_of_piece);
}

void check(std::string_view bytes) {
  const auto read = read_manifest(bytes);
  if (!read) return;
  require(is_id(read->info.id));
  check_tree(read->work);
  if (read->home) check_tree(*read->home);
  const auto again = read_manifest(write_manifest(*read));
  require(again && *again == *read);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  check(bytes);
  // The same with a checksum that is right, so that the rest is read.
  const cloche::Digest sum = cloche::sha256(bytes);
  bytes.append(reinterpret_cast<const char*>(sum.data()), sum.size());
  check(bytes);
  return 0;
}
