"""Units after a number: how they are written, what one of them and several of them are called."""

from __future__ import annotations

import re

_PREFIXES = {
    "n": "nano", "µ": "micro", "μ": "micro", "m": "milli", "c": "centi", "d": "deci", "k": "kilo",
    "M": "mega", "G": "giga", "T": "tera", "P": "peta",
}  # fmt: skip

# symbol -> (name, prefixes that are used with it)
_SI = {
    "m": ("meter", "nµμmcdk"), "g": ("gram", "nµμmk"), "L": ("liter", "µμmcd"),
    "l": ("liter", "µμmcd"), "s": ("second", "nµμm"), "W": ("watt", "µμmkMGT"),
    "V": ("volt", "µμmkM"), "A": ("amp", "nµμm"), "Hz": ("hertz", "kMGT"),
    "Pa": ("pascal", "kMG"), "J": ("joule", "mkMG"), "N": ("newton", "mkM"),
    "B": ("byte", "kMGTP"), "b": ("bit", "kMT"), "bit": ("bit", "kMGT"),
    "F": ("farad", "nµμm"), "Ω": ("ohm", "mkM"), "cal": ("calorie", "k"), "T": ("tesla", "m"),
    "Wh": ("watt hour", "kMGT"), "Ah": ("amp hour", "m"), "t": ("ton", "kM"),
    "eV": ("electron volt", "kMG"), "mol": ("mole", "mµμn"), "bps": ("bit per second", "kMGT"),
    "lm": ("lumen", ""), "lx": ("lux", ""), "Bq": ("becquerel", "kM"), "Sv": ("sievert", "mµμ"),
    "K": ("kelvin", ""), "dB": ("decibel", ""), "bar": ("bar", "m"),
}  # fmt: skip

# One line a unit: its spellings (comma), its name, its plural where that is not the name with -s.
_OTHERS = """
%, ％ | percent | percent
°N | degree north | degrees north
°S | degree south | degrees south
°E | degree east | degrees east
°W | degree west | degrees west
‰ | per mille | per mille
bps, bp, bp. | basis point
°C, ℃, ºC, ° C | degree Celsius
°F, ℉, ºF, ° F | degree Fahrenheit
°, º, deg | degree
mph, MPH | mile per hour
kph, KPH, kmh, kmph | kilometer per hour
mpg, MPG | mile per gallon
ft, ft. | foot | feet
in. | inch | inches
yd, yd., yds | yard
mi, mi. | mile
lb, lb., lbs, lbs., LB, LBS | pound
oz, oz., OZ | ounce
fl oz, fl. oz. | fluid ounce
gal, gal. | gallon
qt | quart
pt | pint
tsp, tsp. | teaspoon
tbsp, tbsp., Tbsp | tablespoon
KG, Kg, kgs | kilogram
KM, Km, kms | kilometer
ML | milliliter
CM | centimeter
MM | millimeter
mcg, ug | microgram
um | micrometer
KB, Kb | kilobyte
KiB | kibibyte
MiB | mebibyte
GiB | gibibyte
TiB | tebibyte
gb, Gb | gigabyte
mb | megabyte
tb | terabyte
Mbps, mbps | megabit per second
Gbps, gbps | gigabit per second
Kbps | kilobit per second
KHz, khz | kilohertz
Mhz, mhz | megahertz
Ghz, ghz | gigahertz
hz | hertz
hr, hr., hrs, hrs., h | hour
min, min., mins, mins. | minute
sec, sec., secs, secs. | second
wk, wks, wk. | week
mo, mos, mo., mos. | month
yr, yr., yrs, yrs. | year
d, day | day
ha | hectare
cc | c c | c c
psi, PSI | p s i | p s i
mmHg | millimeter of mercury | millimeters of mercury
bpm, BPM | beat per minute
rpm, RPM | r p m | r p m
fps, FPS | frame per second
dpi, DPI | d p i | d p i
ppm | part per million
ppb | part per billion
hp, HP | horsepower | horsepower
kn, kts | knot
atm | atmosphere
mbar | millibar
hPa | hectopascal
AU | astronomical unit
ly | light year
req, reqs | request
tok, toks | token
px | pixel
MP | megapixel
kcals | kilocalorie
IU | international unit
sqft, sq ft, sq. ft., sf | square foot | square feet
sq in, sq. in. | square inch | square inches
sq mi, sq. mi. | square mile
sq m | square meter
sq km | square kilometer
sq yd | square yard
cu ft, cu. ft. | cubic foot | cubic feet
cu in | cubic inch | cubic inches
cu m | cubic meter
dBm | d b m | d b m
VA | volt amp
kVA | kilovolt amp
Nm | newton meter
ct | carat
pcs | piece
doz | dozen | dozen
mL | milliliter
"""


def many(one: str) -> str:
    """The plural of a unit's name: kilometer per hour -> kilometers per hour."""
    for joint in (" per ", " Celsius", " Fahrenheit"):
        head, found, tail = one.partition(joint)
        if found:
            return many(head) + found + tail
    if one.endswith(("hertz", "lux")):
        return one
    return one + ("es" if one.endswith("ch") else "s")


def _units() -> dict[str, tuple[str, str]]:
    units = {}
    for symbol, (name, prefixes) in _SI.items():
        for prefix in ("", *prefixes):
            one = _PREFIXES.get(prefix, "") + name
            units[prefix + symbol] = (one, many(one))
    for line in _OTHERS.strip().splitlines():
        symbols, one, *others = line.split(" | ")
        for symbol in symbols.split(", "):
            units[symbol] = (one, others[0] if others else many(one))
    return units


UNITS: dict[str, tuple[str, str]] = _units()
"""symbol -> (one, many)"""

LENGTHS = frozenset(
    s for s, (one, _) in UNITS.items() if one.endswith(("meter", "foot", "inch", "yard", "mile"))
)
"""Units that can be squared and cubed: m², ft3."""

LETTERS = frozenset("m g s h d l t b A V W N J B F T K L".split()) | {"pt", "ct", "in"}
"""Too short to be sure of after a space: "Step 5 g", "He is 5 s"."""

LABELS = frozenset(
    "step section size figure fig table chapter part grade type class level room item appendix "
    "exhibit option question group team unit gate seat row line page route exit highway bus lot "
    "zone sector floor version model series paragraph article clause vitamin plan phase apt "
    "apartment suite ste flat seats gates number block building platform terminal pier bay "
    "box".split()
)
"""After these a number with a letter is a name."""

UNIT = "(?:" + "|".join(re.escape(s) for s in sorted(UNITS, key=len, reverse=True)) + ")"
POWER = r"(?:[²³]|\^?[23](?![\d.]))"
_POWERS = {"2": "square", "²": "square", "3": "cubic", "³": "cubic"}


def unit_words(symbol: str, power: str | None, one: bool) -> str:
    """A unit in the singular or plural, squared or cubed."""
    name = UNITS[symbol][0 if one else 1]
    return f"{_POWERS[power[-1]]} {name}" if power else name
