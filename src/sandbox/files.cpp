#include "sandbox/files.hpp"

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include "sandbox/relative_name.hpp"

namespace cloche {

namespace {

constexpr std::size_t piece = 256 * 1024;

Task<Status> throw_away(std::string) { co_return Status{}; }

// Bytes of lists and matches that one reply's collection may grow to: an agent cannot make the server hold more.
constexpr std::size_t max_collected = 64 * 1024 * 1024;

std::size_t weight(const wire::FileReply& reply) {
  std::size_t bytes = 0;
  for (const auto& entry : reply.entries) {
    bytes += sizeof entry + entry.path.size() + entry.link_target.size() + entry.resolved.size();
    // A node of a map has its pointers and a place in the heap, too.
    for (const auto& [name, value] : entry.attributes) bytes += 128 + name.size() + value.size();
  }
  for (const auto& match : reply.matches) bytes += sizeof match + match.path.size() + match.text.size();
  return bytes;
}

void merge(wire::FileReply& into, wire::FileReply&& more) {
  into.entries.insert(into.entries.end(), std::make_move_iterator(more.entries.begin()),
                      std::make_move_iterator(more.entries.end()));
  into.matches.insert(into.matches.end(), std::make_move_iterator(more.matches.begin()),
                      std::make_move_iterator(more.matches.end()));
  into.done = more.done;
  into.cut = into.cut || more.cut;
  into.bytes = more.bytes;
  into.files = more.files;
  into.skipped = more.skipped;
  into.total_size = std::max(into.total_size, more.total_size);
  into.moment_ns = more.moment_ns;
  into.binary = more.binary;
  into.ignored = more.ignored;
  into.edit = more.edit;
  into.other_line_ends = more.other_line_ends;
}

// How much content may come as the answer to a request.
std::uint64_t most_content(const wire::FileRequest& request) {
  if (request.op == wire::FileOp::tar_out) return UINT64_MAX;
  if (request.op != wire::FileOp::read) return 0;
  return request.length == 0 ? UINT64_MAX : request.length;
}

// The level that an agent must have to interpret a request as intended. Rules of `changes` do not require one: an old
// agent that does not know them reports more.
std::uint32_t level_of(const wire::FileRequest& request) {
  if (request.op == wire::FileOp::space) return 3;
  if (request.op == wire::FileOp::watch || request.details || !request.attributes.empty() || request.depth != 0)
    return 2;
  const bool searches = request.op == wire::FileOp::glob || request.op == wire::FileOp::grep;
  const bool is_new = request.op == wire::FileOp::edit || request.keep_existing || request.to_root ||
                      request.no_kernel_files || request.keep_modes || request.skip_hidden ||
                      (searches && !request.exclude.empty());
  return is_new ? 1 : 0;
}

bool is_size(std::uint64_t size) { return size <= static_cast<std::uint64_t>(INT64_MAX); }

Status check_sizes(const wire::FileReply& reply) {
  const bool good = is_size(reply.total_size) && is_size(reply.bytes) &&
                    std::ranges::all_of(reply.entries, is_size, &FileEntry::size);
  if (good) return {};
  return fail(ErrorCode::protocol, "the sandbox's agent sent an invalid file size");
}

// For lists: callers write results to their own file systems.
template <class Items>
Status check_names(const Items& items) {
  if (std::ranges::all_of(items, [](const auto& item) { return stays_below(item.path); })) return {};
  return fail(ErrorCode::protocol, "the sandbox's agent sent a name that leads out of its directory");
}

void put_rules(wire::FileRequest& request, ChangeRules rules) {
  request.ignore_usual = rules.usual == ChangeRules::Usual::ignored;
  request.include = std::move(rules.include);
  request.exclude = std::move(rules.exclude);
}

// Sends content until its end, while the other half of the conversation listens for the answer.
Task<Status> send_content(AgentStream& stream, const Files::Source& source, Deadline deadline) {
  for (;;) {
    auto bytes = co_await source();
    if (!bytes) co_return fail(std::move(bytes).error());
    if (bytes->empty()) break;
    auto sent = co_await stream.send_data(wire::lane::in, std::move(*bytes), deadline);
    if (!sent) co_return sent;
  }
  stream.send_eof(wire::lane::in);
  co_return Status{};
}

Task<Result<wire::FileReply>> receive(AgentStream& stream, const Files::Sink& sink, std::uint64_t most,
                                      Deadline deadline) {
  wire::FileReply all;
  std::size_t held = 0;
  std::uint64_t content = 0;
  for (;;) {
    auto event = co_await stream.next(deadline);
    if (!event) co_return fail(std::move(event).error());
    if (auto* data = std::get_if<StreamData>(&*event)) {
      content += data->bytes.size();
      if (content > most) co_return fail(ErrorCode::protocol, "the sandbox's agent sent more than requested");
      auto taken = co_await sink(std::move(data->bytes));
      if (!taken) co_return fail(std::move(taken).error());
    } else if (auto* message = std::get_if<StreamMessage>(&*event)) {
      auto reply = wire::decode<wire::FileReply>(message->bytes);
      if (!reply) co_return fail(std::move(reply).error());
      CLOCHE_CO_CHECK(check_sizes(*reply));
      held += weight(*reply);
      if (held > max_collected)
        co_return fail(ErrorCode::protocol, "the sandbox's agent sent a response that is too large");
      merge(all, std::move(*reply));
    } else if (std::holds_alternative<StreamClosed>(*event)) {
      if (!all.done) co_return fail(ErrorCode::protocol, "the sandbox's agent did not finish a file operation");
      co_return all;
    }
  }
}

}  // namespace

Files::Source from_memory(std::string bytes) {
  auto rest = std::make_shared<std::pair<std::string, std::size_t>>(std::move(bytes), 0);
  return [rest]() -> Task<Result<std::string>> {
    std::string part = rest->first.substr(rest->second, piece);
    rest->second += part.size();
    co_return part;
  };
}

FilePath FilePath::beneath(std::string root, std::string relative) {
  FilePath path(std::move(relative));
  path.root = std::move(root);
  return path;
}

FilePath FilePath::anywhere(std::string absolute) {
  FilePath path(std::move(absolute));
  path.refuses_kernel_files = true;
  return path;
}

wire::FileRequest Files::request(wire::FileOp op, FilePath path) const {
  wire::FileRequest request;
  request.op = op;
  request.path = std::move(path.path);
  request.root = std::move(path.root);
  request.no_kernel_files = path.refuses_kernel_files;
  request.uid = uid_;
  request.gid = gid_;
  return request;
}

Result<std::unique_ptr<AgentStream>> Files::open(const wire::FileRequest& request) {
  if (link_.file_level() < level_of(request)) {
    return fail(ErrorCode::unsupported,
                "the sandbox was started by an older version of the server, whose agent does not support this file "
                "operation; end the session and start a new one");
  }
  return link_.open(wire::encode(request));
}

Task<Result<wire::FileReply>> Files::perform(wire::FileRequest request, Source source, Sink sink, Deadline deadline) {
  const std::uint64_t most = most_content(request);
  auto opened = open(request);
  if (!opened) co_return fail(std::move(opened).error());
  const auto stream = std::move(*opened);
  if (!source) {
    stream->send_eof(wire::lane::in);
    auto reply = co_await receive(*stream, sink, most, deadline);
    co_return reply;
  }
  // The answer can come while content is still under way (no space left, say): whichever fails first decides.
  using asio::experimental::awaitable_operators::operator&&;
  std::optional<Error> send_error;
  const auto sending = [&]() -> Task<> {
    auto sent = co_await send_content(*stream, source, deadline);
    if (!sent) {
      send_error = std::move(sent).error();
      stream->cancel();
    }
  };
  auto reply = co_await (receive(*stream, sink, most, deadline) && sending());
  if (send_error && (!reply || reply.error().code == ErrorCode::cancelled)) co_return fail(std::move(*send_error));
  co_return reply;
}

Task<Status> Files::write(FilePath path, std::string bytes, WriteOptions options, Deadline deadline) {
  Source source = from_memory(std::move(bytes));
  auto written = co_await write_stream(std::move(path), std::move(source), std::move(options), deadline);
  co_return written;
}

Task<Status> Files::write_stream(FilePath path, Source source, WriteOptions options, Deadline deadline) {
  auto ask = request(wire::FileOp::write, std::move(path));
  ask.mode = options.mode;
  ask.parents = options.parents == WriteOptions::Parents::make;
  ask.append = options.existing == WriteOptions::Existing::append;
  ask.in_place = options.appearance == WriteOptions::Appearance::growing;
  ask.max_bytes = options.most.count;
  ask.force = options.read_only == WriteOptions::ReadOnly::replace;
  ask.attributes = std::move(options.attributes);
  Sink sink = throw_away;
  auto reply = co_await perform(std::move(ask), std::move(source), std::move(sink), deadline);
  if (!reply) co_return fail(std::move(reply).error());
  co_return Status{};
}

Task<Result<ReadResult>> Files::read(FilePath path, FileRange range, Bytes most, Deadline deadline) {
  ReadResult result;
  auto ask = request(wire::FileOp::read, std::move(path));
  ask.offset = range.offset;
  // One byte more than wanted shows whether there is more.
  const std::uint64_t cap = most.count == UINT64_MAX ? most.count : most.count + 1;
  ask.length = range.length == 0 ? cap : std::min(range.length, cap);
  Sink sink = [&result](std::string bytes) -> Task<Status> {
    result.bytes += bytes;
    co_return Status{};
  };
  auto reply = co_await perform(std::move(ask), nullptr, std::move(sink), deadline);
  if (!reply) co_return fail(std::move(reply).error());
  result.total_size = reply->total_size;
  if (result.bytes.size() > most.count) {
    result.bytes.resize(most.count);
    result.cut = true;
  }
  co_return result;
}

Task<Status> Files::read_stream(FilePath path, FileRange range, Sink sink, Deadline deadline) {
  auto ask = request(wire::FileOp::read, std::move(path));
  ask.offset = range.offset;
  ask.length = range.length;
  auto reply = co_await perform(std::move(ask), nullptr, std::move(sink), deadline);
  if (!reply) co_return fail(std::move(reply).error());
  co_return Status{};
}

Task<Result<DiskSpace>> Files::space(FilePath path, Deadline deadline) {
  auto ask = request(wire::FileOp::space, std::move(path));
  Sink sink = throw_away;
  auto reply = co_await perform(std::move(ask), nullptr, std::move(sink), deadline);
  if (!reply) co_return fail(std::move(reply).error());
  co_return DiskSpace{Bytes{reply->bytes}, Bytes{reply->total_size}};
}

Task<Result<FileEntry>> Files::stat(FilePath path, Links links, Deadline deadline) {
  const StatOptions options{.links = links};
  return stat(std::move(path), options, deadline);
}

Task<Result<FileEntry>> Files::stat(FilePath path, StatOptions options, Deadline deadline) {
  auto ask = request(wire::FileOp::stat, std::move(path));
  ask.follow = options.links == Links::follow;
  ask.details = options.with_attributes;
  Sink sink = throw_away;
  auto reply = co_await perform(std::move(ask), nullptr, std::move(sink), deadline);
  if (!reply) co_return fail(std::move(reply).error());
  if (reply->entries.size() != 1) co_return fail(ErrorCode::protocol, "the sandbox's agent sent no entry for stat");
  co_return std::move(reply->entries.front());
}

Task<Result<EntryList>> Files::list(FilePath path, Recursion recursion, Deadline deadline) {
  const ListOptions options{.recursion = recursion};
  return list(std::move(path), options, deadline);
}

Task<Result<EntryList>> Files::list(FilePath path, ListOptions options, Deadline deadline) {
  auto ask = request(wire::FileOp::list, std::move(path));
  ask.recursive = options.recursion == Recursion::whole_tree;
  ask.depth = options.depth;
  ask.details = options.with_attributes;
  Sink sink = throw_away;
  auto reply = co_await perform(std::move(ask), nullptr, std::move(sink), deadline);
  if (!reply) co_return fail(std::move(reply).error());
  CLOCHE_CO_CHECK(check_names(reply->entries));
  EntryList result;
  result.entries = std::move(reply->entries);
  result.cut = reply->cut;
  co_return result;
}

Task<Result<std::uint64_t>> Files::remove(FilePath path, Recursion recursion, Missing missing, Deadline deadline) {
  auto ask = request(wire::FileOp::remove, std::move(path));
  ask.recursive = recursion == Recursion::whole_tree;
  ask.missing_ok = missing == Missing::fine;
  Sink sink = throw_away;
  auto reply = co_await perform(std::move(ask), nullptr, std::move(sink), deadline);
  if (!reply) co_return fail(std::move(reply).error());
  co_return reply->files;
}

Task<Result<std::uint64_t>> Files::make_directory(FilePath path, DirectoryOptions options, Deadline deadline) {
  auto ask = request(wire::FileOp::mkdir, std::move(path));
  ask.mode = options.mode;
  ask.parents = options.parents == DirectoryOptions::Parents::make;
  Sink sink = throw_away;
  auto reply = co_await perform(std::move(ask), nullptr, std::move(sink), deadline);
  if (!reply) co_return fail(std::move(reply).error());
  co_return reply->files;
}

Task<Status> Files::move(FilePath from, FilePath to, MoveOptions options, Deadline deadline) {
  const bool refuses_kernel_files = from.refuses_kernel_files || to.refuses_kernel_files;
  auto ask = request(wire::FileOp::move, std::move(from));
  ask.no_kernel_files = refuses_kernel_files;
  ask.to = std::move(to.path);
  if (to.root != ask.root) ask.to_root = std::move(to.root);
  ask.keep_existing = options.existing == MoveOptions::Existing::keep;
  ask.parents = options.parents == MoveOptions::Parents::make;
  Sink sink = throw_away;
  auto reply = co_await perform(std::move(ask), nullptr, std::move(sink), deadline);
  if (!reply) co_return fail(std::move(reply).error());
  co_return Status{};
}

Task<Result<EditResult>> Files::edit(FilePath path, EditRequest edit, Deadline deadline) {
  auto ask = request(wire::FileOp::edit, std::move(path));
  ask.pattern = std::move(edit.old);
  ask.replacement = std::move(edit.replacement);
  ask.expected = edit.expected;
  Sink sink = throw_away;
  auto reply = co_await perform(std::move(ask), nullptr, std::move(sink), deadline);
  if (!reply) co_return fail(std::move(reply).error());
  if (reply->edit == EditOutcome::none) {
    co_return fail(ErrorCode::protocol, "the sandbox's agent did not report the result of an edit");
  }
  EditResult result;
  result.outcome = reply->edit;
  result.matches = reply->files;
  result.size = reply->bytes;
  result.other_line_ends = reply->other_line_ends;
  co_return result;
}

Task<Result<std::unique_ptr<FileWatch>>> Files::watch(FilePath path, WatchOptions options, Deadline deadline) {
  auto ask = request(wire::FileOp::watch, std::move(path));
  ask.recursive = options.recursion == Recursion::whole_tree;
  ask.max_entries = options.most_directories;
  auto opened = open(ask);
  if (!opened) co_return fail(std::move(opened).error());
  // The first events may overtake the reply, and the end of the lane the reason for a refusal.
  std::string early;
  for (;;) {
    auto event = co_await (*opened)->next(deadline);
    if (!event) co_return fail(std::move(event).error());
    if (auto* data = std::get_if<StreamData>(&*event)) {
      early += data->bytes;
      if (early.size() <= wire::initial_credit) continue;
    } else if (std::holds_alternative<StreamEof>(*event)) {
      continue;
    } else if (const auto* message = std::get_if<StreamMessage>(&*event)) {
      if (wire::decode<wire::FileReply>(message->bytes))
        co_return std::make_unique<FileWatch>(std::move(*opened), std::move(early));
    }
    co_return fail(ErrorCode::protocol, "the sandbox's agent did not confirm a watch");
  }
}

bool Files::can_keep_modes() const { return link_.file_level() >= 1; }

Task<Result<Unpacked>> Files::unpack(FilePath path, Source source, TarCaps caps, Deadline deadline) {
  auto ask = request(wire::FileOp::tar_in, std::move(path));
  ask.parents = true;
  ask.max_bytes = caps.content.count;
  ask.max_entries = caps.entries;
  ask.keep_modes = caps.no_mode == TarCaps::NoMode::keeps;
  ask.force = caps.read_only == WriteOptions::ReadOnly::replace;
  Sink sink = throw_away;
  auto reply = co_await perform(std::move(ask), std::move(source), std::move(sink), deadline);
  if (!reply) co_return fail(std::move(reply).error());
  Unpacked unpacked;
  unpacked.entries = reply->files;
  unpacked.content = Bytes{reply->bytes};
  co_return unpacked;
}

Task<Status> Files::pack(FilePath path, Sink sink, Deadline deadline) {
  auto ask = request(wire::FileOp::tar_out, std::move(path));
  auto reply = co_await perform(std::move(ask), nullptr, std::move(sink), deadline);
  if (!reply) co_return fail(std::move(reply).error());
  co_return Status{};
}

Task<Result<EntryList>> Files::glob(FilePath path, std::string pattern, GlobOptions options, Deadline deadline) {
  auto ask = request(wire::FileOp::glob, std::move(path));
  ask.pattern = std::move(pattern);
  ask.hidden = options.hidden == GlobOptions::Hidden::match;
  ask.exclude = std::move(options.exclude);
  ask.max_results = options.most;
  ask.details = options.with_attributes;
  Sink sink = throw_away;
  auto reply = co_await perform(std::move(ask), nullptr, std::move(sink), deadline);
  if (!reply) co_return fail(std::move(reply).error());
  CLOCHE_CO_CHECK(check_names(reply->entries));
  EntryList result;
  result.entries = std::move(reply->entries);
  result.cut = reply->cut;
  co_return result;
}

Task<Result<GrepResult>> Files::grep(FilePath path, std::string pattern, GrepOptions options, Deadline deadline) {
  auto ask = request(wire::FileOp::grep, std::move(path));
  ask.pattern = std::move(pattern);
  ask.glob = std::move(options.glob);
  ask.ignore_case = options.letter_case == GrepOptions::Case::ignore;
  ask.context_lines = options.context_lines;
  ask.max_results = options.most;
  ask.exclude = std::move(options.exclude);
  ask.skip_hidden = options.hidden == GrepOptions::Hidden::skip;
  ask.recursive = true;
  Sink sink = throw_away;
  auto reply = co_await perform(std::move(ask), nullptr, std::move(sink), deadline);
  if (!reply) co_return fail(std::move(reply).error());
  CLOCHE_CO_CHECK(check_names(reply->matches));
  GrepResult result;
  result.matches = std::move(reply->matches);
  result.files_searched = reply->files;
  result.files_skipped = reply->skipped;
  result.files_binary = reply->binary;
  result.cut = reply->cut;
  co_return result;
}

Task<Result<std::int64_t>> Files::mark(FilePath path, ChangeRules rules, Deadline deadline) {
  auto ask = request(wire::FileOp::mark, std::move(path));
  put_rules(ask, std::move(rules));
  Sink sink = throw_away;
  auto reply = co_await perform(std::move(ask), nullptr, std::move(sink), deadline);
  if (!reply) co_return fail(std::move(reply).error());
  co_return reply->moment_ns;
}

wire::FileRequest Files::changes_request(FilePath path, const ChangeCaps& caps, std::string discard) const {
  auto ask = request(wire::FileOp::changes, std::move(path));
  ask.discard = std::move(discard);
  ask.max_results = caps.told;
  ask.max_entries = caps.looked_at;
  put_rules(ask, caps.rules);
  return ask;
}

Task<Result<EntryList>> Files::changes(FilePath path, std::int64_t since, ChangeCaps caps, std::string discard,
                                       Deadline deadline) {
  auto ask = changes_request(std::move(path), caps, std::move(discard));
  ask.since_ns = since;
  Sink sink = throw_away;
  auto reply = co_await perform(std::move(ask), nullptr, std::move(sink), deadline);
  if (!reply) co_return fail(std::move(reply).error());
  co_return parse_changes(std::move(*reply), caps);
}

Result<EntryList> parse_changes(wire::FileReply reply, const ChangeCaps& caps) {
  if (reply.entries.size() > caps.told) {
    return fail(ErrorCode::protocol, "the sandbox's agent sent more changes than requested");
  }
  CLOCHE_CHECK(check_sizes(reply));
  CLOCHE_CHECK(check_names(reply.entries));
  EntryList result;
  result.entries = std::move(reply.entries);
  // Files that the user cannot access were not scanned either.
  result.cut = reply.cut || reply.skipped > 0;
  result.ignored = reply.ignored;
  return result;
}

}  // namespace cloche
