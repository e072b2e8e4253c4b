"""Numbers as people write them, by one set of rules in Python and in the script of the pages."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xcid._numbers import LEAST, MOST, format_factor, format_fixed, format_number, format_probability, round_half_up
from xcid.records import in_words
from xcid.show.report.page import read_asset
from xcid.show.wording.names import format_effect, format_limits

SIZES = st.floats(LEAST, MOST / 2, allow_nan=False) | st.floats(0.01, 99_999)
NUMBERS = st.builds(lambda size, sign: size * sign, SIZES, st.sampled_from([-1.0, 1.0]))
CENTS = st.integers(-(10**14), 10**14).map(lambda number: number / 100)
SHARES = (st.floats(0, 1) | st.floats(0.49, 0.51) | st.floats(0.99, 1) | st.floats(0, 0.01)).filter(lambda p: 0 < p < 1)
VALUES = st.floats(-14, 14).filter(lambda value: not 0 < abs(value) < LEAST)
DIGITS = st.sampled_from([4, 6])


def parse(text):
    return float(text.replace(",", "").replace("×", ""))


def unit(text):
    """The size of one in the last place that is shown."""
    return 10.0 ** -len(text.partition(".")[2])


class TestNumbers:
    @given(NUMBERS, DIGITS)
    def test_is_read_back_within_what_is_shown(self, number, digits):
        text = format_number(number, digits)
        assert "e" not in text
        shortest = max(10.0 ** (np.floor(np.log10(abs(number))) - digits + 1), 1e-10)
        assert abs(parse(text) - number) <= 0.5001 * min(max(shortest, unit(text)), max(1.0, unit(text)))

    @given(CENTS)
    def test_cents_that_were_given_are_kept(self, number):
        text = format_number(number)
        assert parse(text) == number
        assert re.fullmatch(r"-?\d{1,3}(,\d{3})+(\.\d\d)?|-?\d{1,4}(\.\d\d?)?", text)

    @given(NUMBERS, NUMBERS, DIGITS)
    def test_keeps_the_order(self, one, other, digits):
        """A number that keeps its cents is exact, and its neighbours may be rounded past it, by half a unit."""
        low, high = sorted((one, other))
        first, second = format_number(low, digits), format_number(high, digits)
        are_cents = [round_half_up(number, 2) == number for number in (low, high)]
        room = max(map(abs, (low, high))) * 10.0 ** (1 - digits) if any(are_cents) else 0.0
        assert parse(first) <= parse(second) + room

    @given(st.floats(1e4, 1e14))
    def test_groups_thousands_from_ten_thousand(self, number):
        whole = format_number(number).partition(".")[0]
        assert re.fullmatch(r"\d{1,3}(,\d{3})+", whole)
        assert "," not in format_number(9999.99)

    @pytest.mark.parametrize(
        ("number", "shown"),
        [
            (18510.57, "18,510.57"), (10076637.88, "10,076,637.88"), (9999.99, "9999.99"), (9999.996, "10,000"),
            (0.0, "0"), (-0.0, "0"), (1250000.0, "1,250,000"), (18510.5, "18,510.50"), (3.0, "3"), (1e-5, "1e-05"),
        ],
    )  # fmt: skip
    def test_writes_what_people_write(self, number, shown):
        assert format_number(number) == in_words(number, "", ()) == shown

    def test_says_what_is_no_number(self):
        assert [format_number(number) for number in (np.nan, np.inf, -np.inf)] == ["nan", "inf", "-inf"]


class TestProbabilities:
    @given(SHARES)
    def test_shows_its_side_and_is_never_0_or_1(self, share):
        text = format_probability(share)
        bound, number = text.rpartition(" ")[0], float(text.rpartition(" ")[2])
        assert 0 < number < 1
        if bound:
            assert (share > number) == (bound == "over")
            assert abs(share - number) < 1.0001e-4
        else:
            assert abs(share - number) <= 0.5001 * unit(text)
            assert (number > 0.5) == (share > 0.5)
            assert (number == 0.5) == (share == 0.5)

    @given(SHARES, SHARES)
    def test_keeps_the_order(self, one, other):
        first, second = (float(format_probability(share).rpartition(" ")[2]) for share in sorted((one, other)))
        assert first <= second

    def test_what_is_exact_is_written_so(self):
        assert [format_probability(share) for share in (0.0, 0.5, 1.0)] == ["0.00", "0.50", "1.00"]


class TestLimits:
    @given(
        VALUES,
        st.floats(0, 2),
        st.floats(0, 2),
        st.sampled_from(["log_odds", "probability", "number"]),
    )
    def test_a_value_and_its_limits_have_equal_decimals(self, value, below, above, scale):
        text = format_limits(value, (value - below, value + above), scale)
        numbers = re.findall(r"[\d,]+\.?\d*", text.replace("over 1,000,000", ""))
        assert len({len(number.partition(".")[2]) for number in numbers}) <= 1

    @given(st.floats(-0.004, 0.004), st.floats(0, 0.0009), st.floats(0, 0.0009))
    def test_odds_that_stay_have_no_limits(self, value, below, above):
        assert format_limits(value, (value - below, value + above), "log_odds") == "×1"

    @given(st.floats(1, 1e6), st.floats(1, 1e6))
    def test_factors_keep_the_order(self, one, other):
        first, second = (parse(format_factor(factor)) for factor in sorted((one, other)))
        assert first <= second

    def test_examples(self):
        ends = np.log(2.1612), np.log(2.2389)
        assert format_limits(np.log(2.2), ends, "log_odds") == "×2.20 (2.16 to 2.24)"
        assert format_effect(0.0004, "probability") == "0.000"


@pytest.fixture(scope="module")
def by_script(tmp_path_factory):
    """What the script of the pages makes of (function, arguments), many at a time."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    path = tmp_path_factory.mktemp("script") / "numbers.js"
    calls = 'const calls = JSON.parse(require("fs").readFileSync(0, "utf8"));'
    write = "console.log(JSON.stringify(calls.map(([name, ...given]) => globalThis.xcid[name](...given))));"
    path.write_text(f"{read_asset('dom.js')}\n{calls}\n{write}", encoding="utf-8")

    def run(calls):
        made = subprocess.run([node, path], input=json.dumps(calls), capture_output=True, text=True, check=True)
        return [text.replace("−", "-") for text in json.loads(made.stdout)]

    return run


def test_the_script_writes_the_same(by_script):
    random = np.random.default_rng(0)
    signs = random.choice([-1.0, 1.0], 4000)
    numbers = [*(signs * 10 ** random.uniform(-6, 17, 4000)), *(signs * random.integers(0, 10**9, 4000) / 100)]
    numbers += [0.0, 0.5, 12.125, 0.03125, 9999.996, 99999.5, 99999.95]
    shares = [*random.uniform(size=3000), *(0.5 + signs * 10 ** random.uniform(-8, -1, 4000)), 0.0, 0.5, 1.0]
    shares += [*10 ** random.uniform(-8, 0, 3000), *(1 - 10 ** random.uniform(-8, 0, 3000))]
    pairs = [(["plain", number, digits], format_number(number, digits)) for number in numbers for digits in (4, 6)]
    for decimals in range(5):
        pairs += [(["fixed", one, decimals, True], format_fixed(one, decimals, is_signed=True)) for one in numbers]
    for least in (2, 5):
        pairs += [(["probability", share, least], format_probability(share, least)) for share in shares]
    calls, expected = zip(*pairs, strict=True)
    made = zip(calls, by_script(calls), expected, strict=True)
    assert not [(call, *both) for call, *both in made if both[0] != both[1]][:5]
