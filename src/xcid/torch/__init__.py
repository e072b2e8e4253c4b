"""Neural networks: activation space, images, text; torch (the extra ``torch``) is imported when it is first needed."""

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
