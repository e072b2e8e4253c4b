"""A network that is called and given back as it was: evaluation mode, no gradients, its own device and precision.

Blocks of inputs that do not fit into memory are halved and tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from xcid._check import as_int, require_callable
from xcid._require import require
from xcid.errors import InvalidData, InvalidParameter, ModelError, XcidError
from xcid.models.libraries import evaluating, home_of
from xcid.records import Array

T = TypeVar("T")
AT_ONCE = 256  # inputs of a call
SUM_TOLERANCE = 1e-2  # of probabilities in half precision
Tensor = Any
Answer = Callable[[Tensor], Tensor]


def halved(function: Callable[[Any], T], rows: Any, at_once: int | None = None) -> Iterator[T]:
    """Apply a function to blocks of rows, in order; after a lack of memory to blocks of half the size.

    ``rows`` is anything that has a length and can be sliced, and ``at_once`` the rows of the first block, by default
    all of them. Where the memory does not suffice for a single row, a ModelError is raised.
    """
    torch = require("torch", extra="torch")
    size, start = max(1, len(rows) if at_once is None else at_once), 0
    while start < len(rows):
        lacking = False
        try:
            made = function(rows[start : start + size])
        except (torch.cuda.OutOfMemoryError, MemoryError) as error:
            if size == 1:
                raise ModelError(
                    f"the memory does not suffice for a single row: {str(error).strip() or type(error).__name__}; "
                    "use a smaller input, half precision or another device"
                ) from error
            lacking = True
        if lacking:  # outside the handler, whose error would keep the tensors of the failed call alive
            size = (min(size, len(rows) - start) + 1) // 2
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            continue
        start += size
        yield made


def in_blocks(function: Callable[[Any], Any], rows: Any, at_once: int) -> Array:
    """Put together what a function gives for blocks of rows that fit into memory."""
    return np.concatenate(list(halved(function, rows, at_once)))


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A module behind a checked call, with the device and the precision that inputs are brought to."""

    model: Any
    device: Any
    dtype: Any
    answer: Answer | None  # from what the module gives to (n, k) or (n,) answers; None until it is settled
    at_once: int  # inputs of a call; less where the memory does not suffice

    @classmethod
    def of(cls, model: Any, answer: Answer | None, at_once: int) -> Network:
        """Check a model."""
        if not isinstance(model, require("torch", extra="torch").nn.Module):
            raise InvalidParameter(
                f"this explains a torch.nn.Module, not {type(model).__name__}: use xcid.Explainer for other models"
            )
        if answer is not None:
            require_callable(answer, "answer", "torch.sigmoid")
        at_once = as_int(at_once, "at_once (inputs of a call)", at_least=1)
        return cls(model, *(home_of(model) if hasattr(model, "hf_device_map") else one_home(model)), answer, at_once)

    def settled(self, inputs: Tensor) -> Network:
        """The same network; several columns of answers to these inputs are logits where they are no probabilities."""
        if self.answer is not None:
            return self
        raw = self(inputs)
        several = raw.ndim == 2 and raw.shape[1] > 1
        are_logits = several and ((raw < 0).any() or (np.abs(raw.sum(axis=1) - 1) > SUM_TOLERANCE).any())
        return replace(self, answer=probabilities if are_logits else _as_it_is)

    def place(self, inputs: Tensor) -> Tensor:
        """Bring inputs to the device of the model, and numbers to its precision."""
        torch = require("torch", extra="torch")
        tokens = inputs.dtype in (torch.int64, torch.int32)
        return inputs.to(self.device) if tokens else inputs.to(self.device, self.dtype)

    def __call__(self, inputs: Tensor) -> Array:
        """(n, k) or (n,) answers to n inputs."""
        return in_blocks(lambda part: self.ask(self.place(part)), inputs, self.at_once)

    def ask(self, *inputs: Tensor, **named: Tensor) -> Array:
        """Ask once, with inputs that are in place; the random state is given back as it was."""
        torch = require("torch", extra="torch")
        devices = [self.device] if self.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices), torch.no_grad(), evaluating(self.model):
            try:
                answers = (self.answer or _as_it_is)(_tensor_of(self.model(*inputs, **named)))
            except (torch.cuda.OutOfMemoryError, MemoryError, XcidError):
                raise
            except Exception as error:
                raise ModelError(f"the model failed: {type(error).__name__}: {error}{_hint(self, inputs)}") from error
            return answers.detach().float().cpu().numpy()


def one_home(module: Any) -> tuple[Any, Any]:
    """Device and precision of a module, whose weights must lie on one device."""
    devices = sorted({str(weight.device) for part in (module.parameters(), module.buffers()) for weight in part})
    if len(devices) > 1:
        raise InvalidParameter(
            f"the weights of the model lie on several devices ({', '.join(devices)}): bring them together by "
            "model.to(device)"
        )
    return home_of(module)


def as_tensor(inputs: Any, what: str) -> Tensor:
    """Inputs as a checked tensor; integers stay what they are, as tokens must."""
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


def like(inputs: Any, background: Tensor) -> Tensor:
    """Inputs of the background's shape; a single one gets the axis that it lacks."""
    if getattr(inputs, "ndim", None) == background.ndim - 1:
        inputs = inputs[None]
    found = as_tensor(inputs, "X")
    if found.shape[1:] != background.shape[1:]:
        raise InvalidData(
            f"an input has the shape {tuple(found.shape[1:])}, and those of the background "
            f"{tuple(background.shape[1:])}"
        )
    if found.is_floating_point() != background.is_floating_point():
        raise InvalidData(f"the inputs are {found.dtype}, and the background is {background.dtype}: give one type")
    return found


def as_array(tensor: Tensor) -> Array:
    """A tensor in NumPy's double precision."""
    return tensor.double().cpu().numpy()


def probabilities(answers: Tensor) -> Tensor:
    """Several columns of logits as probabilities; one column as it is."""
    return answers.float().softmax(dim=-1) if answers.ndim == 2 and answers.shape[1] > 1 else answers


def _as_it_is(answers: Tensor) -> Tensor:
    return answers


def _tensor_of(given: Any) -> Tensor:
    """The answers among what a module gives."""
    given = getattr(given, "logits", given)
    if isinstance(given, tuple | list) and given:
        given = given[0]
    if not isinstance(given, require("torch", extra="torch").Tensor):
        raise ModelError(
            f"the model gave {type(given).__name__}: it must give one tensor, or an object with logits; "
            "wrap it in a module that picks the answers"
        )
    return given


def _hint(network: Network, inputs: tuple[Tensor, ...]) -> str:
    """What a network often cannot take."""
    given = ", ".join(str(part.dtype) for part in inputs)
    where = f" (inputs {given} on {network.device}, weights {network.dtype})".replace("torch.", "")
    short = network.dtype.itemsize < 4 and network.device.type == "cpu"
    return where + ("; not all layers know half precision on a CPU: explain model.float()" if short else "")


def sent(array: Any, device: Any) -> Any:
    """An array on a device; the host does not wait for a GPU to have it, nor for what the GPU is at."""
    torch = require("torch", extra="torch")
    here = torch.as_tensor(np.ascontiguousarray(array))
    return here.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else here.to(device)


def begin_copying(found: dict[str, Any]) -> tuple[dict[str, Any], Callable[[], None]]:
    """Begin to copy tensors of one device to the host: they are there when the function beside them has returned.

    Pinned memory takes what comes from a GPU while this works on; torch keeps such memory and lends it again.
    """
    device = next(iter(found.values())).device
    if device.type != "cuda":
        return found, lambda: None
    torch = require("torch", extra="torch")
    there = {name: torch.empty_like(part, device="cpu", pin_memory=True) for name, part in found.items()}
    for name, part in found.items():
        there[name].copy_(part, non_blocking=True)
    copied = torch.cuda.Event()
    copied.record(torch.cuda.current_stream(device))
    return there, copied.synchronize
