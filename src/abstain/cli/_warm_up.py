"""``abstain warm-up``: compile what is compiled, ahead, so that no first user waits for it."""

from __future__ import annotations

from typing import Any

import click

from abstain.cli import _options as option
from abstain.cli._output import emit


@click.command(
    "warm-up",
    epilog="Example: abstain warm-up\n\nOr with a folder of your own: NUMBA_CACHE_DIR=/opt/cache "
    "abstain warm-up",
)
@option.AS_JSON
def warm_up(*, as_json: bool) -> None:
    """Compile every kernel ahead, for container images and shared installations.

    What is compiled is kept in the folder that the environment variable NUMBA_CACHE_DIR names,
    else beside the package, else in the user's folder for caches. It is then found there also
    by other users, and where nothing can be written. A second run has nothing to do, and says
    so. Nothing but the metrics with method="sampled" is compiled; everything else runs at once.
    """
    import time

    from abstain._kernels._jit import kernels
    from abstain._numerics import progress

    start = time.perf_counter()
    ready = [kernel.ready() for kernel in progress(kernels(), "compiling")]
    facts = {
        "kernels": [
            one._asdict() | {"folder": None if one.folder is None else str(one.folder)}
            for one in ready
        ],
        "seconds": time.perf_counter() - start,
        "cpu": cpu(),
    }
    emit(facts, _lines(facts), as_json)


def _lines(facts: dict[str, Any]) -> list[str]:
    lines = []
    for one in facts["kernels"]:
        if one["compiled"]:
            lines.append(f"compiled       {one['name']} in {one['seconds']:.1f} s")
        else:
            lines.append(f"already there  {one['name']}, loaded in {one['seconds']:.2f} s")
    folders = sorted({one["folder"] or "" for one in facts["kernels"]})
    if "" in folders:
        lines.append(
            "No folder can be written, so nothing was kept: set NUMBA_CACHE_DIR to one that can."
        )
    lines += [f"cache          {folder}" for folder in folders if folder]
    lines.append(f"for CPU        {facts['cpu']}")
    done = any(one["compiled"] for one in facts["kernels"])
    nothing = "" if done else "Nothing to compile: everything was there. "
    lines.append(f"{nothing}Done in {facts['seconds']:.1f} s.")
    return lines


def cpu() -> str:
    """Return the processor that code is compiled for, as LLVM calls it."""
    from importlib import import_module

    import llvmlite.binding

    config: Any = import_module("numba.core.config")
    return str(config.CPU_NAME or llvmlite.binding.get_host_cpu_name())


def cache_facts() -> dict[str, Any]:
    """Return where compiled code is kept, whether that can be written, and whether it is there."""
    from abstain._kernels._jit import kernels
    from abstain._kernels._kept import folders, writable

    kept = [kernel.kept_in() for kernel in kernels()]
    places = folders()
    used = next((folder for folder in kept if folder is not None), None)
    if used is None:
        used = next((one for one in places.values() if writable(one)), None)
    return {
        "folder": None if used is None else str(used),
        "set_by": next((name for name, folder in places.items() if folder == used), None),
        "writable": used is not None and writable(used),
        "warm": all(folder is not None for folder in kept),
        "cpu": cpu(),
    }
