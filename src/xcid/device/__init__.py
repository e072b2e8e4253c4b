"""The recommended setting on one device, as PyTorch sees it (the extra ``torch``)."""

from xcid.device.run import Device

__all__ = ["Device"]
