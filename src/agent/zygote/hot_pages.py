# Pages that a run writes to before it runs any user code. Each is copied once from the zygote's; it is better to do that
# before a caller waits. This text follows run.py.
hot_pages = array.array("Q")  # addresses and lengths


def rehearse():
    """Does what a run does, without code: each page that a run writes to is copied now, not while a client waits."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.send(b"f")
        receive(theirs, 5)
    reading, writing = os.pipe()
    request = [b"/", b"8", *[b"NAME%d=value" % i for i in range(8)], b"rehearsal"]
    os.write(writing, b"".join(struct.pack("<I", len(part)) + part for part in request))
    os.close(writing)
    struct.unpack("<IIIII", bytes(20))
    given = enter(read_request(reading))
    needs_own_interpreter(*given)
    take_on(*given)
    main = type(sys)("__main__")
    main.__builtins__ = __builtins__
    exec(compile("print(sum(range(10)))", "rehearsal", "exec", dont_inherit=True), main.__dict__)
    sys.stdout.flush()
    gc.collect()
    for made in gc.get_objects():
        needs_finalizing(made)


def learn_hot_pages():
    """Lets a fork rehearse, and finds the pages that it wrote to. None if the kernel does not report them, or cannot copy
    them for others in one call."""
    size, areas = resource.getpagesize(), writable_areas()
    reading, writing = os.pipe()
    try:
        is_scout = os.fork() == 0
    except OSError:
        is_scout = False  # no process can be created now
    if is_scout:
        try:
            pagemap = os.open("/proc/self/pagemap", os.O_RDONLY)
            rehearse()
            for begin, end in areas:
                os.write(writing, os.pread(pagemap, (end - begin) // size * 8, begin // size * 8))
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as report:
        flags = array.array("Q", report.read())
    addresses = [at for begin, end in areas for at in range(begin, end, size)]
    is_its_own = 1 << 63 | 1 << 56  # present, and in no other process
    for at, flag in zip(addresses, flags if len(flags) == len(addresses) else ()):
        if flag & is_its_own != is_its_own:
            continue
        if hot_pages and hot_pages[-2] + hot_pages[-1] == at:
            hot_pages[-1] += size
        else:
            hot_pages.extend((at, size))
    if native.own_pages(*pages_to_own()) != 0:
        del hot_pages[:]


def pages_to_own():
    return hot_pages.buffer_info()[0], len(hot_pages) // 2


def writable_areas():
    with open("/proc/self/maps") as maps:
        lines = [line.split() for line in maps]
    areas = [line[0].split("-") for line in lines if line[1] == "rw-p"]
    return [(int(begin, 16), int(end, 16)) for begin, end in areas]
