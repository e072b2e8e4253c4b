"""A network that is asked and given back as it was: evaluation mode, no gradients, its own device and precision."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xcid._check import as_int
from xcid._require import require
from xcid.errors import InvalidData, InvalidParameter, ModelError, XcidError
from xcid.records import Array
from xcid.torch._memory import halved

AT_ONCE = 256  # inputs of a call
SUM_TOLERANCE = 1e-2  # of probabilities in half precision

Tensor = Any
Answer = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A module behind a checked call.

    Attributes
    ----------
    model : torch.nn.Module
    device, dtype :
        Of its weights: inputs are brought there.
    answer : callable or None
        From what the module gives to (n, k) or (n,) answers, as tensors; None until :meth:`settled`.
    at_once : int
        Inputs of a call; less where the memory does not suffice.
    """

    model: Any
    device: Any
    dtype: Any
    answer: Answer | None
    at_once: int

    @classmethod
    def of(cls, model: Any, answer: Answer | None, at_once: int) -> Network:
        """Check a model."""
        torch = require("torch", extra="torch")
        if not isinstance(model, torch.nn.Module):
            raise InvalidParameter(
                f"this explains a torch.nn.Module, not {type(model).__name__}: use xcid.Explainer for other models"
            )
        weights = [weight for part in (model.parameters(), model.buffers()) for weight in part]
        devices = sorted({str(weight.device) for weight in weights})
        if len(devices) > 1 and not hasattr(model, "hf_device_map"):
            raise InvalidParameter(
                f"the weights of the model lie on several devices ({', '.join(devices)}): bring them together by "
                "model.to(device)"
            )
        like = next((weight for weight in weights if weight.is_floating_point()), torch.empty(0))
        return cls(model, like.device, like.dtype, answer, as_int(at_once, "at_once (inputs of a call)", at_least=1))

    def settled(self, inputs: Tensor) -> Network:
        """The same network, with the meaning of its answers decided from those to these inputs."""
        if self.answer is not None:
            return self
        raw = replace(self, answer=_as_it_is)(inputs)
        return replace(self, answer=_softmax if _are_logits(raw) else _as_it_is)

    def tensor(self, inputs: Any, what: str) -> Tensor:
        """Inputs as a tensor; whole numbers stay what they are, as tokens must."""
        torch = require("torch", extra="torch")
        try:
            found = torch.as_tensor(inputs).detach()
        except (TypeError, ValueError, RuntimeError) as error:
            raise InvalidData(f"{what} cannot be made a tensor: {error}") from error
        if found.device.type == "meta":
            raise InvalidData(f"{what} is a tensor on the device 'meta', which has no values")
        if found.ndim < 2 or not len(found):
            raise InvalidData(f"{what} has the shape {tuple(found.shape)}: give (n, ...) with at least one input")
        if found.is_floating_point() and not bool(torch.isfinite(found).all()):
            raise InvalidData(f"{what} has cells that are not finite")
        return found

    def place(self, inputs: Tensor) -> Tensor:
        """Bring inputs to the device of the model, and numbers to its precision."""
        torch = require("torch", extra="torch")
        tokens = inputs.dtype in (torch.int64, torch.int32)
        return inputs.to(self.device) if tokens else inputs.to(self.device, self.dtype)

    def __call__(self, inputs: Tensor) -> Array:
        """(n, k) or (n,) answers to n inputs."""
        return np.concatenate(list(halved(lambda part: self.ask(self.place(part)), inputs, self.at_once)))

    def ask(self, *inputs: Tensor, **named: Tensor) -> Array:
        """Ask once, with inputs that are in place."""
        torch = require("torch", extra="torch")
        with at_rest(self.model, self.device):
            try:
                given = self.model(*inputs, **named)
                answers = (self.answer or _as_it_is)(_tensor_of(given))
            except (torch.cuda.OutOfMemoryError, MemoryError, XcidError):
                raise
            except Exception as error:
                raise ModelError(f"the model failed: {type(error).__name__}: {error}{_hint(self, inputs)}") from error
            return answers.detach().float().cpu().numpy()


def like(inputs: Any, background: Tensor, network: Network) -> Tensor:
    """Inputs of the background's shape; a single one gets the axis that it lacks."""
    if getattr(inputs, "ndim", None) == background.ndim - 1:
        inputs = inputs[None]
    found = network.tensor(inputs, "X")
    if found.shape[1:] != background.shape[1:]:
        raise InvalidData(
            f"an input has the shape {tuple(found.shape[1:])}, and those of the background "
            f"{tuple(background.shape[1:])}"
        )
    if found.is_floating_point() != background.is_floating_point():
        raise InvalidData(f"the inputs are {found.dtype}, and the background is {background.dtype}: give one type")
    return found


@contextlib.contextmanager
def at_rest(model: Any, device: Any) -> Iterator[None]:
    """Evaluation mode without gradients; modes and random state are given back as they were."""
    torch = require("torch", extra="torch")
    modes = [(part, part.training) for part in model.modules()]
    own = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=own), torch.no_grad():
        try:
            model.eval()
            yield
        finally:
            for part, mode in modes:
                part.training = mode


def _hint(network: Network, inputs: tuple[Tensor, ...]) -> str:
    """What a network often cannot take."""
    given = [str(part.dtype).removeprefix("torch.") for part in inputs]
    where = f" (inputs {', '.join(given)} on {network.device}, weights {network.dtype})".replace("torch.", "")
    short = network.dtype.itemsize < 4 and network.device.type == "cpu"
    return where + ("; not all layers know half precision on a CPU: explain model.float()" if short else "")


def _tensor_of(given: Any) -> Tensor:
    """The answers among what a module gives."""
    torch = require("torch", extra="torch")
    given = getattr(given, "logits", given)
    if isinstance(given, tuple | list) and given:
        given = given[0]
    if not isinstance(given, torch.Tensor):
        raise ModelError(
            f"the model gave {type(given).__name__}: it must give one tensor, or an object with logits; "
            "wrap it in a module that picks the answers"
        )
    return given


def _are_logits(raw: Array) -> bool:
    """Whether answers have several columns that are no probabilities."""
    if raw.ndim != 2 or raw.shape[1] < 2:
        return False
    return bool((raw < 0).any() or (np.abs(raw.sum(axis=1) - 1) > SUM_TOLERANCE).any())


def _softmax(answers: Tensor) -> Tensor:
    return answers.float().softmax(dim=-1)


def _as_it_is(answers: Tensor) -> Tensor:
    return answers
