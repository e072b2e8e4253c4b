"""Explanations of texts: which words hold the decision in place."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, TypeAlias

import numpy as np

from xcid._check import as_int, require_callable
from xcid._faults import Piece
from xcid.errors import InvalidData, InvalidParameter, ModelError
from xcid.explanation import Explanation
from xcid.outcomes import Interval, Outcome
from xcid.records import Array, Integers, with_details
from xcid_torch._network import AT_ONCE, Answer, Network, in_blocks, probabilities
from xcid_torch._rows import Distinct, attempted, by_parts, explained_parts, gathered, parts_setup, question

Span: TypeAlias = tuple[int, int]
Tokenize: TypeAlias = Callable[[str], Sequence[Span]]


def words(text: str) -> list[Span]:
    """Where the words of a text begin and end; punctuation stays with its word.

    Examples
    --------
    >>> words("not good.")
    [(0, 3), (4, 9)]
    """
    return [found.span() for found in re.finditer(r"\S+", text)]


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """Where the tokens of a Hugging Face tokenizer begin and end; special ones have no place in the text.

    ``tokenizer(text, return_offsets_mapping=True)`` gives ``offset_mapping``, as fast tokenizers do.
    """

    tokenizer: Any

    def __call__(self, text: str) -> list[Span]:
        found = self.tokenizer(text, return_offsets_mapping=True)["offset_mapping"]
        return [(int(start), int(end)) for start, end in found if end > start]


@dataclass(frozen=True, slots=True)
class MaskToken:
    """A word is replaced by a token that stands for nothing, such as the one a language model was trained with."""

    token: str = "[MASK]"

    @property
    def shown(self) -> str:
        """What is shown in the place of the word."""
        return self.token

    def __call__(self, text: str, spans: Sequence[Span]) -> str:
        parts, after = [], 0
        for start, end in sorted(spans):
            parts += [text[after:start], self.token]
            after = end
        return "".join([*parts, text[after:]])


@dataclass(frozen=True, slots=True)
class Drop:
    """A word is left out, with one of the blanks beside it."""

    shown: ClassVar[str] = "dropped"

    def __call__(self, text: str, spans: Sequence[Span]) -> str:
        return re.sub(r"\s+", " ", MaskToken("")(text, spans)).strip()


class TextExplainer:
    """Explains what a model reads in a text by its words or tokens.

    Parameters
    ----------
    model : callable or torch.nn.Module
        A callable takes a list of texts and gives probabilities, labels or numbers. A module needs a ``tokenizer``.
    tokenizer : callable, optional
        ``tokenizer(texts, return_tensors="pt", padding=True, truncation=True)`` gives the named inputs of the module,
        as those of Hugging Face do; the module's answer has ``logits``, or is a tensor.
    tokenize : callable
        From a text to the (start, end) of its parts: ``words`` (the default) or ``Tokens(tokenizer)``.
    fill : callable, optional
        ``fill(text, spans) -> text``: ``MaskToken("[MASK]")`` or ``Drop()``. By default the mask token of the
        tokenizer, where it has one.
    background : sequence of str, optional
        Other texts, where the outputs are numbers: a flip is a move by 0.7 standard deviations of theirs.
    n : int, optional
        Perturbations of a text; by default 1,000, and 3,000 for more than 20 parts. Equal ones are evaluated once.
    outcome, answer, at_once, **settings
        As for :class:`ImageExplainer`.

    Examples
    --------
    >>> import numpy as np, xcid_torch
    >>> model = lambda texts: np.array([0.9 if "good" in text else 0.2 for text in texts])
    >>> explanation = xcid_torch.TextExplainer(model)(["a good film", "not good at all"])
    >>> explanation.shown(1, int(explanation.values[1].argmax()))
    'good'
    """

    def __init__(
        self,
        model: Any,
        *,
        tokenizer: Any = None,
        tokenize: Tokenize = words,
        fill: Any = None,
        background: Sequence[str] | None = None,
        n: int | None = None,
        outcome: Outcome | None = None,
        answer: Answer | None = None,
        at_once: int = AT_ONCE,
        **settings: Any,
    ) -> None:
        require_callable(tokenize, "tokenize", "xcid_torch.words")
        self.fill = MaskToken(str(getattr(tokenizer, "mask_token", None) or "[MASK]")) if fill is None else fill
        require_callable(self.fill, "fill", 'xcid_torch.MaskToken("[MASK]")')
        self.tokenize = tokenize
        self.ask = _asking(model, tokenizer, answer, as_int(at_once, "at_once (texts of a call)", at_least=1))
        self.usual = [] if background is None else _texts(background, "the background")
        if self.usual:
            answers = np.asarray(self.ask(self.usual))
            outcome = question(outcome, answers) if answers.dtype.kind == "f" else outcome
        self.settings = {**settings, "outcome": outcome, "n": n}

    def __call__(self, texts: Any, *, seed: int = 0) -> Explanation:
        """Explain one text or many; features are parts by their place, and ``explanation.shown`` gives the words.

        Texts with fewer parts than others get further ones that are constant and score 0.
        """
        known = _texts([texts] if isinstance(texts, str) else texts, "texts")
        spans = [self.spans(text) for text in known]
        levels = self._levels(known, spans)
        seed = as_int(seed, "seed")

        def explained(text: str, where: list[Span], levels: list[tuple[str, ...]]) -> Piece:
            return attempted(partial(self._explained, text, where, levels, seed), len(where))

        def reference() -> list[Piece]:
            """One of the usual texts, with no more parts than those to explain; or else a text that is all filled."""
            others = self.usual or [self.fill(text, where) for text, where in zip(known, spans, strict=True)]
            parts = [(text, self.tokenize(text)[: len(levels)]) for text in others]
            usual = [(text, [(int(start), int(end)) for start, end in some]) for text, some in parts if len(some) > 1]
            return [explained(text, where, self._levels([text], [where])) for text, where in usual[:1]]

        pieces = [explained(text, where, levels) for text, where in zip(known, spans, strict=True)]
        return with_details(gathered(pieces, self.settings, reference), levels=tuple(levels))

    def spans(self, text: str) -> list[Span]:
        """(start, end) of the parts of a text."""
        found = [(int(start), int(end)) for start, end in self.tokenize(text)]
        if len(found) < 2:
            raise InvalidData(f"the text {text[:40]!r} has {len(found)} parts: at least two are needed to compare")
        return found

    def _explained(self, text: str, where: Sequence[Span], levels: Sequence[tuple[str, ...]], seed: int) -> Piece:
        def filled(sources: Integers) -> Any:
            chosen = ([span for span, source in zip(where, row, strict=True) if source] for row in sources)
            return self.ask([self.fill(text, spans) for spans in chosen])

        ask = Distinct(filled)
        setup = parts_setup(ask, [f"token {at}" for at in range(len(where))], 1, self.settings)
        given = self.settings["outcome"]
        if isinstance(setup.outcome, Interval) and (given is None or getattr(given, "half_width", 1.0) is None):
            raise InvalidParameter(
                "the model gives numbers, and one text does not show how far they are spread: give background texts, "
                "or say by outcome= what counts as a flip"
            )
        codes = [levels[at].index(text[start:end], 1) for at, (start, end) in enumerate(where)]
        piece = explained_parts(setup, ask, seed)
        return by_parts(piece, levels[: len(where)], np.array(codes, dtype=np.float64))

    def _levels(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[tuple[str, ...]]:
        """What stands at each place of any text, after what it is filled with."""
        shown = str(getattr(self.fill, "shown", "filled"))
        found: list[dict[str, None]] = [{} for _ in range(max(map(len, spans)))]
        for text, where in zip(texts, spans, strict=True):
            for place, (start, end) in zip(found, where, strict=False):
                place[text[start:end]] = None
        return [(shown, *place) for place in found]


def _asking(model: Any, tokenizer: Any, answer: Answer | None, at_once: int) -> Callable[[Sequence[str]], Any]:
    """A function from texts to answers."""
    if tokenizer is None:
        if hasattr(model, "named_modules"):
            raise InvalidParameter("a torch module takes tokens: give its tokenizer, or a function of a list of texts")
        require_callable(model, "model", "lambda texts: ...")
        return lambda texts: in_blocks(model, list(texts), at_once)
    network = Network.of(model, probabilities if answer is None else answer, at_once)

    def some(texts: Sequence[str]) -> Array:
        try:
            made = tokenizer(list(texts), return_tensors="pt", padding=True, truncation=True)
        except Exception as error:
            raise ModelError(f"the tokenizer failed: {type(error).__name__}: {error}") from error
        return network.ask(**{name: part.to(network.device) for name, part in dict(made).items()})

    return lambda texts: in_blocks(some, list(texts), at_once)


def _texts(given: Any, what: str) -> list[str]:
    found = list(given)
    if not found or not all(isinstance(text, str) for text in found):
        raise InvalidData(f"{what} must be a text or some of them")
    return found
