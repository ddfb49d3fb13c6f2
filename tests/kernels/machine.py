"""One start of a kernel in an emulated machine, and what came out of it."""
import os
import shutil
import subprocess
import time

from fetch import Missing

QEMU = "qemu-system-x86_64"
# cmpxchg16b is emulated badly in QEMU 7.2 with several CPUs: kernels fault on it.
MEMORY_MB = 1536
LIMIT_SECONDS = 300


class Start:
    """Starts at once; finish() waits for its end, within its time."""

    def __init__(self, kernel, images, append, log):
        if not shutil.which(QEMU):
            raise Missing(f"{QEMU} is not installed; tools/packages test-all installs it")
        os.makedirs(log, exist_ok=True)
        self.log = log
        self.image = os.path.join(log, "image")
        self.begin = time.monotonic()
        with open(self.image, "wb") as out:
            for path in images:
                with open(path, "rb") as f:
                    shutil.copyfileobj(f, out)
                out.write(bytes(-out.tell() % 512))
        with open(os.path.join(log, "qemu"), "wb") as said:
            self.process = subprocess.Popen(
                [QEMU, "-M", "pc", "-accel", "tcg,thread=multi", "-cpu", "max,cx16=off",
                 "-smp", "2", "-m", str(MEMORY_MB), "-nodefaults", "-no-reboot", "-display", "none",
                 "-kernel", os.path.join(kernel, "vmlinuz"), "-initrd", self.image,
                 "-append", f"console=ttyS0 quiet panic=-1 {append}",
                 "-serial", f"file:{log}/console", "-serial", f"file:{log}/said"],
                stdin=subprocess.DEVNULL, stdout=said, stderr=said)

    def stop(self):
        self.process.kill()
        self.process.wait()
        if os.path.exists(self.image):
            os.unlink(self.image)

    def finish(self):
        """What it said on its second serial line, whether it came too late, the seconds."""
        late = False
        try:
            self.process.wait(max(1, self.begin + LIMIT_SECONDS - time.monotonic()))
        except subprocess.TimeoutExpired:
            late = True
        self.stop()
        with open(os.path.join(self.log, "said"), encoding="utf-8", errors="replace") as f:
            said = f.read().replace("\r", "")
        return said, late, time.monotonic() - self.begin
