"""Print the oldest version of each package that pyproject.toml allows, as constraints for pip.

PyTorch is left out: its oldest builds come with gigabytes of GPU libraries.
"""

import re
import tomllib
from itertools import chain
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text())
wanted = chain(
    project["project"]["dependencies"],
    *project["project"]["optional-dependencies"].values(),
    project["dependency-groups"]["test"],
)
bounds = {
    found[1]: found[2]
    for requirement in wanted
    if (found := re.fullmatch(r"([\w.-]+)(?:\[.*\])?>=([\w.]+)", requirement))
}
# Tools that judge the code rather than run it are wanted as they are now.
for name in ("mypy", "ruff", "torch"):
    del bounds[name]
print("\n".join(f"{name}=={oldest}" for name, oldest in sorted(bounds.items())))
