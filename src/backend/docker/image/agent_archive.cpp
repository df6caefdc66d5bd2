#include "backend/docker/image/agent_archive.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>

#include "backend/docker/hardening.hpp"
#include "core/user_lines.hpp"
#include "crypto/sha256.hpp"

namespace cloche::docker {

namespace {

// Far more than the agent has, far less than an engine chokes on.
constexpr Bytes largest_agent = mib(64);

struct Writer {
  std::string bytes;
  std::unique_ptr<archive, decltype(&archive_write_free)> handle{archive_write_new(), &archive_write_free};
};

la_ssize_t append(archive*, void* context, const void* data, std::size_t size) {
  static_cast<std::string*>(context)->append(static_cast<const char*>(data), size);
  return static_cast<la_ssize_t>(size);
}

struct Entry {
  std::string path;
  mode_t mode;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string_view content;
  std::string link;  // where a symbolic link leads
};

Status add(Writer& writer, const Entry& wanted) {
  const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(), &archive_entry_free);
  archive_entry_set_pathname(entry.get(), wanted.path.c_str());
  archive_entry_set_mode(entry.get(), wanted.mode);
  archive_entry_set_uid(entry.get(), wanted.uid);
  archive_entry_set_gid(entry.get(), wanted.gid);
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(wanted.content.size()));
  archive_entry_set_mtime(entry.get(), 0, 0);
  if (!wanted.link.empty()) archive_entry_set_symlink(entry.get(), wanted.link.c_str());
  const bool written = archive_write_header(writer.handle.get(), entry.get()) == ARCHIVE_OK &&
                       archive_write_data(writer.handle.get(), wanted.content.data(), wanted.content.size()) ==
                           static_cast<la_ssize_t>(wanted.content.size());
  if (written) return {};
  return fail(ErrorCode::internal, "pack " + wanted.path + ": " + archive_error_string(writer.handle.get()));
}

}  // namespace

namespace {

SandboxUser user_of(const ImageLayout& layout) {
  return {.name = layout.user, .uid = layout.uid, .gid = layout.gid, .home = layout.work_dir};
}

}  // namespace

Result<std::shared_ptr<const AgentProgram>> load_agent(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) {
    const int number = errno;
    return fail(
        errno_error("agent " + path, number).at("cannot read the agent program that runs inside every sandbox"));
  }
  if (!S_ISREG(info.st_mode) || info.st_size <= 0 || static_cast<std::uint64_t>(info.st_size) > largest_agent.count) {
    return fail(ErrorCode::invalid_argument, "agent " + path + ": not a program");
  }
  auto agent = std::make_shared<AgentProgram>();
  agent->bytes.resize(static_cast<std::size_t>(info.st_size));
  std::ifstream file(path, std::ios::binary);
  file.read(agent->bytes.data(), info.st_size);
  if (!file || file.gcount() != info.st_size) return fail(ErrorCode::internal, "agent " + path + ": cannot read it");
  agent->sha256 = sha256_hex(agent->bytes);
  return agent;
}

ImageLayout layout_of(const SandboxSpec& spec, HostUids users) {
  return ImageLayout{spec.work_dir, uid_of(spec), spec.gid, users, spec.user, spec.root};
}

std::string with_users(std::string passwd, const ImageLayout& layout) {
  SandboxUser user = user_of(layout);
  if (layout.users.count == 0) return knows_user(passwd, user) ? passwd : with_passwd_line(passwd, user);
  if (!passwd.empty() && !passwd.ends_with('\n')) passwd += '\n';
  for (std::uint32_t i = 0; i < layout.users.count; ++i) {
    user.uid = layout.users.first + i;
    passwd += passwd_line(user);
  }
  return passwd;
}

std::string with_group(const std::string& group, const ImageLayout& layout) {
  return with_group_line(group, user_of(layout));
}

Result<std::string> make_archive(const AgentProgram& agent, const ImageLayout& layout,
                                 const ImageAdditions& additions) {
  Writer writer;
  writer.bytes.reserve(agent.bytes.size() + (64 << 10));
  archive_write_set_format_gnutar(writer.handle.get());
  archive_write_set_bytes_per_block(writer.handle.get(), 0);
  if (archive_write_open(writer.handle.get(), &writer.bytes, nullptr, &append, nullptr) != ARCHIVE_OK) {
    return fail(ErrorCode::internal, "pack the agent: " + std::string(archive_error_string(writer.handle.get())));
  }
  CLOCHE_CHECK(add(writer, {std::string(agent_directory).substr(1), S_IFDIR | 0755}));
  CLOCHE_CHECK(add(writer, {std::string(agent_in_sandbox).substr(1), S_IFREG | 0755, 0, 0, agent.bytes}));
  const std::string own_programs = std::string(agent_directory).substr(1) + "/bin";
  CLOCHE_CHECK(add(writer, {own_programs, S_IFDIR | 0755}));
  for (const auto& [name, program] : additions.names) {
    CLOCHE_CHECK(add(writer, {own_programs + "/" + name, S_IFLNK | 0777, 0, 0, {}, program}));
  }
  CLOCHE_CHECK(add(writer, {own_programs + "/sudo", S_IFLNK | 0777, 0, 0, {}, agent_in_sandbox}));
  if (layout.root) {
    CLOCHE_CHECK(add(writer, {"usr/bin/sudo", S_IFLNK | 0777, 0, 0, {}, agent_in_sandbox}));
    CLOCHE_CHECK(add(writer, {std::string(root_home).substr(1), S_IFDIR | 0700}));
    CLOCHE_CHECK(add(writer, {std::string(root_run_dir).substr(1), S_IFDIR | 0755}));
  }
  if (additions.group) CLOCHE_CHECK(add(writer, {"etc/group", S_IFREG | 0644, 0, 0, *additions.group}));
  if (additions.passwd) CLOCHE_CHECK(add(writer, {"etc/passwd", S_IFREG | 0644, 0, 0, *additions.passwd}));
  CLOCHE_CHECK(add(writer, {"tmp", S_IFDIR | 01777}));
  CLOCHE_CHECK(add(writer, {layout.work_dir.substr(1), S_IFDIR | 0755, layout.uid, layout.gid}));
  if (archive_write_close(writer.handle.get()) != ARCHIVE_OK) {
    return fail(ErrorCode::internal, "pack the agent: " + std::string(archive_error_string(writer.handle.get())));
  }
  return std::move(writer.bytes);
}

DerivedTag derived_tag(std::string_view base_image_id, const AgentProgram& agent, const ImageLayout& layout) {
  // The number says how the archive is made; it changes when make_archive does.
  const std::string inside = fmt::format("4\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", agent.sha256, layout.work_dir, layout.uid,
                                         layout.gid, layout.users.first, layout.users.count, layout.user, layout.root);
  if (const auto colon = base_image_id.find(':'); colon != base_image_id.npos) base_image_id.remove_prefix(colon + 1);
  return {"cloche/sandbox", std::string(base_image_id.substr(0, 12)) + "-" + sha256_hex(inside).substr(0, 12)};
}

}  // namespace cloche::docker
