"""Numbers as people write them: how a number becomes text is decided here, and by the same rules in ``dom.js``.

Thousands are set apart from 10,000; there are no exponents between 0.0001 and 10^15; a number that was given in cents
keeps them; a probability shows on which side of one half it is, and is no 0 or 1 unless it is exactly that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

GROUPED = 1e4  # thousands are set apart from here
LEAST, MOST = 1e-4, 1e15  # numbers beyond have an exponent
MOST_CENTS = 1e13  # numbers beyond have no decimals
DIGITS, DIGITS_OF_A_CELL = 4, 6
DIGITS_OF_A_PROBABILITY = 4  # decimals at most
MOST_TIMES = 1_000_000  # that odds are said to be multiplied by


def round_half_up(value: Any, decimals: int = 0) -> Any:
    """A number, or each of an array, with so many decimals; halves go away from 0, as in the script of the pages.

    Examples
    --------
    >>> round_half_up(np.array([0.125, -0.375]), 2).tolist(), float(round_half_up(12.5))
    ([0.13, -0.38], 13.0)
    """
    scale = 10.0**decimals
    return np.copysign(np.floor(abs(value) * scale + 0.5) / scale, value)


def format_number(value: float, digits: int = DIGITS) -> str:
    """A number with so many digits, or all digits of its whole part, and the cents of one that has no others.

    Examples
    --------
    >>> format_number(0.123456), format_number(9999.99), format_number(18510.57), format_number(1e12)
    ('0.1235', '9999.99', '18,510.57', '1,000,000,000,000')
    >>> format_number(-12345.678), format_number(12345.678, digits=6), format_number(1234.5)
    ('-12,346', '12,345.68', '1234.5')
    """
    size = abs(value)
    if size and not LEAST <= size < MOST:
        return f"{value:.{digits}g}"
    text = format_fixed(value, _count_decimals(size, digits))
    if "." not in text:
        return text
    return text.removesuffix(".00") if "," in text else text.rstrip("0").rstrip(".")


def _count_decimals(size: float, digits: int) -> int:
    """Decimals of a number from ``LEAST`` to ``MOST``; one with thousands has those of money, or none."""
    if size < MOST_CENTS and round_half_up(size, 2) == size:
        return 2
    exponent = find_exponent(size, digits)
    decimals = max(0, digits - 1 - exponent)
    return 2 if decimals and 10.0**exponent >= GROUPED else decimals


def find_exponent(size: float, digits: int = DIGITS) -> int:
    """The power of ten of a number that is rounded to so many digits.

    Examples
    --------
    >>> find_exponent(0.05), find_exponent(9999.9), find_exponent(9999.9, digits=5)
    (-2, 4, 3)
    """
    return int(f"{size:.{digits - 1}e}".rpartition("e")[2])


def format_fixed(value: float, decimals: int, *, is_signed: bool = False) -> str:
    """A number with so many decimals, and its sign unless all that is seen of it is 0.

    Examples
    --------
    >>> format_fixed(2.2, 3), format_fixed(18510.5, 2, is_signed=True), format_fixed(-0.0004, 3)
    ('2.200', '+18,510.50', '0.000')
    """
    if not abs(value) < MOST:
        return f"{value:{'+' if is_signed else ''}.{DIGITS}g}"
    decimals = decimals if abs(value) < MOST_CENTS else 0
    rounded = float(round_half_up(float(value), decimals))
    text = f"{abs(rounded):{',' if abs(rounded) >= GROUPED else ''}.{decimals}f}"
    sign = "" if rounded == 0 else "-" if rounded < 0 else "+" if is_signed else ""
    return sign + text


def format_probability(value: float, decimals: int = 2) -> str:
    """A probability with as many decimals as show on which side of one half it is, and that it is not 0 or 1.

    Examples
    --------
    >>> [format_probability(one) for one in (0.354, 0.998, 1.0, 0.4996, 0.0032)]
    ['0.35', '0.998', '1.00', '0.4996', '0.003']
    >>> format_probability(0.99999), format_probability(0.49999), format_probability(1e-9)
    ('over 0.9999', 'under 0.5', 'under 0.0001')
    """
    if value in (0.0, 0.5, 1.0) or not 0 < value < 1:
        return format_fixed(value, decimals)
    finest = max(decimals, DIGITS_OF_A_PROBABILITY)
    for each in range(decimals, finest + 1):
        rounded = float(round_half_up(value, each))
        if 0 < rounded < 1 and (rounded > 0.5) == (value > 0.5) and rounded != 0.5:
            return format_fixed(rounded, each)
    step = 10.0**-finest
    if abs(value - 0.5) < step:
        return f"{'over' if value > 0.5 else 'under'} 0.5"
    return f"over {1 - step:.{finest}f}" if value > 0.5 else f"under {step:.{finest}f}"


def format_factor(factor: float, decimals: int | None = None) -> str:
    """What odds are multiplied or divided by; three digits without ``decimals``, and two decimals at most.

    Examples
    --------
    >>> format_factor(2.2), format_factor(12.345), format_factor(345.6), format_factor(3e7)
    ('2.20', '12.3', '346', 'over 1,000,000')
    """
    if factor > MOST_TIMES:
        return f"over {MOST_TIMES:,}"
    return format_fixed(factor, count_decimals_of_factor(factor) if decimals is None else decimals)


def count_decimals_of_factor(factor: float) -> int:
    """Decimals with which a factor has three digits, two at most."""
    return int(np.clip(2 - find_exponent(factor, 3), 0, 2))


def percent(share: float) -> str:
    """A share in whole per cent.

    Examples
    --------
    >>> percent(0.125), percent(0.375)
    ('13%', '38%')
    """
    return f"{round_half_up(100 * share):.0f}%"
