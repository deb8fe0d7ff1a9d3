"""German, French and Spanish at the level of numbers, money, dates, times; others at numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from num2words import num2words

from engine.reading import read


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("de", "Das kostet 3,50 €.", "Das kostet drei Euro und fünfzig Cent"),
        ("de", "1 € oder 1.299,05 EUR", "ein Euro oder eintausendzweihundertneunundneunzig Euro und"
         " fünf Cent"),
        ("de", "am 3. Mai 2024 um 14:30 Uhr", "am dritten Mai zweitausendvierundzwanzig um vierzehn"
         " Uhr dreißig"),
        ("de", "der 1. Mai um 1 Uhr", "der erste Mai um ein Uhr"),
        ("de", "28.09.2025", "achtundzwanzigster September zweitausendfünfundzwanzig"),
        ("de", "-5 °C, 1 km, 50%", "minus fünf Grad Celsius ein Kilometer fünfzig Prozent"),
        ("de", "2,5 und 1 000 000", "zwei Komma fünf und eine Million"),
        ("de", "im Jahr 1998", "im Jahr neunzehnhundertachtundneunzig"),
        ("fr", "Le 1er mai 2024 à 14h30", "Le premier mai deux mille vingt-quatre à quatorze heures"
         " trente"),
        ("fr", "21h, 1h", "vingt et une heures une heure"),
        ("fr", "3,50 € et 1 000 000 €", "trois euros et cinquante centimes et un million d’euros"),
        ("fr", "12,5 % de 71 km", "douze virgule cinq pour cent de soixante et onze kilomètres"),
        ("fr", "28/09/2025", "vingt-huit septembre deux mille vingt-cinq"),
        ("es", "el 3 de mayo de 2024", "el tres de mayo de dos mil veinticuatro"),
        ("es", "a las 14:30", "a las catorce treinta"),
        ("es", "21 € y 1.299,50 €", "veintiún euros y mil doscientos noventa y nueve euros con"
         " cincuenta céntimos"),
        ("es", "21 £ y -5 km", "veintiuna libras y menos cinco kilómetros"),
        ("ru", "1 000 и 5", "одна тысяча и пять"),
        ("ja", "25", "二十五"),
    ],
)  # fmt: skip
def test_languages(language: str, text: str, words: str) -> None:
    assert str(read(text, language)) == words


@pytest.mark.parametrize("language", ["de", "fr", "es"])
@given(number=st.integers(0, 10**9), cents=st.integers(1, 99))
def test_numbers_are_those_of_num2words(language: str, number: int, cents: int) -> None:
    assert str(read(f"{number}", language)) == num2words(number, lang=language)
    grouped = f"{number:,}".replace(",", ".")
    assert str(read(f"{grouped} x", language)) == f"{num2words(number, lang=language)} x"
    amount = str(read(f"{grouped},{cents:02} €", language))
    assert amount.startswith(num2words(number, lang=language)[:6]) or number < 2
