"""Compiles the loops of `votedkernels._native`; without a compiler, NumPy does their work."""

from __future__ import annotations

import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("src", "votedkernels", "_native")
#: Only sums that say so may be reordered, but comparisons and zeros need not be exact to the bit.
GCC = ["-O3", "-fno-trapping-math", "-fno-math-errno", "-fno-signed-zeros", "-fopenmp-simd"]
MSVC = ["/O2"]


class CompiledLoops(BuildHookInterface):  # type: ignore[type-arg]
    """Puts the compiled loops next to their source, and names the platform of the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before a wheel, or an editable installation, is built."""
        del version
        if self.target_name != "wheel":
            return
        try:
            compile_loops(Path(self.root) / FOLDER)
        except Exception as error:  # any failure of any compiler
            print(f"votedkernels is installed without compiled loops: {error}", file=sys.stderr)
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{platform}"


def compile_loops(folder: Path) -> None:
    """Compile the loops into their folder; an older version is removed in any case."""
    from setuptools import Distribution, Extension

    for old in [*folder.glob("*.so"), *folder.glob("*.pyd")]:
        old.unlink()
    flags = MSVC if sys.platform == "win32" else GCC
    source = str(folder / "module.c")
    extension = Extension(
        "_loops", [source], depends=[str(folder / "loops.h")],
        extra_compile_args=flags, py_limited_api=True,
    )  # fmt: skip
    distribution = Distribution({"name": "loops", "ext_modules": [extension]})
    command: Any = distribution.get_command_obj("build_ext")
    with tempfile.TemporaryDirectory() as temporary:
        command.build_lib, command.build_temp = temporary, temporary
        command.ensure_finalized()
        command.run()
        for built in [*Path(temporary).glob("*.so"), *Path(temporary).glob("*.pyd")]:
            shutil.copy2(built, folder / built.name)
