// The walls: what every sandbox has, tried by real programs from the inside. Each case also does what must still work.
#include "conformance/conformance.hpp"

namespace cloche {

CONFORMANCE(Program_HasNoCapabilityNoNewPrivilegesAndASeccompFilter) {
  if (fake_has_no("walls")) return;
  in_sandbox([this](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_shell(
        sandbox, "grep -E '^(CapInh|CapPrm|CapEff|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status | tr -s '\\t ' ' '");
    EXPECT_THAT(ran.out, HasSubstr("CapPrm: 0000000000000000"));
    EXPECT_THAT(ran.out, HasSubstr("CapEff: 0000000000000000"));
    EXPECT_THAT(ran.out, HasSubstr("CapInh: 0000000000000000"));
    // gVisor is the filter itself: its guest kernel does not report either.
    if (target().is_gvisor()) co_return;
    EXPECT_THAT(ran.out, HasSubstr("CapAmb: 0000000000000000"));
    EXPECT_THAT(ran.out, HasSubstr("NoNewPrivs: 1"));
    EXPECT_THAT(ran.out, HasSubstr("Seccomp: 2"));
  });
}

CONFORMANCE(Program_CannotBecomeAnybodyElse) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_python(sandbox,
                                         "import os\n"
                                         "def tried(f, *a):\n"
                                         "    try: f(*a); return 'done'\n"
                                         "    except OSError: return 'refused'\n"
                                         "print(os.getresuid(), tried(os.setuid, 0), tried(os.setgid, 0), "
                                         "tried(os.setgroups, [0]), tried(os.setuid, 1001))\n");
    const std::string uid = std::to_string(uid_of(sandbox.spec()));
    EXPECT_EQ(ran.out, "(" + uid + ", " + uid + ", " + uid + ") refused refused refused refused\n");
  });
}

CONFORMANCE(Network_IsLoopbackAlone) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto ran =
        co_await run_python(sandbox,
                            "import socket\n"
                            "print([n for _, n in socket.if_nameindex()])\n"
                            "for host in ['192.0.2.1', '169.254.169.254', '10.0.0.1']:\n"
                            "    try: socket.create_connection((host, 80), timeout=2); print('reached', host)\n"
                            "    except OSError: pass\n"
                            "s = socket.create_server(('127.0.0.1', 0))\n"
                            "c = socket.create_connection(s.getsockname(), timeout=5); print('loopback')\n");
    EXPECT_EQ(ran.out, "['lo']\nloopback\n") << ran.err;
  });
}

CONFORMANCE(RootFilesystem_IsReadOnlyAndWorkPlacesAreNot) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto ran =
        co_await run_python(sandbox,
                            "import os\n"
                            "def can(d):\n"
                            "    try:\n"
                            "        p = os.path.join(d, 'probe'); open(p, 'w').close(); os.unlink(p); return True\n"
                            "    except OSError: return False\n"
                            "print([d for d in ['/', '/etc', '/usr', '/usr/bin', '/var', '/root', '/proc', '/sys', "
                            "'/dev', '/.cloche', '/home'] if can(d)])\n"
                            "print([d for d in ['/workspace', '/tmp', '/dev/shm'] if can(d)])\n");
    EXPECT_EQ(ran.out, "[]\n['/workspace', '/tmp', '/dev/shm']\n") << ran.err;
  });
}

CONFORMANCE(KernelSurface_IsClosed) {
  if (fake_has_no("walls")) return;
  if (target().is_gvisor())
    CLOCHE_DOES_NOT_APPLY("the kernel a program meets is gVisor's, with devices and calls of its own");
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    // Numbers of x86-64: mount, umount2, pivot_root, chroot, swapon, reboot, sethostname, init_module, kexec_load, bpf,
    // perf_event_open, keyctl, add_key, request_key, unshare(all), setns, open_by_handle_at, userfaultfd, settimeofday,
    // acct, quotactl, iopl, ioperm, mknod (a device), io_uring_setup.
    const auto ran = co_await run_python(
        sandbox,
        "import ctypes, platform\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "calls = {165: 'mount', 166: 'umount2', 155: 'pivot_root', 161: 'chroot', 167: 'swapon', 169: 'reboot',\n"
        " 170: 'sethostname', 175: 'init_module', 246: 'kexec_load', 321: 'bpf', 298: 'perf_event_open', 250: "
        "'keyctl',\n"
        " 248: 'add_key', 249: 'request_key', 308: 'setns', 304: 'open_by_handle_at', 323: 'userfaultfd',\n"
        " 164: 'settimeofday', 163: 'acct', 172: 'iopl', 173: 'ioperm', 425: 'io_uring_setup'}\n"
        "done = []\n"
        "if platform.machine() == 'x86_64':\n"
        "    buf = ctypes.create_string_buffer(b'/tmp')\n"
        "    for number, name in calls.items():\n"
        "        if libc.syscall(number, buf, buf, 0, 0, 0, 0) >= 0: done.append(name)\n"
        "    if libc.syscall(272, 0x10000000 | 0x20000) >= 0: done.append('unshare')\n"
        "    if libc.syscall(133, b'/tmp/device', 0o20666, 0x103) >= 0: done.append('mknod')\n"
        "print(done)\n");
    EXPECT_EQ(ran.out, "[]\n") << ran.err;
  });
}

CONFORMANCE(ProcAndSys_HideTheHost) {
  if (fake_has_no("walls")) return;
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto ran =
        co_await run_python(sandbox,
                            "import os\n"
                            "def opened(p, m):\n"
                            "    try: return bool(open(p, m).read(1)) if 'r' in m else bool(open(p, m))\n"
                            "    except OSError: return False\n"
                            "print([p for p in ['/proc/kcore', '/proc/keys', '/proc/timer_list', '/proc/sched_debug', "
                            "'/sys/firmware/memmap'] if opened(p, 'rb')])\n"
                            "print([p for p in ['/proc/sys/kernel/core_pattern', '/proc/sysrq-trigger', "
                            "'/proc/sys/vm/drop_caches', '/proc/irq/0/smp_affinity'] if opened(p, 'wb')])\n"
                            "print(opened('/proc/self/status', 'rb'))\n");
    EXPECT_EQ(ran.out, "[]\n[]\nTrue\n") << ran.err;
  });
}

CONFORMANCE(Devices_AreTheHarmlessOnes) {
  if (fake_has_no("walls")) return;
  if (target().is_gvisor()) CLOCHE_DOES_NOT_APPLY("the devices a program meets are gVisor's own");
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_python(sandbox,
                                         "import os, stat\n"
                                         "blocks = [e for e in os.listdir('/dev') if stat.S_ISBLK(os.stat('/dev/' + e, "
                                         "follow_symlinks=False).st_mode)]\n"
                                         "bad = [e for e in ['mem', 'kmem', 'kmsg', 'kvm', 'fuse', 'loop-control', "
                                         "'vda', 'sda', 'net/tun'] if os.path.exists('/dev/' + e)]\n"
                                         "print(blocks, bad)\n"
                                         "print(len(open('/dev/urandom', 'rb').read(8)), open('/dev/zero', "
                                         "'rb').read(1), open('/dev/null', 'rb').read())\n");
    EXPECT_EQ(ran.out, "[] []\n8 b'\\x00' b''\n") << ran.err;
  });
}

CONFORMANCE(FilesAndPlaces_AreLimitedInSize) {
  if (fake_has_no("walls")) return;
  auto roomy = spec();
  roomy.limits.memory = mib(512);
  in_sandbox(roomy, [](LiveSandbox& sandbox) -> Task<> {
    const auto ran =
        co_await run_python(sandbox,
                            "import errno, os, signal\n"
                            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
                            "def fill(place, each):\n"
                            "    total, i, why = 0, 0, None\n"
                            "    while total < 400 << 20:\n"
                            "        fd = os.open(f'{place}/{i}', os.O_CREAT | os.O_WRONLY); i += 1; size = 0\n"
                            "        try:\n"
                            "            while size < each: size += os.write(fd, b'x' * (1 << 20))\n"
                            "        except OSError as e: why = errno.errorcode[e.errno]; total += size; break\n"
                            "        finally: os.close(fd)\n"
                            "        total += size\n"
                            "    return total >> 20, why\n"
                            "print(fill('/workspace', 9 << 20), fill('/tmp', 9 << 20), fill('/dev/shm', 9 << 20))\n"
                            "os.system('rm -rf /workspace/* /tmp/*')\n"
                            "print(fill('/workspace', 100 << 20))\n");
    EXPECT_THAT(ran.out, testing::MatchesRegex(
                             "\\(6[34], 'ENOSPC'\\) \\(3[12], 'ENOSPC'\\) \\(1[56], 'ENOSPC'\\)\n\\(10, 'EFBIG'\\)\n"))
        << ran.err;
  });
}

CONFORMANCE(CpuShare_IsLimited) {
  if (fake_has_no("walls")) return;
  // How far a program counts in a second, with a whole core and with a tenth: gVisor's own clock of CPU time continues
  // while its sandbox is throttled, so only the work done is reliable.
  const auto count = [this](double cpus) {
    auto limited = spec();
    limited.limits.cpus = cpus;
    long counted = 0;
    in_sandbox(limited, [&](LiveSandbox& sandbox) -> Task<> {
      const auto ran = co_await run_python(sandbox,
                                           "import time\n"
                                           "end, n = time.monotonic() + 2, 0\n"
                                           "while time.monotonic() < end: n += 1\n"
                                           "print(n)\n");
      counted = std::atol(ran.out.c_str());
    });
    return counted;
  };
  const long whole = count(1);
  const long tenth = count(0.1);
  EXPECT_GT(tenth, 0);
  EXPECT_LT(tenth, whole / 2) << "with a whole core it came to " << whole;
}

CONFORMANCE(LimitsOfALivingSandbox_CanBeChanged) {
  if (fake_has_no("limits")) return;
  if (target().is_gvisor()) CLOCHE_DOES_NOT_APPLY("a memory kill ends a whole gVisor sandbox");
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const char* hog = "x = bytearray(200 << 20); print(len(x) >> 20)";
    const auto before = co_await run_python(sandbox, hog);
    EXPECT_EQ(before.outcome.ending, Ending::memory_limit);
    Limits larger = sandbox.spec().limits;
    larger.memory = mib(400);
    auto raised = co_await sandbox.set_limits(larger);
    EXPECT_TRUE(raised) << raised.error().message;
    const auto after = co_await run_python(sandbox, hog);
    EXPECT_EQ(after.out, "200\n") << to_string(after.outcome.ending);
    Limits absurd = larger;
    absurd.memory = {1};
    auto refused = co_await sandbox.set_limits(absurd);
    EXPECT_FALSE(refused);
  });
}

}  // namespace cloche
