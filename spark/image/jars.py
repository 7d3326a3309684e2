"""While the image is built: strip native code of other machines from the jars, and add one jar that names them all.

The JVM uses a class archive only with the class path that it was made for, in the same order; `jars/*` has the order
of the file system. So the jars move to `jars/all`, and `jars/` has one that names them in its manifest.
"""

import platform
import sys
import zipfile
from pathlib import Path

# The jars with native code for many platforms, and which of it is kept.
NATIVE = {
    "x86_64": {"rocksdbjni": "librocksdbjni-linux64.so", "zstd-jni": "linux/amd64/"},
    "aarch64": {"rocksdbjni": "librocksdbjni-linux-aarch64.so", "zstd-jni": "linux/aarch64/"},
}
ENDINGS = (".so", ".dll", ".jnilib", ".dylib")
# A line of a manifest has at most 72 bytes; a line that begins with a blank continues the previous one.
LINE_BYTES = 72


def main(folder: Path) -> None:
    """Process the jars in a folder."""
    for name, kept in NATIVE[platform.machine()].items():
        (jar,) = folder.glob(f"{name}-*.jar")
        slim(jar, kept)
    everything = folder / "all"
    everything.mkdir()
    jars = sorted(folder.glob("*.jar"))
    for jar in jars:
        jar.rename(everything / jar.name)
    line = "Class-Path: " + " ".join(f"all/{jar.name}" for jar in jars)
    # Every line is its first byte, a blank in all but the first one, and as many more as fit.
    folded = line[0] + "\n ".join(line[at : at + LINE_BYTES - 1] for at in range(1, len(line), LINE_BYTES - 1))
    with zipfile.ZipFile(folder / "all.jar", "w") as names:
        names.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\n{folded}\n")


def slim(jar: Path, kept: str) -> None:
    """Remove a jar's native libraries, except those whose path begins with `kept`."""
    unfinished = jar.with_suffix(".slim")
    with zipfile.ZipFile(jar) as whole, zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as rest:
        for entry in whole.infolist():
            if not entry.filename.endswith(ENDINGS) or entry.filename.startswith(kept):
                rest.writestr(entry, whole.read(entry))
    unfinished.replace(jar)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
