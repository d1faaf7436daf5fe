"""Numbers, shares, counts and names, as people read them in every output."""

import math
import unicodedata


def number(value: float) -> str:
    """Return a number with three significant digits; an en dash where there is no value.

    Example:
        >>> number(0.12345), number(1234567.0), number(3e-9), number(float("nan")), number(0.0)
        ('0.123', '1,234,567', '3e-09', '–', '0')
    """
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}".replace("-", "−", 1) if value < 0 else f"{value:.3g}"


def p_text(p: float) -> str:
    """Return a p or q value as text.

    Example:
        >>> [p_text(p) for p in (0.0123, 1e-9, float("nan"), 1.0)]
        ['0.012', '<0.001', '–', '1']
    """
    if math.isnan(p):
        return "–"
    return "<0.001" if p < 0.001 else f"{p:.3f}".removesuffix(".000")


def exact(value: float) -> str:
    """Return a setting as it was given, with at least two decimals.

    Example:
        >>> exact(0.1), exact(0.1 + 0.02), exact(3.0), exact(0.005)
        ('0.10', '0.12', '3.00', '0.005')
    """
    text = f"{value:g}"
    return f"{value:.2f}" if "e" not in text and len(text.partition(".")[2]) < 2 else text


def two_decimals(value: float) -> str:
    """Return a number with two decimals.

    Example:
        >>> [two_decimals(value) for value in (0.649, -0.001, float("nan"))]
        ['0.65', '0.00', '–']
    """
    return "–" if math.isnan(value) else f"{value:z.2f}".replace("-", "−")


def share(value: float) -> str:
    r"""Return a part of a whole in per cent.

    Example:
        >>> share(0.904), share(0.0004), share(float("nan"))
        ('90\xa0%', '0.04\xa0%', '–')
    """
    if math.isnan(value):
        return "–"
    return f"{100 * value:.2g}\u00a0%" if 0 < value < 0.005 else f"{100 * value:.0f}\u00a0%"


def percent_text(value: float) -> str:
    r"""Return a part of a whole in per cent with one decimal, and the sign.

    Example:
        >>> percent_text(0.975), percent_text(float("nan"))
        ('97.5\xa0%', '–')
    """
    return "–" if math.isnan(value) else f"{100 * value:.1f}\u00a0%"


def count(value: float | int) -> str:
    """Return a number of heads, which may be a mean or an expected value; one decimal at most.

    Example:
        >>> count(18.0), count(18.92), count(float("nan"))
        ('18', '18.9', '–')
    """
    return "–" if math.isnan(value) else f"{value:,.1f}".removesuffix(".0")


def with_range(value: str, low: str, high: str) -> str:
    r"""Return a number with the ends of its range, the unit named once; alone where there are none.

    Example:
        >>> with_range("90\xa0%", "85\xa0%", "95\xa0%")
        '90\xa0% [85,\xa095]'
        >>> with_range("19", "18", "20")
        '19 [18,\xa020]'
        >>> with_range("–", "–", "–")
        '–'
    """
    unit = "\u00a0%"
    ends = [end.removesuffix(unit) for end in (low, high)] if value.endswith(unit) else [low, high]
    return value if "–" in (value, low, high) else f"{value} [{ends[0]},\u00a0{ends[1]}]"


def isolate(text: str) -> str:
    """Return a name that cannot turn the writing direction of the sentence around it.

    Example:
        >>> isolate("local") == "local", isolate("\u202elocal").endswith("\u2069")
        (True, True)
    """
    quiet = {"L", "EN", "ES", "CS", "ET", "ON", "WS"}
    directed = any(unicodedata.bidirectional(letter) not in quiet for letter in text)
    return f"\u2068{text}\u2069" if directed else text


def plural(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun.

    Example:
        >>> plural(1, "head"), plural(1200, "head")
        ('1 head', '1,200 heads')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def join_names(names: list[str]) -> str:
    """Join names as a sentence does.

    Example:
        >>> join_names(["a"])
        'a'
        >>> join_names(["a", "b", "c"])
        'a, b and c'
    """
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def mean(value: float) -> str:
    """Return a mean score as text: two decimals, three below 0.05, and no negative zero.

    Example:
        >>> mean(-0.123), mean(-0.0123), mean(-0.0001), mean(float("nan"))
        ('−0.12', '−0.012', '0.000', '–')
    """
    if math.isnan(value):
        return "–"
    text = f"{value:.2f}" if abs(value) >= 0.05 else f"{value:z.3f}"
    return text.replace("-", "−")


def percent(value: float, decimals: int = 1) -> str:
    """Return a part of a whole in per cent, without the sign.

    Example:
        >>> percent(0.7806), percent(0.7806, 0), percent(float("nan")), percent(-0.0301)
        ('78.1', '78', '–', '−3.0')
    """
    return "–" if math.isnan(value) else f"{100 * value:z.{decimals}f}".replace("-", "−")


def points(value: float, decimals: int = 1) -> str:
    """Return a difference of two percentages, with its sign.

    Example:
        >>> points(0.264), points(-0.001, 0), points(-0.05)
        ('+26.4', '0', '−5.0')
    """
    text = percent(value, decimals)
    return f"+{text}" if value > 0 and float(text) else text


def three_decimals(value: float) -> str:
    """Return a distance or a share with three decimals.

    Example:
        >>> [three_decimals(value) for value in (0.2164, -0.0001, float("nan"))]
        ['0.216', '0.000', '–']
    """
    return "–" if math.isnan(value) else f"{value:z.3f}".replace("-", "−")
