"""Build an image for Skaffold without Docker's daemon: `python -m tests.cluster.skaffold_builder NAME`.

Skaffold's custom builder runs it in the source folder with the image's name in IMAGE, and asks a registry for its
digest. The nodes pull nothing, so the image is put there, too, by the name with that digest.
"""

import os
import sys
import tempfile
from pathlib import Path

from tests.cluster.ground import images
from tests.cluster.ground.cluster import Cluster
from tests.cluster.ground.errors import run


def main(name: str, image: str) -> None:
    """Build the image in the working folder by its .ci/images, push it, and have it on all nodes."""
    base = images.base_image()
    images.require_in_store(base)
    built = f"localhost/skaffold/{name}:dev"
    variables = {
        "BASE_IMAGE": base.reference,
        "BUILDER": "buildah",
        "BUILDAH_ISOLATION": "chroot",
        "IMAGE_PREFIX": "localhost/skaffold",
        "IMAGE_TAG": "dev",
        "REVISION": "skaffold",
    }
    run(["env", *(f"{key}={value}" for key, value in variables.items()), ".ci/images", name], timeout_s=600)
    with tempfile.TemporaryDirectory(prefix="market-spread-image-") as folder:
        digest, archive = Path(folder) / "digest", Path(folder) / "image.tar"
        run(["buildah", "push", "--tls-verify=false", f"--digestfile={digest}", built, f"docker://{image}"])
        run(["buildah", "push", built, f"docker-archive:{archive}:{image}"])
        for containerd in Cluster().containerds.values():
            containerd.load(archive, f"{image.rpartition(':')[0]}@{digest.read_text()}")


if __name__ == "__main__":
    main(sys.argv[1], os.environ["IMAGE"])
