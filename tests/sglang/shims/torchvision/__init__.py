"""In place of torchvision, whose compiled operators need the same CUDA build of torch.

A model of text never calls it; only the names of the interpolation modes are looked up.
"""

import enum
import importlib

from standin import make_tree


class InterpolationMode(enum.Enum):
    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


make_tree("torchvision", "0.28.0")
for _name in ("transforms", "transforms.functional", "transforms.v2", "transforms.v2.functional"):
    _module = importlib.import_module(f"torchvision.{_name}")
    _module.InterpolationMode = InterpolationMode  # type: ignore[attr-defined]
