"""Neural networks: activation space, images, text; torch (the extra ``torch``) is imported when it is first needed."""

from xcid_torch._layer import Cells, Channels
from xcid_torch.device import Device
from xcid_torch.images import ImageExplainer
from xcid_torch.layers import AblateLayer, LayerExplainer, PerturbLayer
from xcid_torch.segments import Background, Blur, Mean, Noise, Patches, Superpixels, Zero
from xcid_torch.text import Drop, MaskToken, TextExplainer, Tokens, words
from xcid_torch.watch import WatchLayer

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
