# SPDX-License-Identifier: GPL-2.0-only
"""Test suites of other projects: the commands to run, and how to read their verdicts.

A suite's run(run, only) gets a function that runs a line of shell with one of
the devices, and the tests to run, or None for all. It returns {test: (verdict,
seconds)}. Verdicts of the real and the forwarded device have to be the same."""

import hashlib
import re
import time

import gl

PIGLIT = "/usr/lib/x86_64-linux-gnu/piglit"
BATCH = 20


class Suite:
    """A test suite of another project, or a part of one that takes less than eight minutes."""

    passed = ("pass",)      # beginnings of verdicts that count for the floor
    floor = 0               # least number of tests that must pass on the real device
    exports = "gpu-"        # prefix of the names of the exports that the suite uses
    gpu = "3d"              # kind of virtio-gpu that the machine has
    draws = False           # true if it uses OpenGL: both sides must have the same renderer
    renderer = "virgl"      # prefix of that renderer's name, which the next command prints
    says_renderer = "eglinfo.x86_64-linux-gnu -B -p gbm"

    def __init__(self, name, floor=0):
        self.name = name
        self.floor = floor

    def prepare(self, machine):
        """Prepares the machine as root, once before the suite."""

    def run(self, run, only=None):
        raise NotImplementedError

    def refuses(self, row, rows):
        """Returns whether a row of the table tests a feature that forwarding refuses on purpose."""
        return False


class Shaders(Suite):
    """piglit's shader_runner, which runs many files of these folders in one process."""

    draws = True

    def __init__(self, name, folders, runner="shader_runner"):
        super().__init__(name)
        self.folders = folders
        self.runner = runner
        self.files = []

    def prepare(self, machine):
        self.files = []
        for folder, count in self.folders:
            lines = machine.must(f"cd {PIGLIT}; ls tests/spec/{folder}/*.shader_test | head -n {count}").lines
            self.files += lines

    def run(self, run, only=None):
        left = [file for file in self.files if only is None or test_name(file) in only]
        results = {}
        while left:
            batch = left[:BATCH]
            done = self._batch(run, batch)
            # The file after the last verdict was begun without an end: it has crashed or hangs.
            if len(done) < len(batch):
                done.append(("crash", 0))
            for file, result in zip(batch, done):
                results[test_name(file)] = result
            left = left[len(done):]
        return results

    def _batch(self, run, batch):
        found = []
        last = [time.monotonic()]

        def seen(line):
            verdict = re.match(r'PIGLIT: \{"(?:subtest": \{".*" : "|result": ")(\w+)"', line)
            if verdict:
                now = time.monotonic()
                found.append((verdict[1], now - last[0]))
                last[0] = now

        result = run(f"{piglit_environment()} bin/{self.runner} {' '.join(batch)} -auto -fbo 2>&1", 300, seen)
        if result.status in (126, 127):
            return [(f"crash ({result.status})", 0)] * len(batch)
        return found[:len(batch)]


class Programs(Suite):
    """piglit's other programs, each in a process of its own."""

    draws = True

    def __init__(self, name, programs):
        super().__init__(name)
        self.programs = programs

    def run(self, run, only=None):
        results = {}
        for program in self.programs:
            if only is not None and program not in only:
                continue
            start = time.monotonic()
            result = run(f"{piglit_environment()} timeout --foreground -k 5 100 bin/{program} -auto -fbo 2>&1", 120)
            verdicts = re.findall(r'PIGLIT: \{"result": "(\w+)"', result.text)
            subtests = re.findall(r'PIGLIT: \{"subtest": \{"(.*)" : "(\w+)"', result.text)
            verdict = verdicts[-1] if verdicts else f"crash ({result.status})"
            if subtests:
                verdict += " " + digest("\n".join(" ".join(subtest) for subtest in subtests))
            results[program] = (verdict, time.monotonic() - start)
        return results


class Commands(Suite):
    """Programs whose exit status and output are the verdict."""

    def __init__(self, name, commands, *, floor=0, keep=None, draws=False):
        """keep: regular expression for the parts of the output that count; default: all of it"""
        super().__init__(name, floor)
        self.draws = draws
        self.commands = commands
        self.keep = keep

    passed = ("exit 0",)

    def run(self, run, only=None):
        results = {}
        for name, command in self.commands:
            if only is not None and name not in only:
                continue
            start = time.monotonic()
            result = run(command + " 2>&1", 200)
            text = plain(result.text)
            if self.keep:
                text = "\n".join(dict.fromkeys(re.findall(self.keep, text, re.MULTILINE)))
            results[name] = (f"exit {result.status} {digest(text)}", time.monotonic() - start)
        return results


class Venus(Commands):
    """Programs that use Vulkan, by Mesa's driver Venus, and a window."""

    gpu = "venus"


class Zink(Venus):
    """Programs that use OpenGL through Mesa's zink on Venus. They name no DRM node: zink takes the
    device that Vulkan offers."""

    renderer = "zink Vulkan 1.2(Virtio-GPU Venus"
    says_renderer = f"{gl.ZINK} eglinfo.x86_64-linux-gnu -B -p surfaceless"


class Lines(Suite):
    """A program that prints one line for each test; the lines that match a pattern are verdicts."""

    def __init__(self, name, command, pattern, *, passed, floor=0, draws=False):
        super().__init__(name, floor)
        self.draws = draws
        self.command = command
        self.pattern = re.compile(pattern)
        self.passed = passed

    def run(self, run, only=None):
        results = {}
        last = [time.monotonic()]

        def seen(line):
            # Progress messages, each ended by a carriage return, precede the verdict in its line.
            match = self.pattern.match(plain(line).rpartition("\r")[2])
            if match:
                now = time.monotonic()
                name = match["test"].strip()
                number = 2
                while name in results:
                    name = f"{match['test'].strip()} ({number})"
                    number += 1
                results[name] = (match["verdict"], now - last[0])
                last[0] = now

        result = run(self.command + " 2>&1", 400, seen)
        results["ends"] = (f"exit {result.status}", time.monotonic() - last[0])
        return results


class Video(Lines):
    """v4l2-compliance on a node of vivid, the driver of a test camera."""

    def __init__(self, name, node, floor):
        super().__init__(name, f"v4l2-compliance -d ${node.upper()} -s10",
                         r"\s*test (?P<test>.*): (?P<verdict>OK.*|FAIL|\S+)$",
                         passed=("OK", "OK (Not Supported)"), floor=floor)
        self.node = node
        self.exports = "conf-" + node

    def prepare(self, machine):
        prepare_camera(machine)

    def refuses(self, row, rows):
        """Returns whether the row fails because forwarding refuses buffers in a program's memory
        (USERPTR), see Documentation/internals/schemas.rst."""
        real, forwarded = set(row["real"]), set(row["forwarded"])
        if row["test"].startswith("USERPTR "):
            return real <= {"OK", "missing"} and forwarded == {"OK (Not Supported)"}
        # v4l2-compliance tests the inputs after the first only with the last kind of memory that
        # works. This kind is MMAP if USERPTR is refused.
        number = re.fullmatch(r"MMAP \(epoll, CREATE_BUFS\)( \(\d+\))", row["test"])
        beside = number and [other for other in rows if other["test"] == "USERPTR (no poll)" + number[1]]
        return bool(beside) and real == {"missing"} and forwarded == {"OK"} and (
            set(beside[0]["real"]) == {"missing"} and self.refuses(beside[0], rows))


class Camera(Commands):
    """Programs that use the nodes of vivid."""

    exports = "conf-video"

    def prepare(self, machine):
        prepare_camera(machine)


def prepare_camera(machine):
    """Loads vivid and exports its nodes."""
    machine.must("modprobe vivid n_devs=1 node_types=0x101", 60)
    offer(machine, ["video0", "video1"], "video4linux")
    if machine.run("[ -c /dev/media0 ]").status == 0:
        offer(machine, ["media0"])


class Sound(Commands):
    """alsabat through snd-aloop: the sound that is played is recorded again and must be the same
    tone."""

    nodes = ("snd/controlC0", "snd/pcmC0D0p", "snd/pcmC0D1c")
    exports = "conf-snd-"

    def prepare(self, machine):
        machine.must("modprobe snd-aloop", 60)
        offer(machine, self.nodes, "sound")


def offer(machine, nodes, link="name"):
    """Exports devices of a loopback VM to itself as conf-NAME, and waits for them. link: file in
    sysfs that a device has as soon as its node is complete, named after the node's class"""
    for node in nodes:
        name = "conf-" + node.replace("/", "-")
        there = f"f=$(grep -lx {name} /sys/class/vgpu/*/name) && [ -e ${{f%/name}}/{link} ]"
        if machine.run(there).status == 0:
            continue
        machine.must(f"vgpuctl export /dev/{node} --to 1 --name {name}")
        machine.must(f"i=0; until {there}; do i=$((i + 1)); [ $i -lt 200 ] || exit 1; busybox usleep 50000; done", 60)


def piglit_environment():
    return f"cd {PIGLIT}; PIGLIT_PLATFORM=gbm PIGLIT_SOURCE_DIR={PIGLIT} LD_LIBRARY_PATH={PIGLIT}/lib"


def picture(test):
    """Returns a command that prints the digest of the picture that shader_runner draws for a
    test."""
    return (f"d=$(mktemp -d); {piglit_environment().replace('cd ' + PIGLIT, 'cd $d')} "
            f"LD_PRELOAD={gl.TOOLS}/piglit_png.so {PIGLIT}/bin/shader_runner "
            f"{PIGLIT}/tests/spec/{test}.shader_test -auto -fbo -png && sha256sum *.png")


# Output of this project's programs without the number of dispatches in a second.
UNTIMED = r"^\d+ dispatches, .* all right|^(?!\d+ dispatches).+"


def test_name(file):
    return re.sub(r"^tests/spec/|\.shader_test$", "", file)


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def plain(text):
    """Replaces the parts of a program's output that may differ: names and numbers of nodes, the PCI
    domain, the amount of free memory, and the number of a mode, which differs because the previous
    one is still in use."""
    text = re.sub(r"(free aux. memory - total: )\d+ MB, largest block: \d+ MB", r"\1SOME", text)
    text = re.sub(r'("MODE_ID" \(atomic\): blob) = [1-9]\d*', r"\1 = N", text)
    text = re.sub(r"(/(?:card|renderD|video))\d+\b", r"\1N", text)
    text = re.sub(r"((?:primaryMinor|renderMinor|pciDomain) +)= \d+", r"\1= N", text)
    return re.sub(r'"domain": \d+', '"domain": N', text)


# piglit is divided into parts that take less than eight minutes each.
GLSL = [
    Shaders("piglit-glsl-1.10", [("glsl-1.10/execution", 60)]),
    Shaders("piglit-glsl-1.30", [("glsl-1.20/execution", 30), ("glsl-1.30/execution", 30)]),
    Shaders("piglit-glsl-1.50", [("glsl-1.50/execution", 12), ("glsl-1.50/execution/geometry", 12)])]
FEATURES = [
    Shaders("piglit-compute", [
        ("arb_compute_shader/execution", 20), ("arb_shader_storage_buffer_object/execution", 14)]),
    Shaders("piglit-stages", [
        ("arb_tessellation_shader/execution", 16), ("arb_gpu_shader5/execution", 14),
        ("arb_gpu_shader_fp64/execution", 14)]),
    Shaders("piglit-inputs", [
        ("arb_uniform_buffer_object", 10), ("glsl-1.40/uniform_buffer", 14), ("ext_texture_array", 14),
        ("glsl-1.10/execution/samplers", 20), ("arb_fragment_program", 10), ("arb_vertex_program", 10)])]
API = [
    Programs("piglit-buffers", """
    arb_copy_buffer-data-sync arb_copy_buffer-overlap arb_copy_buffer-subdata-sync arb_copy_buffer-intra-buffer-copy
    arb_clear_buffer_object-formats arb_draw_indirect-draw-arrays arb_draw_indirect-draw-elements
    arb_instanced_arrays-drawarrays arb_shader_atomic_counters-semantics arb_shader_storage_buffer_object-rendering
    arb_shader_storage_buffer_object-minmax arb_texture_buffer_object-data-sync
    arb_texture_buffer_object-subdata-sync arb_texture_buffer_object-formats arb_transform_feedback2-draw-auto
    arb_transform_feedback2-pause-counting arb_uniform_buffer_object-rendering
    arb_vertex_buffer_object-ib-data-sync arb_vertex_buffer_object-ib-subdata-sync
    arb_vertex_buffer_object-map-after-draw arb_vertex_buffer_object-vbo-subdata-many
    arb_vertex_buffer_object-mixed-immediate-and-vbo bufferstorage-persistent copybuffersubdata attribs
    """.split()),
    Programs("piglit-textures", """
    arb_compute_shader-indirect-compute arb_compute_shader-render-and-compute
    arb_clear_texture-simple arb_clear_texture-float arb_copy_image-simple arb_framebuffer_no_attachments-atomic
    arb_get_texture_sub_image-get arb-provoking-vertex-render
    arb_sync-client-wait-errors arb_sync-repeat-wait arb_sync-timeout-zero
    arb_sync-ClientWaitSync-timeout arb_texture_view-rendering-target arb_texture_multisample-texelfetch
    arb_timer_query-timestamp-get arb_viewport_array-render-viewport copyteximage copytexsubimage clearbuffer-depth
    cubemap array-texture blendminmax depth-tex-compare
    """.split())]
DRAWN = Commands("piglit-pictures", [(test, picture(test)) for test in """
    glsl-1.10/execution/color-interp-smooth-shademodel-flat glsl-1.10/execution/fragcoord_w
    glsl-1.10/execution/fs-dfdx-accuracy glsl-1.10/execution/glsl-fs-convolution-1
    glsl-1.10/execution/glsl-fs-normalmatrix glsl-1.10/execution/glsl-gnome-shell-dim-window
    glsl-1.10/execution/really-big-triangle glsl-1.10/execution/samplers/glsl-fs-lots-of-tex
    glsl-1.10/execution/samplers/glsl-fs-sampler-numbering-2 glsl-1.10/execution/samplers/glsl-fs-shadow1D-01
    glsl-1.10/execution/texture3D glsl-1.30/execution/fs-discard-exit-1 glsl-1.40/uniform_buffer/fs-mat4
    glsl-1.40/uniform_buffer/fs-struct-copy glsl-1.50/execution/geometry/clip-distance-out-values
    ext_texture_array/glsl-fs-shadow1DArray ext_texture_array/glsl-fs-shadow2DArray
    ext_texture_array/glsl-fs-shadow2DArray-07 ext_texture_array/render-2darray
    arb_tessellation_shader/execution/16in-1out arb_tessellation_shader/execution/fs-primitiveid-instanced
    arb_shader_storage_buffer_object/execution/indirect arb_shader_storage_buffer_object/execution/ssbo-atomicExchange-int
    """.split()], keep=r'"result": "\w+"|^[0-9a-f]{64} .*', floor=18, draws=True)
GLMARK = Lines("glmark2", "glmark2-es2-drm --off-screen --validate " + " ".join("-b " + scene for scene in """
    build:use-vbo=false build:use-vbo=true texture:texture-filter=nearest texture:texture-filter=linear
    texture:texture-filter=mipmap shading:shading=gouraud shading:shading=blinn-phong-inf shading:shading=phong
    bump:bump-render=normals bump:bump-render=height effect2d:kernel=0,1,0;1,-4,1;0,1,0; pulsar
    buffer:update-method=map buffer:update-method=subdata conditionals function loop
    """.replace(";", "\\;").split()), r"\[(?P<test>.*)\] .*Validation: (?P<verdict>\w+)", passed=("Success",), floor=4, draws=True)
KMSCUBE = Commands("kmscube", [
    (name, gl.kmscube("$CARD", "40 " + options)) for name, options in (
        ("legacy", ""), ("atomic", "-A"), ("textured", "-M rgba"), ("multisampled", "-s 4"), ("surfaceless", "-x"))],
    keep=r"renderer: .*|Rendered 39 frames", floor=4, draws=True)
# A mode stays set when the program ends, so the tests that print modes come after those that set
# one.
MODETEST = Commands("modetest", [
    ("set mode", "modetest -M virtio_gpu -s $(modetest -M virtio_gpu -c | sed -n 's/^\\([0-9]*\\)\\t[0-9]*\\tconnected.*/\\1/p'"
                 " | head -n1):1024x768"),
    ("set mode, atomic", "modetest -M virtio_gpu -a -s $(modetest -M virtio_gpu -c | "
                         "sed -n 's/^\\([0-9]*\\)\\t[0-9]*\\tconnected.*/\\1/p' | head -n1):1024x768"),
    ("encoders", "modetest -M virtio_gpu -e"), ("connectors", "modetest -M virtio_gpu -c"),
    ("planes", "modetest -M virtio_gpu -p"), ("framebuffers", "modetest -M virtio_gpu -f"),
], floor=5)
DRM_INFO = Commands("drm_info", [("text", "drm_info $CARD"), ("json", "drm_info -j $CARD")], floor=2)
EGLINFO = Commands("eglinfo", [
    (platform, f"eglinfo.x86_64-linux-gnu -p {platform}") for platform in ("gbm", "surfaceless", "device")], floor=2)
LIBDRM = Commands("libdrm-tests", [
    ("proptest", "proptest -M virtio_gpu"), ("vbltest", "vbltest -M virtio_gpu")], floor=1)
WFLINFO = Commands("wflinfo", [
    (f"{platform} {api}", f"wflinfo -p {platform} -a {api}")
    for platform in ("gbm", "surfaceless_egl") for api in ("gl", "gles2", "gles3")], floor=6, draws=True)
# Scenes of this project's program render.
SCENES = ("cube", "textured", "blended", "fractal", "computed")
PICTURES = Commands("pictures", [
    *((scene, f"cd $(mktemp -d) && {gl.TOOLS}/render $RENDER . {scene} && sha256sum <{scene}.png")
      for scene in SCENES),
    ("compute", gl.compute("$RENDER", 30))], keep=UNTIMED, floor=6, draws=True)
# Commands on the test camera. The last one turns off the time that vivid writes into frames.
CAMERA = Camera("v4l2-ctl", [
    ("capture", "v4l2-ctl -d $VIDEO0 --stream-mmap=4 --stream-count=20"),
    ("capture, poll", "v4l2-ctl -d $VIDEO0 --stream-mmap=4 --stream-poll --stream-count=20"),
    ("output", "v4l2-ctl -d $VIDEO1 --stream-out-mmap=4 --stream-count=20"),
    ("frames", "f=$(mktemp) && v4l2-ctl -d $VIDEO0 -i 0 -c osd_text_mode=2 -v width=640,height=360,pixelformat=YUYV "
               "--stream-mmap=4 --stream-count=3 --stream-to=$f && sha256sum <$f"),
], keep=r"VIDIOC_.*|^[0-9a-f]{64}", floor=4)
VIDEO0 = Video("v4l2-compliance-0", "video0", 48)
VIDEO1 = Video("v4l2-compliance-1", "video1", 75)
SOUND = Sound("alsabat", [
    ("tone", "alsabat -P plughw:$SOUND,0 -C plughw:$SOUND,1 -r 48000 -f S16_LE -c 1 -n 32768 -F 1000"),
    ("other rate", "alsabat -P plughw:$SOUND,0 -C plughw:$SOUND,1 -r 44100 -f S16_LE -c 1 -n 16384 -F 440"),
], keep=r"PASS|FAIL|Return value is .*|Detected peak freq.*|Channel \d.*", floor=2)

VULKANINFO = Venus("vulkaninfo", [
    ("summary", f"{gl.VENUS} vulkaninfo --summary"), ("all", f"{gl.VENUS} vulkaninfo")], floor=2)
VULKAN = Venus("vulkan", [
    ("compute", gl.vulkan("$RENDER", 30))], keep=UNTIMED, floor=1)
ZINK = Zink("zink", [
    ("compute", f"{gl.ZINK} {gl.compute('any', 10)}"),
    *((scene, f"cd $(mktemp -d) && {gl.ZINK} {gl.TOOLS}/render any . {scene} && sha256sum <{scene}.png")
      for scene in SCENES)], keep=UNTIMED, floor=6, draws=True)

SUITES = [EGLINFO, PICTURES, KMSCUBE, MODETEST, DRM_INFO, LIBDRM, WFLINFO, GLMARK,
          *GLSL, *FEATURES, *API, DRAWN, CAMERA, VIDEO0, VIDEO1, SOUND, VULKANINFO, VULKAN, ZINK]
# Suites that take seconds and whose programs every test VM has: `run` has beds for them.
SHORT = {"suites": [EGLINFO, PICTURES, KMSCUBE, MODETEST, DRM_INFO], "vulkan": [VULKANINFO, VULKAN, ZINK]}
# Least number of tests in all of these suites, and of tests that must pass on the real device.
PIGLIT_SUITES = [suite.name for suite in (*GLSL, *FEATURES, *API)]
PIGLIT_TESTS = 300
PIGLIT_FLOOR = 120
