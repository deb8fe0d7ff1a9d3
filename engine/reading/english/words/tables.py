"""Names that are written short: months, currencies, titles, streets, states, abbreviations."""

from __future__ import annotations

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
WEEKDAYS = (
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
)  # fmt: skip
SHORT_WEEKDAYS = {
    "Mon": "Monday", "Tue": "Tuesday", "Tues": "Tuesday", "Wed": "Wednesday", "Thu": "Thursday",
    "Thur": "Thursday", "Thurs": "Thursday", "Fri": "Friday", "Sat": "Saturday", "Sun": "Sunday",
}  # fmt: skip
MONTH = (
    "(?:" + "|".join(MONTHS) + "|" + "|".join(f"{m[:3]}" for m in MONTHS if m != "May") + r"|Sept)"
)

# symbol or code -> (one, many, one hundredth, several hundredths)
_DOLLAR = ("dollar", "dollars", "cent", "cents")
CURRENCIES = {
    "$": _DOLLAR,
    "€": ("euro", "euros", "cent", "cents"),
    "£": ("pound", "pounds", "penny", "pence"),
    "¥": ("yen", "yen", "sen", "sen"),
    "₹": ("rupee", "rupees", "paisa", "paise"),
    "₩": ("won", "won", "jeon", "jeon"),
    "₽": ("ruble", "rubles", "kopeck", "kopecks"),
    "₺": ("lira", "lira", "kurush", "kurush"),
    "₿": ("bitcoin", "bitcoin", "", ""),
    "₫": ("dong", "dong", "", ""),
    "฿": ("baht", "baht", "satang", "satang"),
    "₪": ("shekel", "shekels", "agora", "agorot"),
    "₱": ("peso", "pesos", "centavo", "centavos"),
    "₦": ("naira", "naira", "kobo", "kobo"),
    "₴": ("hryvnia", "hryvnias", "kopiyka", "kopiykas"),
    "¢": ("cent", "cents", "", ""),
    "kr": ("krona", "kronor", "öre", "öre"),
    "Rs": ("rupee", "rupees", "paisa", "paise"),
    "zł": ("zloty", "zlotys", "grosz", "groszy"),
}
_DOLLARS = {
    "US": "U S", "C": "Canadian", "CA": "Canadian", "A": "Australian", "AU": "Australian",
    "NZ": "New Zealand", "HK": "Hong Kong", "S": "Singapore", "NT": "New Taiwan",
}  # fmt: skip
CURRENCIES |= {
    f"{code}$": (f"{name} dollar".strip(), f"{name} dollars".strip(), "cent", "cents")
    for code, name in _DOLLARS.items()
}
CURRENCIES |= {
    "R$": ("real", "reais", "centavo", "centavos"),
    "MX$": ("Mexican peso", "Mexican pesos", "centavo", "centavos"),
}
CODES = {
    "USD": _DOLLAR, "EUR": CURRENCIES["€"], "GBP": CURRENCIES["£"], "JPY": CURRENCIES["¥"],
    "INR": CURRENCIES["₹"], "KRW": CURRENCIES["₩"], "CAD": CURRENCIES["C$"],
    "AUD": CURRENCIES["A$"], "NZD": CURRENCIES["NZ$"], "HKD": CURRENCIES["HK$"],
    "SGD": CURRENCIES["S$"], "CHF": ("Swiss franc", "Swiss francs", "centime", "centimes"),
    "CNY": ("yuan", "yuan", "fen", "fen"), "RMB": ("yuan", "yuan", "fen", "fen"),
    "SEK": ("Swedish krona", "Swedish kronor", "öre", "öre"),
    "NOK": ("Norwegian krone", "Norwegian kroner", "øre", "øre"),
    "DKK": ("Danish krone", "Danish kroner", "øre", "øre"),
    "PLN": CURRENCIES["zł"], "MXN": CURRENCIES["MX$"], "BRL": CURRENCIES["R$"],
    "ZAR": ("rand", "rand", "cent", "cents"), "TRY": CURRENCIES["₺"], "RUB": CURRENCIES["₽"],
    "CZK": ("Czech koruna", "Czech korunas", "haler", "halers"),
    "HUF": ("forint", "forints", "", ""), "AED": ("dirham", "dirhams", "fils", "fils"),
    "ILS": CURRENCIES["₪"], "THB": CURRENCIES["฿"], "PHP": CURRENCIES["₱"],
    "BTC": CURRENCIES["₿"], "ETH": ("ether", "ether", "", ""),
}  # fmt: skip
SCALES = {
    "k": "thousand", "K": "thousand", "m": "million", "M": "million", "mn": "million",
    "mm": "million", "MM": "million", "mil": "million", "b": "billion", "B": "billion",
    "bn": "billion", "Bn": "billion", "t": "trillion", "T": "trillion", "tn": "trillion",
    "trn": "trillion",
}  # fmt: skip
SCALE_WORD = r"(?:(?i:hundred|thousand|million|billion|trillion|quadrillion|lakh|crore))"

# Before a name.
TITLES = {
    "Dr": "doctor", "Mr": "mister", "Mrs": "missus", "Ms": "miz", "Prof": "professor",
    "St": "saint", "Gen": "general", "Sen": "senator", "Rep": "representative", "Capt": "captain",
    "Cpt": "captain", "Lt": "lieutenant", "Sgt": "sergeant", "Rev": "reverend", "Gov": "governor",
    "Col": "colonel", "Maj": "major", "Cmdr": "commander", "Adm": "admiral", "Cpl": "corporal",
    "Pvt": "private", "Hon": "honorable", "Fr": "father", "Sr": "sister", "Pres": "president",
    "Supt": "superintendent", "Mt": "mount", "Ft": "fort", "Messrs": "messieurs", "Mme": "madame",
    "Mlle": "mademoiselle", "Brig": "brigadier", "Insp": "inspector", "Sec": "secretary",
    "Atty": "attorney", "Mx": "mix",
}  # fmt: skip
# These need no full stop to be known: Dr Lane, Mt Rainier.
BARE_TITLES = frozenset("Dr Mr Mrs Ms Prof St Mt Ft Lt Sgt Capt Gen Rev Mx Mme Mlle".split())

STREETS = {
    "St": "street", "Ave": "avenue", "Av": "avenue", "Blvd": "boulevard", "Rd": "road",
    "Dr": "drive", "Ln": "lane", "Ct": "court", "Pl": "place", "Sq": "square", "Hwy": "highway",
    "Pkwy": "parkway", "Expy": "expressway", "Ter": "terrace", "Cir": "circle", "Trl": "trail",
    "Fwy": "freeway", "Cres": "crescent", "Aly": "alley", "Plz": "plaza",
}  # fmt: skip
# Never anything else: they need no number before them.
SURE_STREETS = frozenset("Ave Blvd Rd Hwy Pkwy Expy Fwy Cres".split())
DIRECTIONS = {
    "N": "north", "S": "south", "E": "east", "W": "west", "NE": "northeast", "NW": "northwest",
    "SE": "southeast", "SW": "southwest",
}  # fmt: skip
STATES = {
    "AL": "Alabama", "AK": "Alaska", "AZ": "Arizona", "AR": "Arkansas", "CA": "California",
    "CO": "Colorado", "DC": "D C", "CT": "Connecticut", "DE": "Delaware", "FL": "Florida",
    "GA": "Georgia",
    "HI": "Hawaii", "ID": "Idaho", "IL": "Illinois", "IN": "Indiana", "IA": "Iowa", "KS": "Kansas",
    "KY": "Kentucky", "LA": "Louisiana", "ME": "Maine", "MD": "Maryland", "MA": "Massachusetts",
    "MI": "Michigan", "MN": "Minnesota", "MS": "Mississippi", "MO": "Missouri", "MT": "Montana",
    "NE": "Nebraska", "NV": "Nevada", "NH": "New Hampshire", "NJ": "New Jersey",
    "NM": "New Mexico", "NY": "New York", "NC": "North Carolina", "ND": "North Dakota",
    "OH": "Ohio", "OK": "Oklahoma", "OR": "Oregon", "PA": "Pennsylvania", "RI": "Rhode Island",
    "SC": "South Carolina", "SD": "South Dakota", "TN": "Tennessee", "TX": "Texas", "UT": "Utah",
    "VT": "Vermont", "VA": "Virginia", "WA": "Washington", "WV": "West Virginia",
    "WI": "Wisconsin", "WY": "Wyoming",
}  # fmt: skip

OLD_STATES = {
    "Ala": "Alabama", "Ariz": "Arizona", "Ark": "Arkansas", "Cal": "California",
    "Calif": "California", "Colo": "Colorado", "Conn": "Connecticut", "Del": "Delaware",
    "Fla": "Florida", "Ga": "Georgia", "Ill": "Illinois", "Ind": "Indiana", "Kan": "Kansas",
    "Ky": "Kentucky", "La": "Louisiana", "Md": "Maryland", "Mass": "Massachusetts",
    "Mich": "Michigan", "Minn": "Minnesota", "Miss": "Mississippi", "Mo": "Missouri",
    "Mont": "Montana", "Neb": "Nebraska", "Nev": "Nevada", "Okla": "Oklahoma", "Ore": "Oregon",
    "Pa": "Pennsylvania", "Penn": "Pennsylvania", "Tenn": "Tennessee", "Tex": "Texas",
    "Va": "Virginia", "Vt": "Vermont", "Wash": "Washington", "Wis": "Wisconsin",
    "Wyo": "Wyoming",
}  # fmt: skip

# With their full stop, in lower case. Those in _CAPITALS too with a capital: in names and labels.
ABBREVIATIONS = {
    "e.g.": "for example", "i.e.": "that is", "etc.": "et cetera", "vs.": "versus", "v.": "versus",
    "approx.": "approximately", "dept.": "department", "jr.": "junior", "sr.": "senior",
    "inc.": "incorporated", "ltd.": "limited", "corp.": "corporation", "co.": "company",
    "bros.": "brothers", "apt.": "apartment", "ste.": "suite", "ext.": "extension",
    "tel.": "telephone", "fig.": "figure", "figs.": "figures", "max.": "maximum",
    "avg.": "average", "misc.": "miscellaneous", "cf.": "compare", "al.": "al", "est.":
    "established", "assoc.": "association", "assn.": "association", "govt.": "government",
    "gov't.": "government", "incl.": "including", "excl.": "excluding", "temp.": "temperature",
    "univ.": "university", "intl.": "international", "natl.": "national", "mfg.":
    "manufacturing", "mgr.": "manager", "mgmt.": "management", "ed.": "edition", "eds.": "editors",
    "vol.": "volume", "vols.": "volumes", "ch.": "chapter", "chap.": "chapter", "sec.": "section",
    "dist.": "district", "bldg.": "building", "no.": "number", "nos.": "numbers", "pp.": "pages",
    "p.": "page", "pt.": "part", "eq.": "equation", "ref.": "reference", "resp.": "respectively",
    "attn.": "attention", "hwy.": "highway", "ft.": "feet", "min.": "minimum", "qty.": "quantity",
    "ave.": "avenue", "blvd.": "boulevard", "rd.": "road", "st.": "street", "pkwy.": "parkway",
    "hrs.": "hours", "mins.": "minutes", "esp.": "especially", "orig.": "originally", "tbsp.":
    "tablespoons", "tsp.": "teaspoons", "lbs.": "pounds", "acct.": "account", "amt.": "amount",
    "c.": "circa", "ca.": "circa", "sq.": "square", "para.": "paragraph", "art.": "article",
    "rev.": "revision", "eqs.": "equations", "b.": "born", "d.": "died", "r.": "reigned",
    "fl.": "flourished", "dep.": "deputy", "def.": "definition", "ex.": "example",
}  # fmt: skip
# Only before a number (or the start of one): "No. 5", but "No. I will not."
BEFORE_NUMBER = frozenset(
    "no nos p pp fig figs ch chap sec vol vols pt eq c ca min max ext apt ste art para ed no v "
    "temp ft rev ex def sq eqs b d r fl".split()
)
# Without a full stop.
BARE = {
    "vs": "versus", "eg": "for example", "approx": "approximately", "dept": "department",
    "govt": "government", "misc": "miscellaneous", "incl": "including", "w/o": "without",
    "w/": "with", "b/c": "because", "qty": "quantity", "intl": "international", "bldg": "building",
    "bros": "brothers", "assoc": "association", "mgmt": "management", "acct": "account",
    "asap": "A S A P", "diy": "D I Y", "tv": "T V", "ie": "that is", "etc": "et cetera",
    "gov't": "government", "int'l": "international", "nat'l": "national",
    "ass'n": "association",
    "jr": "junior", "ltd": "limited", "inc": "incorporated",
}  # fmt: skip
# Without a full stop, only before a number.
BARE_BEFORE_NUMBER = {
    "ext": "extension", "apt": "apartment", "ste": "suite", "fig": "figure", "figs": "figures",
    "avg": "average", "min": "minimum", "max": "maximum", "tel": "telephone", "vol": "volume",
    "nos": "numbers", "pp": "pages", "pg": "page", "est": "established",
}  # fmt: skip

# Capitals that are said as a word.
SPOKEN_CAPITALS = frozenset(
    "NASA NATO AIDS SWAT RAM ROM PIN SIM GIF JPEG OPEC FIFA UEFA COVID JSON YAML CUDA BIOS LAN WAN "
    "ZIP MIDI WASP FEMA OSHA IKEA LEGO SARS LOL CAD CAM GAN MOOC NIMBY TOEFL".split()
)

SIGNS = {
    "&": "and", "=": "equals", "@": "at", "%": "percent", "×": "times", "÷": "divided by",
    "±": "plus or minus", "<": "less than", ">": "greater than", "≤": "less than or equal to",
    "≥": "greater than or equal to", "≠": "not equal to", "≈": "is approximately",
    "≡": "is equivalent to", "∑": "sum", "∞": "infinity", "√": "square root of", "π": "pi",
    "∫": "integral", "∂": "partial", "∆": "delta", "∈": "in", "∉": "not in", "∪": "union",
    "∩": "intersection", "∝": "proportional to", "°": "degrees", "§": "section", "¶": "paragraph",
    "©": "copyright", "®": "registered", "™": "trademark", "№": "number", "€": "euro",
    "£": "pound", "$": "dollar", "¥": "yen", "₩": "won", "₹": "rupee", "¢": "cent",
    "‰": "per mille", "#": "hash", "★": "star", "℃": "degrees Celsius", "℉": "degrees Fahrenheit",
    "→": "to", "⇒": "implies",
}  # fmt: skip
