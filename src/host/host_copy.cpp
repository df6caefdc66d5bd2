#include "host/host_copy.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "core/async/blocking.hpp"
#include "core/ids.hpp"
#include "core/unique_fd.hpp"

namespace cloche {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t piece_size = 256UL * 1024;
constexpr std::size_t most_entries = 10'000;

struct HostEntry {
  std::string path;  // relative to the tree
  bool is_directory = false;
  std::uint32_t mode = 0644;
};

struct HostTree {
  bool is_directory = false;
  std::uint32_t mode = 0644;
  std::vector<HostEntry> entries;  // of a directory; each after the one it is in
  std::vector<std::string> left_out;
};

std::uint32_t mode_of(fs::perms permissions) { return static_cast<std::uint32_t>(permissions) & 0777; }

Result<HostTree> scan(const std::string& from) {
  std::error_code error;
  const auto status = fs::status(from, error);
  if (!fs::exists(status)) return fail(ErrorCode::not_found, "Source file not found: " + from);
  HostTree tree;
  tree.is_directory = fs::is_directory(status);
  tree.mode = mode_of(status.permissions());
  if (!tree.is_directory) {
    if (!fs::is_regular_file(status)) {
      return fail(ErrorCode::invalid_argument, from + " is neither a file nor a directory");
    }
    return tree;
  }
  fs::recursive_directory_iterator place(from, fs::directory_options::none, error);
  for (; !error && place != fs::recursive_directory_iterator(); place.increment(error)) {
    const auto found = place->symlink_status(error);
    if (error) break;
    const std::string path = place->path().lexically_relative(from).string();
    if (!fs::is_directory(found) && !fs::is_regular_file(found)) {
      tree.left_out.push_back(path);
      continue;
    }
    tree.entries.push_back({path, fs::is_directory(found), mode_of(found.permissions())});
    if (tree.entries.size() > most_entries) {
      return fail(ErrorCode::limit_reached, from + " has more than " + std::to_string(most_entries) + " files");
    }
  }
  if (error) return fail(errno_error("read " + from, error.value()));
  return tree;
}

// Not a FIFO that replaced the file meanwhile: reading it would never end.
Result<std::shared_ptr<UniqueFd>> open_regular(const std::string& path) {
  auto file = std::make_shared<UniqueFd>(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!*file) return fail_errno("open " + path);
  struct stat status{};
  if (::fstat(file->get(), &status) != 0) return fail_errno("stat " + path);
  if (!S_ISREG(status.st_mode)) return fail(ErrorCode::invalid_argument, path + " is not a regular file");
  return file;
}

Task<Result<std::string>> read_piece(asio::thread_pool& threads, std::shared_ptr<UniqueFd> file) {
  auto work = [file]() -> Result<std::string> {
    std::string piece(piece_size, '\0');
    const ssize_t n = ::read(file->get(), piece.data(), piece.size());
    if (n < 0) return fail_errno("read");
    piece.resize(static_cast<std::size_t>(n));
    return piece;
  };
  auto read = co_await run_blocking(threads, std::move(work));
  co_return read;
}

Task<Status> write_piece(asio::thread_pool& threads, std::shared_ptr<UniqueFd> file, std::string bytes) {
  auto work = [file, bytes = std::move(bytes)]() -> Status {
    std::string_view rest = bytes;
    while (!rest.empty()) {
      const ssize_t n = ::write(file->get(), rest.data(), rest.size());
      if (n < 0) return fail_errno("write");
      rest.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
  };
  auto written = co_await run_blocking(threads, std::move(work));
  co_return written;
}

// A name below a directory: nothing in it leads elsewhere.
bool stays_below(const std::string& path) {
  if (path.empty() || path.starts_with('/') || path.find('\0') != std::string::npos) return false;
  return std::ranges::none_of(fs::path(path), [](const fs::path& part) { return part == ".." || part == "."; });
}

// A partial copy is removed unless the copy is completed.
class Unfinished {
 public:
  explicit Unfinished(std::string path) : path_(std::move(path)) {}
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  ~Unfinished() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  void keep() { path_.clear(); }

 private:
  std::string path_;
};

}  // namespace

Task<Result<CopyReport>> HostCopy::into_sandbox(std::string from, std::string to) {
  auto scanning = [from] { return scan(from); };
  auto scanned = co_await run_blocking(threads_, std::move(scanning));
  if (!scanned) co_return fail(std::move(scanned).error());
  if (!scanned->is_directory) {
    auto written = co_await write_into(from, to, scanned->mode);
    if (!written) co_return fail(std::move(written).error());
    co_return report_;
  }
  report_.left_out = std::move(scanned->left_out);
  HostEntry top;
  top.is_directory = true;
  scanned->entries.insert(scanned->entries.begin(), std::move(top));
  for (const HostEntry& entry : scanned->entries) {
    std::string host_path = from + "/" + entry.path;
    std::string path = entry.path.empty() ? to : to + "/" + entry.path;
    if (entry.is_directory) {
      FilePath directory = place_(std::move(path));
      auto files = sandbox_.files();
      auto made = co_await files.make_directory(std::move(directory));
      if (!made && made.error().code != ErrorCode::already_exists) co_return fail(std::move(made).error());
      continue;
    }
    auto written = co_await write_into(std::move(host_path), std::move(path), entry.mode);
    if (!written) co_return fail(std::move(written).error());
  }
  co_return report_;
}

Task<Status> HostCopy::write_into(std::string from, std::string to, std::uint32_t mode) {
  auto opening = [from] { return open_regular(from); };
  auto opened = co_await run_blocking(threads_, std::move(opening));
  if (!opened) co_return fail(std::move(opened).error());
  struct Counted {
    static Task<Result<std::string>> next(HostCopy& copy, std::shared_ptr<UniqueFd> file) {
      auto piece = co_await read_piece(copy.threads_, std::move(file));
      if (piece) copy.report_.bytes.count += piece->size();
      co_return piece;
    }
  };
  Files::Source source = [this, file = *opened] { return Counted::next(*this, file); };
  FilePath place = place_(std::move(to));
  WriteOptions options;
  options.mode = mode;
  auto files = sandbox_.files();
  auto written = co_await files.write_stream(std::move(place), std::move(source), options);
  if (!written) co_return fail(std::move(written).error().at("copy " + from));
  ++report_.files;
  co_return Status{};
}

Task<Result<CopyReport>> HostCopy::out_of_sandbox(std::string from, std::string to, Bytes most) {
  auto files = sandbox_.files();
  FilePath place = place_(from);
  auto about = co_await files.stat(std::move(place));
  if (!about && about.error().code == ErrorCode::not_found) {
    co_return fail(ErrorCode::not_found, "File not found: " + from);
  }
  if (!about) co_return fail(std::move(about).error());
  if (about->type != FileType::regular && about->type != FileType::directory) {
    co_return fail(ErrorCode::invalid_argument, from + " is neither a file nor a directory");
  }
  std::error_code error;
  const fs::path parent = fs::path(to).parent_path();
  if (!parent.empty()) fs::create_directories(parent, error);
  if (error) co_return fail(errno_error("make " + parent.string(), error.value()));
  const bool is_file = about->type == FileType::regular;
  Status copied;
  if (is_file) {
    copied = co_await read_out(std::move(from), std::move(to), most);
  } else {
    copied = co_await read_tree_out(std::move(from), std::move(to), most);
  }
  if (!copied) co_return fail(std::move(copied).error());
  co_return report_;
}

Task<Status> HostCopy::read_out(std::string from, std::string to, Bytes most) {
  const std::string part = to + ".part-" + random_hex(4);
  const auto file =
      std::make_shared<UniqueFd>(::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!*file) co_return fail_errno("create " + part);
  Unfinished unfinished(part);
  struct Counted {
    static Task<Status> take(HostCopy& copy, std::shared_ptr<UniqueFd> into, std::string bytes, Bytes at_most) {
      copy.report_.bytes.count += bytes.size();
      if (copy.report_.bytes > at_most) {
        co_return fail(ErrorCode::limit_reached, "more than " + to_string(at_most) + " to copy");
      }
      auto written = co_await write_piece(copy.threads_, std::move(into), std::move(bytes));
      co_return written;
    }
  };
  Files::Sink sink = [this, file, most](std::string bytes) {
    return Counted::take(*this, file, std::move(bytes), most);
  };
  FilePath place = place_(from);
  const FileRange whole;
  auto files = sandbox_.files();
  auto read = co_await files.read_stream(std::move(place), whole, std::move(sink));
  if (!read) co_return fail(std::move(read).error().at("copy " + from));
  if (::rename(part.c_str(), to.c_str()) != 0) co_return fail_errno("rename " + part + " to " + to);
  unfinished.keep();
  ++report_.files;
  co_return Status{};
}

Task<Status> HostCopy::read_tree_out(std::string from, std::string to, Bytes most) {
  auto files = sandbox_.files();
  FilePath place = place_(from);
  auto listed = co_await files.list(std::move(place), Recursion::whole_tree);
  if (!listed) co_return fail(std::move(listed).error());
  if (listed->cut) co_return fail(ErrorCode::limit_reached, from + " has too many files to copy");
  // A directory of our own: nothing in it can lead elsewhere.
  if (::mkdir(to.c_str(), 0755) != 0) co_return fail_errno("create " + to);
  Unfinished unfinished(to);
  for (const FileEntry& entry : listed->entries) {
    if (!stays_below(entry.path))
      co_return fail(ErrorCode::protocol, "the sandbox returned a name that leads out of " + from);
    std::string target = to + "/" + entry.path;
    if (entry.type != FileType::directory && entry.type != FileType::regular) {
      report_.left_out.push_back(entry.path);
      continue;
    }
    std::error_code error;
    fs::create_directories(entry.type == FileType::directory ? fs::path(target) : fs::path(target).parent_path(),
                           error);
    if (error) co_return fail(errno_error("make " + target, error.value()));
    if (entry.type == FileType::directory) continue;
    std::string source = from + "/" + entry.path;
    auto copied = co_await read_out(std::move(source), std::move(target), most);
    if (!copied) co_return copied;
  }
  unfinished.keep();
  co_return Status{};
}

}  // namespace cloche
