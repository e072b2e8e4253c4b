"""A letter for the person whom a decision is about: what decided it, what would change it, and how sure that is.

It has plain words and no pictures, one page for each row, in English, German, Spanish or a translation of your own.
"""

from __future__ import annotations

import html
import json
import os
import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

import numpy as np

from xcid import __version__
from xcid._check import shown_and_meant
from xcid._numbers import format_number, round_half_up
from xcid.errors import InvalidData, InvalidFile, InvalidParameter
from xcid.io.writers import replacing
from xcid.outcomes.classes import OTHER_LABEL, are_probabilities
from xcid.records import Explanation
from xcid.records.arrays import MISSING
from xcid.show import wording
from xcid.show.reasons import Reasons, Text
from xcid.show.report.page import POLICY, fingerprint, read_asset
from xcid.show.wording.names import clean
from xcid.whatif import Counterfactuals
from xcid.whatif.record import ALREADY, word_cell

LANGUAGES = ("en", "de", "es")
MOST_OPPOSED = 2  # values that spoke against the result: the reader asks about the others
MOST_CHANGES = 3
_NUMBER = re.compile(r"-?[\d,]*\.?\d+")
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:T(.+))?")
_DIGEST = re.compile(r"sha256 \w{12}")
_LETTERS = 80  # of a name or a value


@dataclass(frozen=True, slots=True)
class Words:
    """The sentences of a language by their names, and how it writes numbers and dates."""

    texts: Mapping[str, str]

    def say(self, name: str, /, **parts: str) -> str:
        """A sentence with its parts; HTML in them is text."""
        return html.escape(self.texts[name].format(**parts))

    def number(self, text: str) -> str:
        """A number that is written as in English."""
        return text.translate({ord(","): self.texts["thousands"], ord("."): self.texts["decimal"]})

    def cell(self, text: str, levels: Sequence[object]) -> str:
        """A cell of a column: numbers and dates as the language writes them, and levels as they are."""
        if text == MISSING and text not in levels:
            return self.texts["missing"]
        if not levels and (date := _DATE.fullmatch(text)):
            year, month, day, time = date.groups()
            return " ".join(filter(None, (self.texts["date"].format(year=year, month=month, day=day), time)))
        return self.number(text) if not levels and _NUMBER.fullmatch(text) else clean(text, _LETTERS)

    def share(self, share: float, digits: int = 2) -> str:
        """A probability in per cent; ``digits`` are those of the probability."""
        places = max(digits - 2, 0)
        return self.texts["percent"].format(number=self.number(f"{round_half_up(100 * share, places):.{places}f}"))

    def join(self, parts: list[str]) -> str:
        """Several things in a sentence."""
        return parts[0] if len(parts) == 1 else self.texts["and"].format(first=", ".join(parts[:-1]), last=parts[-1])


def read_words(language: str | os.PathLike[str]) -> Words:
    """The sentences of a language, or of a JSON file that has the same names and places as ``letters/en.json``."""
    if language in LANGUAGES:
        return Words(read_language(str(language)))
    own, path = read_language("en"), Path(language)
    if path.suffix != ".json":
        known = ", ".join(map(repr, LANGUAGES))
        raise InvalidParameter(
            f"{language!r} is no language of letters: take {known}, or a translation as a .json file"
        )
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidFile(f"{path} cannot be read as a translation: {error}") from error
    if not isinstance(found, dict) or not all(isinstance(text, str) for text in found.values()):
        raise InvalidFile(f"{path} must hold one text for each name, as a JSON object")
    if found.keys() != own.keys():
        lacks, more = sorted(own.keys() - found.keys()), sorted(found.keys() - own.keys())
        said = (
            f"lacks {', '.join(map(repr, lacks))}"
            if lacks
            else f"has {shown_and_meant(more, list(own))}, which no letter uses"
        )
        raise InvalidFile(f"{path} {said}; its names are those of the English translation")
    for name, text in found.items():
        if find_places(text) != find_places(own[name]):
            places = ", ".join(f"{{{place}}}" for place in sorted(find_places(own[name]))) or "no {places}"
            raise InvalidFile(f"{path}: the text of {name!r} must have {places}, as the English one does")
    return Words(found)


def read_language(name: str) -> dict[str, str]:
    """A translation that ships with the package."""
    found: dict[str, str] = json.loads((files("xcid.show.report") / "letters" / f"{name}.json").read_text("utf-8"))
    return found


def find_places(text: str) -> set[str]:
    """Names of the places in a text that parts are put into."""
    try:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}
    except ValueError:  # a brace that is never closed
        return {text}


def write_letters(
    pieces: Iterable[Explanation],
    path: str | os.PathLike[str],
    words: Words,
    reasons: Reasons | None = None,
    search: Callable[[Explanation], Counterfactuals | None] = lambda piece: None,
) -> None:
    """Write a letter for each row into one HTML file, a page each; ``search`` gives the counterfactuals of a piece."""
    reasons = Reasons() if reasons is None else reasons
    letters = []
    for piece in filter(len, pieces):
        found = search(piece)
        letters += [_write_letter(piece[row], words, reasons, found, row) for row in range(len(piece))]
    if not letters:
        raise InvalidData("the explanation has no rows to write letters about")
    style, title = read_asset("letter.css"), words.say("title")
    policy = POLICY.format(script="none", style=fingerprint(style)).replace("script-src 'none'; ", "")
    head = f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
    head += f'<meta name="viewport" content="width=device-width"><title>{title}</title><style>{style}</style>'
    page = f'<!doctype html>\n<html lang="{words.say("language")}"><head>{head}</head>\n<body>\n'
    with replacing(Path(path)) as temporary:
        temporary.write_text("".join([page, *letters, "</body></html>\n"]), encoding="utf-8", newline="\n")


def _write_letter(one: Explanation, words: Words, reasons: Reasons, found: Counterfactuals | None, row: int) -> str:
    """The page of a single row."""
    parts = [f"<h1>{words.say('title')}</h1>", f'<p class="case">{words.say("case", name=clean(one.index[0]))}</p>']
    if not wording.is_explained(one) or np.isnan(one.outputs).any():
        return _wrap([*parts, _paragraph(words.say("no_answer"))], one, words)
    parts += [f"<h2>{words.say('result')}</h2>", *map(_paragraph, _say_result(one, words))]
    parts += [f"<h2>{words.say('why')}</h2>", *_list_reasons(one, words, reasons)]
    if found is not None:
        parts += _list_changes(found, row, words)
    parts += [f"<h2>{words.say('sure')}</h2>", *map(_paragraph, _say_how_sure(one, words, reasons, found, row))]
    return _wrap(parts, one, words)


def _wrap(parts: list[str], one: Explanation, words: Words) -> str:
    known = {name: _find_digest((one.details.settings or {}).get(name, "?")) for name in ("model", "reference")}
    made = words.say("made", version=__version__, **known)
    return "\n".join(["<article>", *parts, f"<footer>{made}</footer>", "</article>", ""])


def _find_digest(said: str) -> str:
    """What a record calls a model or a table: the beginning of its digest, or else its name."""
    digest = _DIGEST.search(said)
    return f"{digest[0]}…" if digest else clean(said, _LETTERS)


def _paragraph(text: str) -> str:
    return f"<p>{text}</p>"


def _say_result(one: Explanation, words: Words) -> Iterator[str]:
    """What the model predicts, and what it predicts on average."""
    outputs, usual = one.outputs[0], one.details.base_outputs
    if len(outputs) == 1:
        yield words.say("answer_number", output=words.number(format_number(float(outputs[0]))))
        if usual:
            yield words.say("usual_number", output=words.number(format_number(usual[0])))
        return
    name, share = wording.find_prediction(outputs, one.output_names)
    answer = clean(name, _LETTERS)
    if one.output_names[-1] == OTHER_LABEL or not are_probabilities(outputs[None]):
        yield words.say("answer", answer=answer)
        return
    yield words.say("answer_share", answer=answer, share=words.share(share))
    if usual:
        yield words.say("usual", answer=answer, share=words.share(usual[int(outputs.argmax())]))


def _list_reasons(one: Explanation, words: Words, reasons: Reasons) -> Iterator[str]:
    """The values that spoke for the result, and some that spoke against it."""
    any_listed, said = False, _word_values(one, reasons, words)
    for name, chosen in _name_sides(one, reasons):
        texts = list(_find_texts(one, replace(chosen, texts=said), words))
        if texts:
            yield _paragraph(words.say(name))
            yield f"<ol>{''.join(f'<li>{text}</li>' for text in texts)}</ol>"
        any_listed |= bool(texts)
    if not any_listed:
        yield _paragraph(words.say("no_reason"))


def _name_sides(one: Explanation, reasons: Reasons) -> list[tuple[str, Reasons]]:
    """What is said of each side of the reasons, and how its reasons are found."""
    if one.outputs.shape[1] == 1:
        sides = ("raises", "lower", reasons.k), ("lowers", "higher", reasons.k)
        return [(name, replace(reasons, against=against, k=k)) for name, against, k in sides]
    predicted, _ = wording.find_prediction(one.outputs[0], one.output_names)
    supports, opposes = replace(reasons, against=None), replace(reasons, against=predicted, k=MOST_OPPOSED)
    return [("supports", supports), ("opposes", opposes)]


def _word_values(one: Explanation, reasons: Reasons, words: Words) -> dict[str, Text]:
    """What is said of each feature: its text where it worked the way that this is written for, else name and value."""
    said: dict[str, Text] = {name: f"{name}: {{value}}" for name in one.feature_names}
    if reasons.texts:
        asked, signs = reasons.turn_signs(one)
        fits = np.flatnonzero(signs[0] * asked.values[0] > 0).tolist()
        said |= {name: reasons.texts[name] for name in (one.feature_names[at] for at in fits) if name in reasons.texts}
    for name, made_of in zip(one.feature_names, one.details.features, strict=True):
        cells = ((at, one.details.cell(one.data[0, at], at)) for at in sorted(made_of))
        text, value = said[name], ", ".join(words.cell(cell, one.details.levels[at]) for at, cell in cells)
        said[name] = text.replace("{value}", value) if isinstance(text, str) else text
    return said


def _find_texts(one: Explanation, reasons: Reasons, words: Words) -> Iterator[str]:
    """The texts of reasons, the strongest first, with what cannot be changed."""
    columns = reasons.columns(one)
    rank = columns["reason_rank"]
    for at in sorted(np.flatnonzero(rank).tolist(), key=lambda at: int(rank[at])):
        fixed = f" ({words.say('fixed')})" if one.feature_status[0, at] == "frozen" else ""
        yield f"{html.escape(clean(columns['reason'][at]))}{fixed}"


def _list_changes(found: Counterfactuals, row: int, words: Words) -> Iterator[str]:
    """What would change the result, or that nothing does, below a heading."""
    lines = np.flatnonzero(found.row == row).tolist()
    reached = [line for line in lines if found.reached[line]]
    if any(found.kind[line] == ALREADY for line in lines):
        yield f"<h2>{words.say('wanted')}</h2>{_paragraph(words.say('wanted_already'))}"
        return
    yield f"<h2>{words.say('changes')}</h2>"
    if reached:
        yield _paragraph(words.say("reached"))
        yield f"<ul>{''.join(f'<li>{_word_change(found, line, words)}</li>' for line in reached[:MOST_CHANGES])}</ul>"
        yield _paragraph(words.say("world"))
    else:
        is_proved = any(found.proof[line] == "none exists" for line in lines)
        yield _paragraph(words.say("impossible" if is_proved else "not_found"))


def _word_change(found: Counterfactuals, line: int, words: Words) -> str:
    """The changes of a line, and what the model would then say."""
    changes = words.join([_word_one(found, line, at, words) for at in found.moved_columns(line)])
    was, output = float(found.was[line]), float(found.output[line])
    if found.is_number(line):
        ends = {"output": words.number(format_number(output)), "was": words.number(format_number(was))}
        text = words.say("change_number", changes=changes, **ends)
    else:
        digits, answer = int(found.digits[line]), clean(found.about[line], _LETTERS)
        ends = {"share": words.share(output, digits), "was": words.share(was, digits)}
        text = words.say("change", changes=changes, answer=answer, **ends)
    return f"{text[:1].upper()}{text[1:]}."


def _word_one(found: Counterfactuals, line: int, at: int, words: Words) -> str:
    """The change of a column: "1,5 statt 3 bei „debt“"."""
    column, codes = found.columns[at], (found.data[found.row[line], at], found.rows[line, at])
    before, after = (words.cell(word_cell(column, code), tuple(map(str, column.levels))) for code in codes)
    return words.texts["one_change"].format(feature=clean(column.name, _LETTERS), before=before, after=after)


def _say_how_sure(
    one: Explanation, words: Words, reasons: Reasons, found: Counterfactuals | None, row: int
) -> Iterator[str]:
    """What was counted out, what was estimated, and what another training would say."""
    is_exact = one.exact is not None and bool(one.exact[0])
    count = words.number(format_number(float(one.n_evaluations[0])))
    yield words.say("exact") if is_exact else words.say("sampled", count=count)
    shares = list(_find_shares(one, reasons))
    if shares:
        yield words.say("recurs", share=words.share(shares[0]))
    lasting = [] if found is None else found.survival[(found.row == row) & found.reached][:1].tolist()
    if lasting and not np.isnan(lasting[0]):
        yield words.say("lasts", share=words.share(lasting[0]))
    if not shares and (not lasting or np.isnan(lasting[0])):
        yield words.say("not_trained")
    yield words.say("limits")


def _find_shares(one: Explanation, reasons: Reasons) -> Iterator[float]:
    """The share of trainings after which the first reason is one again, where refits tell; never quite none or all."""
    if one.retrained is not None:
        finest = 1 / one.retrained.shape[-1]
        columns = _name_sides(one, reasons)[0][1].columns(one)
        yield from np.clip(columns["reason_share"][columns["reason_rank"] == 1], finest, 1 - finest).tolist()
