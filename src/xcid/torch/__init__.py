"""Neural networks: activation space, images, text; the extra is ``torch``, imported when it is first needed."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xcid.torch.ablate import AblateLayer
    from xcid.torch.device import Device
    from xcid.torch.fills import Background, Blur, Mean, Noise, Zero
    from xcid.torch.images import ImageExplainer
    from xcid.torch.layers import LayerExplainer
    from xcid.torch.perturb import PerturbLayer
    from xcid.torch.segments import Patches, Superpixels
    from xcid.torch.text import Drop, MaskToken, TextExplainer, Tokens, words
    from xcid.torch.units import Cells, Channels
    from xcid.torch.watch import WatchLayer

__all__ = [
    "AblateLayer",
    "Background",
    "Blur",
    "Cells",
    "Channels",
    "Device",
    "Drop",
    "ImageExplainer",
    "LayerExplainer",
    "MaskToken",
    "Mean",
    "Noise",
    "Patches",
    "PerturbLayer",
    "Superpixels",
    "TextExplainer",
    "Tokens",
    "WatchLayer",
    "Zero",
    "words",
]

_HOMES = {
    "AblateLayer": "ablate",
    "Background": "fills",
    "Blur": "fills",
    "Cells": "units",
    "Channels": "units",
    "Device": "device",
    "Drop": "text",
    "ImageExplainer": "images",
    "LayerExplainer": "layers",
    "MaskToken": "text",
    "Mean": "fills",
    "Noise": "fills",
    "Patches": "segments",
    "PerturbLayer": "perturb",
    "Superpixels": "segments",
    "TextExplainer": "text",
    "Tokens": "text",
    "WatchLayer": "watch",
    "Zero": "fills",
    "words": "text",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is."""
    if name not in _HOMES:
        raise AttributeError(f"module 'xcid.torch' has no attribute {name!r}")
    found = getattr(import_module(f"xcid.torch.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
