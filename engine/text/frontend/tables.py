"""Word lists of the text front end."""

from __future__ import annotations

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip

# symbol -> ((one, many), (one hundredth, many))
CURRENCIES = {
    "$": (("dollar", "dollars"), ("cent", "cents")),
    "€": (("euro", "euros"), ("cent", "cents")),
    "£": (("pound", "pounds"), ("penny", "pence")),
    "¥": (("yen", "yen"), ("sen", "sen")),
    "₹": (("rupee", "rupees"), ("paisa", "paise")),
}

# After a number only: (one, many).
UNITS = {
    "%": ("percent", "percent"),
    "°C": ("degree Celsius", "degrees Celsius"),
    "°F": ("degree Fahrenheit", "degrees Fahrenheit"),
    "°": ("degree", "degrees"),
    "km/h": ("kilometer per hour", "kilometers per hour"),
    "mph": ("mile per hour", "miles per hour"),
    "km": ("kilometer", "kilometers"),
    "cm": ("centimeter", "centimeters"),
    "mm": ("millimeter", "millimeters"),
    "m": ("meter", "meters"),
    "ft": ("foot", "feet"),
    "kg": ("kilogram", "kilograms"),
    "mg": ("milligram", "milligrams"),
    "g": ("gram", "grams"),
    "lb": ("pound", "pounds"),
    "lbs": ("pound", "pounds"),
    "oz": ("ounce", "ounces"),
    "ml": ("milliliter", "milliliters"),
    "GB": ("gigabyte", "gigabytes"),
    "MB": ("megabyte", "megabytes"),
    "kB": ("kilobyte", "kilobytes"),
    "KB": ("kilobyte", "kilobytes"),
    "TB": ("terabyte", "terabytes"),
    "GHz": ("gigahertz", "gigahertz"),
    "MHz": ("megahertz", "megahertz"),
    "kHz": ("kilohertz", "kilohertz"),
    "Hz": ("hertz", "hertz"),
    "kW": ("kilowatt", "kilowatts"),
    "ms": ("millisecond", "milliseconds"),
    "s": ("second", "seconds"),
    "h": ("hour", "hours"),
    "min": ("minute", "minutes"),
    "hrs": ("hour", "hours"),
    "hr": ("hour", "hours"),
    "k": ("thousand", "thousand"),
}

# Before a name.
TITLES = {
    "Dr": ["doctor"], "Mr": ["mister"], "Mrs": ["missus"], "Ms": ["miz"], "Prof": ["professor"],
    "St": ["saint"], "Gen": ["general"], "Sen": ["senator"], "Rep": ["representative"],
    "Capt": ["captain"], "Lt": ["lieutenant"], "Sgt": ["sergeant"], "Rev": ["reverend"],
    "Gov": ["governor"],
}  # fmt: skip

# Anywhere, in lower case.
ABBREVIATIONS = {
    "e.g.": ["for", "example"], "i.e.": ["that", "is"], "etc.": ["et", "cetera"], "vs.": ["versus"],
    "approx.": ["approximately"], "dept.": ["department"], "jr.": ["junior"], "sr.": ["senior"],
    "inc.": ["incorporated"], "ltd.": ["limited"], "corp.": ["corporation"], "st.": ["street"],
    "ave.": ["avenue"], "blvd.": ["boulevard"], "rd.": ["road"], "apt.": ["apartment"],
    "ext.": ["extension"], "tel.": ["telephone"], "fig.": ["figure"], "min.": ["minutes"],
    "max.": ["maximum"], "avg.": ["average"], "hrs.": ["hours"], "misc.": ["miscellaneous"],
}  # fmt: skip

CAPITALISED = (
    "jr.",
    "sr.",
    "inc.",
    "ltd.",
    "corp.",
    "st.",
    "ave.",
    "blvd.",
    "rd.",
    "apt.",
    "dept.",
)

# Alone. Signs that no one says (quotes, asterisks, underscores) are not here.
SYMBOLS = {
    "&": "and", "+": "plus", "=": "equals", "@": "at", "%": "percent", "°": "degrees", "×": "times",
    "÷": "divided by", "±": "plus or minus",
    "<": "less than", ">": "greater than", "©": "copyright",
    "™": "trademark",
    "€": "euros", "£": "pounds", "$": "dollars",
}  # fmt: skip

# After a name or a noun: World War II, chapter IV. I, V and X alone are letters.
ROMAN = {
    "II": 2, "III": 3, "IV": 4, "VI": 6, "VII": 7,
    "VIII": 8, "IX": 9, "XI": 11, "XII": 12, "XIII": 13,
    "XIV": 14,
    "XV": 15, "XVI": 16, "XIX": 19, "XX": 20, "XXI": 21,
}  # fmt: skip
