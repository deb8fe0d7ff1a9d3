"""Letters to sounds, for words that no lexicon holds: names, brands, typing errors.

The longest rule that fits decides at each place, from left to right. `#` in a context is the
word's edge. The reading need not be the dictionary's; it has to be one that an English speaker
would understand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from engine.text.frontend.phones import PRIMARY, VOWELS

# letters = phonemes [/ what must follow (regular expression)] [\\ what must precede]
_RULES = r""" tion=ʃən  ssion=ʃən  sion=ʒən  cian=ʃən  cious=ʃəs  tious=ʃəs  geous=ʤəs  gious=ʤəs
tial=ʃəl  cial=ʃəl  ture=ʧəɹ/# ough=O/#  ought=ɔt  aught=ɔt  augh=ɔ  eigh=A  igh=I  eau=O  tch=ʧ
dge=ʤ/#  dge=ʤ  sch=sk  ght=t  scious=ʃəs ch=k/[lrn]  ch=ʧ  ck=k  sh=ʃ  th=θ  ph=f  wh=w  qu=kw
gh=ɡ\#  gh=  kn=n\#  gn=n\#  gn=n/#  wr=ɹ\#  ps=s\#  pn=n\# ng=ŋ/#  ng=ŋɡ  nk=ŋk  mb=m/#  mn=m/#
rh=ɹ  sc=s/[eiy]  xc=ks/[eiy]  cc=ks/[ei]  gg=ɡ ee=i  ea=i  oo=u  oa=O  ou=W  ow=O/#  ow=W  oi=Y
oy=Y  ai=A  ay=A  au=ɔ  aw=ɔ  ei=A  ey=i/#  ey=A  ie=i  ui=u  ue=u/# eu=ju  ew=ju  oe=O/#  ae=i
ia=iə  io=iO  iu=iə  uy=I  ya=jɑ\# yo=jO\# air=ɛɹ  are=ɛɹ/#  ear=ɪɹ  eer=ɪɹ  oor=ɔɹ  our=ɔɹ
oar=ɔɹ  ore=ɔɹ/#  ire=Iəɹ/#  ure=jʊɹ/#  ere=ɪɹ/# arr=æɹ  err=ɛɹ  irr=ɪɹ  orr=ɔɹ  urr=ɜɹ  ar=ɑɹ
er=əɹ/#  er=ɜɹ  ir=ɜɹ  or=ɔɹ  ur=ɜɹ le=əl/#\[bcdfgkpstz]  les=əlz/#\[bcdfgkpstz]
es=ᵻz/#\(?:s|z|x|ch|sh)  ed=ᵻd/#\[td]  ed=t/#\[pkfsx]  ed=d/#\[^td] a=A/[bcdfgklmnpstvz]e#
e=i/[bcdfgklmnpstvz]e#  i=I/[bcdfgklmnpstvz]e#  o=O/[bcdfgklmnpstvz]e#  u=u/[bcdfgklmnpstvz]e#
a=A/[bcdfgklmnpstvz]ing#  i=I/[bcdfgklmnpstvz]ing#  o=O/[bcdfgklmnpstvz]ing# all=ɔl  alk=ɔk
old=Old  ild=Ild/#  ind=Ind/#  a=ɔ/l[dt]  wa=wɑ a=ə/#  e=/#\[^#]  e=i/#  i=i/#  o=O/#  u=u/#
y=i/#\[^#].+  y=I/#  y=j\#  y=ɪ  a=æ  e=ɛ  i=ɪ  o=ɑ  u=ʌ ce=s/#  ge=ʤ/#  se=z/#\[aeiou]  ve=v/#
c=s/[eiy]  c=k  g=ʤ/[eiy]  g=ɡ  j=ʤ  q=k  x=z\#  x=ks s=z/#\[aeioubdglmnrvwy]  s=s  z=z  b=b  d=d
f=f  h=h  k=k  l=l  m=m  n=n  p=p  r=ɹ  t=t  v=v  w=w
"""
_RULE = re.compile(
    r"(?P<letters>[a-z]+)=(?P<sound>[^/\\]*)(?:/(?P<after>[^\\]+))?(?:\\(?P<before>.+))?"
)
_PENULT = re.compile(r"(?:ic|ical|tion|sion|cian|ity|ian|ia|io|graphy|logy)s?$")


@cache
def _rules() -> tuple[tuple[str, str, re.Pattern[str] | None, re.Pattern[str] | None], ...]:
    rules = []
    for word in _RULES.split():
        match = _RULE.fullmatch(word)
        assert match is not None, word
        after, before = match["after"], match["before"]
        rules.append(
            (
                match["letters"],
                match["sound"],
                re.compile(after) if after else None,
                re.compile(f"(?:{before})$") if before else None,
            )
        )
    # Longer letter groups first; among equals the order of the table, which puts conditions first.
    return tuple(sorted(rules, key=lambda rule: -len(rule[0])))


def _sounds(word: str) -> Iterator[str]:
    edged = f"#{word}#"
    at = 1
    while at < len(edged) - 1:
        for letters, sound, after, before in _rules():
            end = at + len(letters)
            if (
                edged.startswith(letters, at)
                and (after is None or after.match(edged, end))
                and (before is None or before.search(edged[:at]))
            ):
                doubled = len(letters) == 1 and edged[at - 1] == letters and letters not in "aeiou"
                yield "" if doubled else sound
                at = end
                break
        else:
            at += 1


def pronounce(word: str) -> str:
    """Lower-case letters a-z -> a phoneme string with one stressed vowel."""
    phonemes = "".join(_sounds(word))
    vowels = [index for index, phone in enumerate(phonemes) if phone in VOWELS]
    if not vowels:
        # No vowel to carry it: a schwa makes it sayable.
        return phonemes[:1] + PRIMARY + "ə" + phonemes[1:] if phonemes else ""
    full = [index for index in vowels if phonemes[index] not in "əᵊᵻ"] or vowels
    if len(vowels) < 3 or len(full) < 2:
        stressed = full[0]
    elif _PENULT.search(word):
        stressed = vowels[-2] if vowels[-2] in full else full[-1]
    else:
        stressed = vowels[-3] if vowels[-3] in full else full[0]
    return phonemes[:stressed] + PRIMARY + phonemes[stressed:]
