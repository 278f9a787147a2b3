"""SGLang's kernel that applies masks on a GPU, also on a machine without SGLang.

The plug-in calls it through SGLang. A kit carries the file of the tested version, which needs
nothing of SGLang but the number of the device's multiprocessors.
"""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from adapters.sglang_plugin.versions import SGLangApi

ROOT = Path(__file__).parents[2]
#: a kit's copy of SGLang's file
CARRIED = ROOT / ".data" / "gpu-kit" / "bitmask_ops.py"
#: the module that the file imports
_USED = "sglang.srt.utils"


def device_kernel() -> Callable[[Any, Any], None]:
    """Return the kernel: (logits, mask).

    Raises:
        ImportError: neither SGLang nor a kit's file is there, or Triton is missing.
    """
    if importlib.util.find_spec("sglang") is None and CARRIED.is_file():
        return carried_kernel(CARRIED)
    return SGLangApi("").device_kernel()


def carried_kernel(path: Path) -> Callable[[Any, Any], None]:
    """Return the kernel of this file, with stand-ins for the packages that it imports."""
    spec = importlib.util.spec_from_file_location("switchyard_bitmask_ops", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no module")
    module = importlib.util.module_from_spec(spec)
    parts = _USED.split(".")
    names = [".".join(parts[: k + 1]) for k in range(len(parts))]
    stand_ins = {name: ModuleType(name) for name in names}
    vars(stand_ins[_USED])["get_device_core_count"] = _multiprocessors
    sys.modules.update(stand_ins)
    try:
        # Triton finds a function's module by its name when it compiles
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    finally:
        for name in names:
            del sys.modules[name]
    kernel: Callable[[Any, Any], None] = module.apply_token_bitmask_inplace_triton
    return kernel


def _multiprocessors(device_id: int = 0) -> int:
    import torch

    return int(torch.cuda.get_device_properties(device_id).multi_processor_count)
