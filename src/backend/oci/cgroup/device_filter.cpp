#include "backend/oci/cgroup/device_filter.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "backend/oci/files.hpp"
#include "core/unique_fd.hpp"

namespace cloche::oci {

namespace {

constexpr std::uint8_t result = BPF_REG_0, context = BPF_REG_1, type = BPF_REG_2, access_wanted = BPF_REG_3,
                       major_number = BPF_REG_4, minor_number = BPF_REG_5;

bpf_insn instruction(int code, std::uint8_t to, std::uint8_t from, int offset, std::int32_t number) {
  bpf_insn one = {};
  one.code = static_cast<std::uint8_t>(code);
  one.dst_reg = to & 0xf;
  one.src_reg = from & 0xf;
  one.off = static_cast<std::int16_t>(offset);
  one.imm = number;
  return one;
}

bpf_insn load_word(std::uint8_t to, std::size_t offset) {
  return instruction(BPF_LDX | BPF_MEM | BPF_W, to, context, static_cast<int>(offset), 0);
}

bpf_insn set(std::uint8_t to, std::int32_t number) {
  return instruction(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, number);
}

bpf_insn skip_unless_equal(std::uint8_t what, std::uint32_t number, int skipped) {
  return instruction(BPF_JMP | BPF_JNE | BPF_K, what, 0, skipped, static_cast<std::int32_t>(number));
}

bpf_insn skip_if_equal(std::uint8_t what, std::uint32_t number, int skipped) {
  return instruction(BPF_JMP | BPF_JEQ | BPF_K, what, 0, skipped, static_cast<std::int32_t>(number));
}

bpf_insn leave() { return instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0); }

long call_bpf(int command, bpf_attr& attributes) { return ::syscall(SYS_bpf, command, &attributes, sizeof attributes); }

std::unexpected<Error> without_programs(const char* step) {
  const Error error = errno_error(step, errno);
  return fail(ErrorCode::unsupported,
              "this host cannot limit devices: " + error.message + "; GPUs need a kernel with CONFIG_CGROUP_BPF");
}

}  // namespace

std::vector<DeviceRule> harmless_devices() {
  return {{1, 3}, {1, 5}, {1, 7}, {1, 8}, {1, 9}, {5, 0}, {5, 2}, {136, std::nullopt}};
}

std::string rule_line(const DeviceRule& rule) {
  return "c " + std::to_string(rule.major) + ":" + (rule.minor ? std::to_string(*rule.minor) : "*") + " rw";
}

std::vector<bpf_insn> device_program(const std::vector<DeviceRule>& rules) {
  constexpr std::int32_t type_bits = 0xffff, access_shift = 16;
  std::vector<bpf_insn> program = {
      load_word(type, offsetof(bpf_cgroup_dev_ctx, access_type)),
      load_word(major_number, offsetof(bpf_cgroup_dev_ctx, major)),
      load_word(minor_number, offsetof(bpf_cgroup_dev_ctx, minor)),
      instruction(BPF_ALU64 | BPF_MOV | BPF_X, access_wanted, type, 0, 0),
      instruction(BPF_ALU64 | BPF_AND | BPF_K, type, 0, 0, type_bits),
      instruction(BPF_ALU64 | BPF_RSH | BPF_K, access_wanted, 0, 0, access_shift),
      set(result, 0),
      // No node can be created, and no block device opened.
      instruction(BPF_ALU64 | BPF_AND | BPF_K, access_wanted, 0, 0, BPF_DEVCG_ACC_MKNOD),
      skip_if_equal(access_wanted, 0, 1),
      leave(),
      skip_if_equal(type, BPF_DEVCG_DEV_CHAR, 1),
      leave(),
  };
  for (const DeviceRule& rule : rules) {
    program.push_back(skip_unless_equal(major_number, rule.major, rule.minor ? 3 : 2));
    if (rule.minor) program.push_back(skip_unless_equal(minor_number, *rule.minor, 2));
    program.push_back(set(result, 1));
    program.push_back(leave());
  }
  program.push_back(leave());
  return program;
}

Status limit_devices_v1(const std::string& directory, const std::vector<DeviceRule>& rules) {
  CLOCHE_CHECK(write_control(directory + "/devices.deny", "a"));
  for (const DeviceRule& rule : rules) CLOCHE_CHECK(write_control(directory + "/devices.allow", rule_line(rule)));
  return {};
}

Status limit_devices_v2(const std::string& directory, const std::vector<DeviceRule>& rules) {
  const UniqueFd cgroup(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!cgroup) return fail_errno("open cgroup " + directory);
  const std::vector<bpf_insn> program = device_program(rules);
  constexpr char license[] = "GPL";
  bpf_attr load;
  std::memset(&load, 0, sizeof load);
  load.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  load.insns = reinterpret_cast<std::uint64_t>(program.data());
  load.insn_cnt = static_cast<std::uint32_t>(program.size());
  load.license = reinterpret_cast<std::uint64_t>(license);
  const UniqueFd loaded(static_cast<int>(call_bpf(BPF_PROG_LOAD, load)));
  if (!loaded) return without_programs("load a device program");
  bpf_attr attach;
  std::memset(&attach, 0, sizeof attach);
  attach.target_fd = static_cast<std::uint32_t>(cgroup.get());
  attach.attach_bpf_fd = static_cast<std::uint32_t>(loaded.get());
  attach.attach_type = BPF_CGROUP_DEVICE;
  // A runtime may attach one of its own: then both must allow.
  attach.attach_flags = BPF_F_ALLOW_MULTI;
  if (call_bpf(BPF_PROG_ATTACH, attach) != 0) return without_programs("attach a device program");
  return {};
}

}  // namespace cloche::oci
