"""Images that attack the host that unpacks them: `docker save` archives and OCI layouts, unpacked by root."""
import gzip
import hashlib
import json
import os
import pathlib
import stat
import subprocess
import tempfile
import time

import hostile_tar as tar
import house
import pytest


# Made on the host by names that lead out, if they do.
ESCAPED = pathlib.Path("/tmp/cloche-hostile-new")


@pytest.fixture
def place():
    """A directory with a canary in it, and all of a `cloche run` of its own."""
    house.need_crun(__name__)
    with tempfile.TemporaryDirectory(prefix="cloche-images-") as made:
        path = pathlib.Path(made)
        path.chmod(0o755)
        (path / "outside").mkdir()
        (path / "outside" / "canary").write_text("kept\n")
        (path / "main.sh").write_text("echo ran\n")
        ESCAPED.unlink(missing_ok=True)
        yield path
        ESCAPED.unlink(missing_ok=True)


def sha(data):
    return hashlib.sha256(data).hexdigest()


def config_of(*layers):
    return json.dumps({"rootfs": {"type": "layers", "diff_ids": ["sha256:" + sha(layer) for layer in layers]}}).encode()


def docker_archive(path, *layers, config=None, manifest=None, more=b""):
    names = [f"layer{i}.tar" for i in range(len(layers))]
    manifest = manifest if manifest is not None else [{"Config": "config.json", "Layers": names}]
    data = tar.file("manifest.json", json.dumps(manifest).encode())
    data += tar.file("config.json", config if config is not None else config_of(*layers))
    data += b"".join(tar.file(name, layer) for name, layer in zip(names, layers))
    path.write_bytes(more + data + tar.END)
    return path


def oci_layout(path, *layers, tamper=None, depth=0):
    blobs = path / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def put(data):
        (blobs / sha(data)).write_bytes(data)
        return "sha256:" + sha(data)
    config = put(config_of(*layers))
    manifest = put(json.dumps({"config": {"digest": config}, "layers": [{"digest": put(each)} for each in layers]}).encode())
    kind = "application/vnd.oci.image.manifest.v1+json"
    for _ in range(depth):
        manifest = put(json.dumps({"manifests": [{"mediaType": kind, "digest": manifest}]}).encode())
        kind = "application/vnd.oci.image.index.v1+json"
    (path / "index.json").write_text(json.dumps({"manifests": [{"mediaType": kind, "digest": manifest}]}))
    (path / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    if tamper:
        tamper(blobs, layers)
    return path


def run(place, image):
    """`cloche run` with the image. The program need not start: what is unpacked is what is looked at."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CLOCHE_", "DOCKER_"))}
    environment |= {"CLOCHE_STATE_DIR": str(place / "state"), "CLOCHE_RUN_DIR": str(place / "run")}
    begun = time.monotonic()
    ended = subprocess.run([house.PROGRAM, "run", "--image", str(image), "--runtime", "crun", "--timeout", "5",
                            str(place / "main.sh")], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           stdin=subprocess.DEVNULL, text=True, timeout=60, check=False)
    assert time.monotonic() - begun < 30
    assert (place / "outside" / "canary").read_text() == "kept\n", "the canary was changed"
    assert os.listdir(place / "outside") == ["canary"], "something was written outside"
    return ended


def roots(place):
    """Root filesystems that were unpacked and kept."""
    return [root for root in (place / "state").rglob("rootfs") if root.is_dir()]


def refused(place, image):
    ended = run(place, image)
    assert ended.returncode in (64, 69, 70), (ended.returncode, ended.stderr)
    assert not roots(place), "a refused image was kept"
    assert not [draft for draft in (place / "state").rglob(".draft-*")], "a draft is left"
    return ended.stderr


GOOD = tar.header("bin", b"5", mode=0o755) + tar.file("bin/x", b"x") + tar.END


def test_control__an_honest_image_is_unpacked(place):
    """A host that refuses every image would pass every case below."""
    run(place, docker_archive(place / "image.tar", GOOD))
    (root,) = roots(place)
    assert (root / "bin" / "x").read_bytes() == b"x"
    run(place, oci_layout(place / "layout", GOOD + bytes(512)))
    assert len(roots(place)) == 2


def layers_of(out):
    """Each with the place of the canary, absolute and relative."""
    up = "../" * 20 + out.lstrip("/")
    return {
        "a link and a file through it": tar.link("l", out) + tar.file("l/new"),
        "a relative link and a file through it": tar.link("l", up) + tar.file("l/new"),
        "a link in a link's place": tar.link("a", out) + tar.link("b", "a") + tar.file("b/canary"),
        "a directory in a link's place": tar.link("l", out) + tar.header("l", b"5", mode=0) + tar.file("l/new"),
        "a whiteout through a link": tar.link("l", out) + tar.file("l/.wh.canary", b""),
        "an opaque whiteout through a link": tar.link("l", out) + tar.file("l/.wh..wh..opq", b""),
        "a whiteout of a link": tar.link("l", out) + tar.file(".wh.l", b""),
        "a hard link through a link": tar.link("l", out) + tar.hard_link("h", "l/canary") + tar.file("h", b"changed"),
        "a hard link to a link": tar.link("l", out + "/canary") + tar.hard_link("h", "l") + tar.file("h", b"changed"),
        "a mode through a link": tar.link("l", out) + tar.header("l/", b"5", mode=0o777),
    }


@pytest.mark.parametrize("how", layers_of("/x"))
def test_layer_with_links_that_lead_out__stays_in_its_root(place, how):
    """tries: to write, remove, link or change what is outside, by way of links in a layer, as root on the host.
    must: whatever becomes of the image, nothing outside is touched.
    """
    layer = layers_of(str(place / "outside"))[how] + tar.END
    mode = (place / "outside").stat().st_mode
    run(place, docker_archive(place / "image.tar", layer))
    run(place, docker_archive(place / "second.tar", tar.link("l", str(place / "outside")) + tar.END,
                              tar.file("l/.wh.canary", b"") + tar.file("l/new") + tar.END))
    assert (place / "outside").stat().st_mode == mode


OUT = {
    "an absolute name": tar.file("/tmp/cloche-hostile-new"),
    "a name with two dots": tar.file("../../../../../../../../tmp/cloche-hostile-new"),
    "two dots in the middle": tar.file("a/../../../../../../../../tmp/cloche-hostile-new"),
    "a whiteout of two dots": tar.file("a/.wh...", b""),
    "a whiteout of a dot": tar.file("a/.wh..", b""),
    "a whiteout of nothing": tar.file("a/.wh.", b""),
    "a hard link with two dots": tar.hard_link("h", "../../../../../../../../etc/passwd"),
    "a hard link to a directory": tar.header("d", b"5", mode=0o755) + tar.hard_link("h", "d"),
    "a hard link to nothing": tar.hard_link("h", ""),
    "a file of 10 TB": tar.header("big", size_field=b"\x80" + (10 << 40).to_bytes(11, "big")),
    "half a file": tar.header("x", size=100_000) + bytes(100),
    "noise": bytes(range(256)) * 20,
    "a name of 20,000 levels": tar.pax(path="a/" * 20_000 + "f") + tar.file("f"),
}


@pytest.mark.parametrize("how", OUT)
def test_layer_with_names_that_lead_out__is_refused(place, how):
    """tries: absolute names, two dots, whiteouts and hard links of them, sizes that are lies.
    must: refused or kept within its root; no draft is left, nothing is made on the host.
    """
    ended = run(place, docker_archive(place / "image.tar", OUT[how] + (b"" if how == "half a file" else tar.END)))
    assert not os.path.lexists(ESCAPED)
    if how not in ("an absolute name", "a hard link to nothing"):
        assert ended.returncode in (64, 69, 70) and not roots(place), ended.stderr
    assert not list((place / "state").rglob(".draft-*"))


def test_devices_and_special_modes__do_not_get_into_a_root(place):
    """tries: device nodes, setuid and setgid programs. must: no device; modes without them."""
    layer = (tar.header("dev", b"5", mode=0o755) + tar.header("dev/sda", b"4", devices=b"0000010\x000000000\0")
             + tar.header("dev/mem", b"3", devices=b"0000001\x000000001\0") + tar.header("pipe", b"6")
             + tar.file("su", b"x", mode=0o6755) + tar.END)
    run(place, docker_archive(place / "image.tar", layer))
    (root,) = roots(place)
    for found in root.rglob("*"):
        about = found.lstat()
        assert stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode) or stat.S_ISLNK(about.st_mode), found
        assert not about.st_mode & (stat.S_ISUID | stat.S_ISGID), found
    assert (root / "su").exists()


MANIFESTS = {
    "a layer with two dots": [{"Config": "config.json", "Layers": ["../" * 15 + "etc/passwd"]}],
    "a layer with an absolute name": [{"Config": "config.json", "Layers": ["/etc/passwd"]}],
    "a configuration outside": [{"Config": "../" * 15 + "etc/passwd", "Layers": ["layer0.tar"]}],
    "a directory for a layer": [{"Config": "config.json", "Layers": ["."]}],
    "no image": [], "two images": [{"Config": "config.json", "Layers": []}] * 2, "something else": {"a": 1},
    "a number for a layer": [{"Config": "config.json", "Layers": [1]}], "no configuration": [{"Layers": ["layer0.tar"]}],
}


@pytest.mark.parametrize("how", MANIFESTS)
def test_manifest_that_names_files_outside__is_refused(place, how):
    """tries: files of the host as layers or configuration. must: refused; not a byte of them is told."""
    told = refused(place, docker_archive(place / "image.tar", GOOD, manifest=MANIFESTS[how]))
    assert "root:" not in told and "kept" not in told


def test_files_of_an_archive_that_are_links__lead_nowhere(place):
    """tries: manifest, configuration and layer as links to files of the host. must: refused."""
    for name in ("manifest.json", "config.json", "layer0.tar"):
        image = docker_archive(place / f"{name}.image", GOOD)
        image.write_bytes(image.read_bytes()[:-1024] + tar.link(name, "/etc/passwd") + tar.END)
        assert "root:" not in refused(place, image)


@pytest.mark.parametrize("what", ["layer", "configuration", "manifest"])
def test_content_other_than_its_digest__is_refused(place, what):
    """tries: a blob whose content was changed after it was named. must: refused, and said."""
    def tamper(blobs, layers):
        names = {"layer": sha(layers[0]), "configuration": sha(config_of(*layers))}
        if what == "manifest":
            names["manifest"] = next(blob.name for blob in blobs.iterdir() if b'"layers": [{' in blob.read_bytes())
        path = blobs / names[what]
        path.write_bytes(path.read_bytes().replace(b"x", b"y", 1) + b" ")
    assert "digest" in refused(place, oci_layout(place / "layout", GOOD, tamper=tamper))


def test_diff_id_of_another_content__is_refused(place):
    """tries: a layer other than the configuration lists. must: refused, and said."""
    told = refused(place, docker_archive(place / "image.tar", GOOD, config=config_of(b"another")))
    assert "does not match" in told


def test_indexes_within_indexes__end(place):
    """tries: an index that leads to an index that leads to an index. must: refused at a depth."""
    assert "too deeply" in refused(place, oci_layout(place / "layout", GOOD, depth=10))


def test_bomb_of_zeros__ends_at_what_it_says(place):
    """tries: 200 MB of zeros in 200 kB, behind the end of a layer and in place of a configuration.
    must: refused or unpacked to what the layer says; the disk holds no more than that.
    """
    layer = GOOD + bytes(200 << 20)
    packed = gzip.compress(layer)
    run(place, docker_archive(place / "image.tar", packed, config=config_of(layer)))
    held = sum(path.lstat().st_size for root in roots(place) for path in root.rglob("*") if path.is_file())
    assert held < 1 << 20, held
    big = b'{"x": "' + bytes(20 << 20) + b'"}'
    image = docker_archive(place / "big.tar", GOOD, config=big)
    assert run(place, image).returncode in (64, 69, 70)


def test_archive_cut_short__is_refused(place):
    """tries: the first half of an image. must: refused; the whole one is taken afterwards."""
    image = docker_archive(place / "image.tar", GOOD)
    whole = image.read_bytes()
    for size in (0, 100, 512, len(whole) // 2, len(whole) - 1600):
        image.write_bytes(whole[:size])
        refused(place, image)
    image.write_bytes(whole)
    run(place, image)
    assert len(roots(place)) == 1
