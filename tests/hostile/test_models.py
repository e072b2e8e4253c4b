"""Faults of a whole model: one error with words, never one of a foreign kind; and its input is its own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import xcid
from xcid.errors import ModelError, XcidError, XcidWarning
from xcid.io import models

TABLE = np.random.default_rng(0).normal(size=(120, 3)).round(3)
FRAME = pd.DataFrame(TABLE, columns=["a", "b", "c"])


def sound(table):
    return 1 / (1 + np.exp(-3 * np.asarray(table)[:, 0]))


def raising(error):
    def model(table):
        raise error

    return model


def endless(table):
    return endless(table)


FAULTS = {
    "raises": (raising(ValueError("boom")), "ValueError: boom"),
    "raises in two lines": (raising(ValueError("one\ntwo")), "one\ntwo"),
    "raises without words": (raising(AssertionError()), "AssertionError"),
    "runs out of memory": (raising(MemoryError()), "MemoryError"),
    "ends the process": (raising(SystemExit(3)), "SystemExit: 3"),
    "ends an iteration": (raising(StopIteration()), "StopIteration"),
    "calls itself": (endless, "RecursionError"),
    "None": (lambda table: None, r"shape \(\)"),
    "a list of None": (lambda table: [None] * len(table), "labels of different kinds"),
    "NaN": (lambda table: np.full(len(table), np.nan), "must be a finite number"),
    "one NaN": (lambda table: np.where(np.arange(len(table)) == 7, np.nan, sound(table)), "row 7 of"),
    "infinity": (lambda table: np.full(len(table), np.inf), "must be a finite number"),
    "too few": (lambda table: sound(table)[:-1], r"shape \(119,\) for 120 rows"),
    "too many": (lambda table: np.append(sound(table), 0.5), r"shape \(121,\) for 120 rows"),
    "nothing": (lambda table: np.empty(0), r"shape \(0,\)"),
    "one number": (lambda table: 0.5, r"shape \(\)"),
    "three dimensions": (lambda table: np.zeros((len(table), 2, 2)), r"shape \(120, 2, 2\)"),
    "a generator": (lambda table: (one for one in sound(table)), r"shape \(\)"),
    "a dict": (lambda table: {"p": sound(table)}, r"shape \(\)"),
    "ragged": (lambda table: [[1, 2]] * (len(table) - 1) + [[1]], "ValueError"),
    "objects": (lambda table: np.array([object() for _ in table]), "labels of different kinds"),
    "complex numbers": (lambda table: sound(table) + 1j, "not real numbers"),
    "text in place of probabilities": (lambda table: [["x", "y"]] * len(table), "not numbers"),
    "no model": (42, "needs predict_proba, predict or a call"),
}  # fmt: skip


class Turning:
    """Sound for some calls, faulty from then on: an explainer asks a handful of times before the first row."""

    def __init__(self, fault, after):
        self.fault, self.left = fault, after

    def __call__(self, table):
        self.left -= 1
        return sound(table) if self.left >= 0 else self.fault(table)


class TestFromTheStart:
    @pytest.mark.parametrize("name", FAULTS)
    def test_one_error_with_words(self, name):
        model, words = FAULTS[name]
        with pytest.raises(ModelError, match=words):
            xcid.Explainer(model, TABLE)

    @pytest.mark.parametrize("name", FAULTS)
    def test_at_the_command_line(self, command, tmp_path, monkeypatch, name):
        FRAME.assign(y=(TABLE[:, 0] > 0).astype(int)).to_csv(tmp_path / "t.csv", index=False)
        monkeypatch.setattr(models, "load", lambda *arguments, **more: FAULTS[name][0])
        files = ("--background", tmp_path / "t.csv", "--model", tmp_path / "m.pkl", "--out", tmp_path / "out.csv")
        quiet = ("--unsafe-pickle", "--quiet")  # pickles are not tried first
        status, _, err = command("explain", *files, "--target", "y", "--rows", "0:2", *quiet)
        assert status == 1
        assert err.startswith("xcid: ")
        assert err.count("\n") == 1
        assert not (tmp_path / "out.csv").exists()

    def test_an_interrupt_is_the_users(self):
        with pytest.raises(KeyboardInterrupt):
            xcid.Explainer(raising(KeyboardInterrupt()), TABLE)

    def test_no_row_of_the_table_is_in_the_message(self):
        with pytest.raises(ModelError) as caught:
            xcid.Explainer(FAULTS["one NaN"][0], TABLE)
        assert not any(f"{value}" in str(caught.value) for value in TABLE[7])


class TestAnswersThatChange:
    def test_from_call_to_call(self):
        random = np.random.default_rng(1)
        with pytest.warns(XcidWarning, match="not deterministic"):
            xcid.Explainer(lambda table: random.random(len(table)), TABLE)

    @pytest.mark.parametrize(
        "fault", [raising(ValueError("later")), raising(SystemExit(1)), endless, lambda table: None]
    )
    def test_every_call_from_one_on_is_never_a_foreign_error(self, fault):
        """Whether the rows are isolated or the run ends: what comes is an explanation that says so, or our error."""
        try:
            explanation = xcid.Explainer(Turning(fault, after=7), TABLE)(TABLE[:4])
        except XcidError:
            return
        assert (explanation.status != "ok").any()


class Vandal:
    """Writes over its input after it has answered."""

    def __call__(self, table):
        answers = sound(table)
        if isinstance(table, pd.DataFrame):
            table.iloc[:, :] = 99.0
            table["new"] = 1
        else:
            table[:] = 99.0
        return answers


class TestInputs:
    @pytest.mark.parametrize("background", [TABLE, FRAME], ids=["array", "frame"])
    @pytest.mark.parametrize("make", [xcid.Explainer, xcid.Explainer.paper], ids=["recommended", "paper"])
    def test_a_model_that_writes_over_its_input_changes_nothing(self, background, make):
        before = np.array(background)
        due, found = (make(model, background)(background[:4]) for model in (sound, Vandal()))
        assert np.array_equal(np.array(background), before)
        for name in ("values", "importance", "data", "outputs", "n_flips"):
            assert np.array_equal(getattr(due, name), getattr(found, name)), name
        pairs = [one.evidence(0, 0) for one in (due, found)]
        assert np.array_equal(pairs[0].p, pairs[1].p)
        assert np.array_equal(pairs[0].points, pairs[1].points)

    def test_interactions_and_counterfactuals_too(self):
        due, found = (xcid.Explainer(model, TABLE) for model in (sound, Vandal()))
        assert np.array_equal(due.interactions(TABLE[:1]).values, found.interactions(TABLE[:1]).values)
        assert due.counterfactuals(TABLE[:1]).to_frame().equals(found.counterfactuals(TABLE[:1]).to_frame())

    def test_a_model_with_one_buffer_for_all_answers(self):
        """What it gave before is overwritten by the next call."""
        buffer = np.empty(100_000)

        def model(table):
            buffer[: len(table)] = sound(table)
            return buffer[: len(table)]

        due, found = (xcid.Explainer(one, TABLE)(TABLE[:4]) for one in (sound, model))
        assert np.array_equal(due.values, found.values)
        assert np.array_equal(due.outputs, found.outputs)
