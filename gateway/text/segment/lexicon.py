"""Words whose full stop need not end a sentence, and words that can only begin one.

One list for all languages, since the language of an LLM's text is not announced and may change in
mid-sentence. A word that is also an ordinary word of another language goes into the weaker list.
All entries are lower case and without the last full stop.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Always followed by what they belong to: titles, "for example", "that is", "compare".
NEVER_FINAL = _words("""
mr mrs ms mx dr prof gen col maj capt cmdr lt sgt cpl pvt adm rev hon gov sen rep supt messrs mmes
vs viz cf approx eg e.g ie i.e av n.b incl excl esp asst assoc dist ph
hr fr dipl bzw evtl ggf inkl exkl zzgl vgl sog bspw allg geb z.b d.h u.u v.a i.d.r
mm mme mmes mlle mlles ste p.ex env apr
sra srta srs sras dra dña ud uds vd vds lic arq profa gral avda p.ej ee aprox d.na exmo exma
sig sigg sig.ra sigra dott dott.ssa avv geom prof.ssa sigg.ri on.le
dhr mevr mw drs ir bijv d.w.z o.a m.b.t i.v.m t.a.v i.p.v evt
t.ex bl.a f.eks dvs s.k tlf esim vrt
np tzn tj m.in mgr inż hab med phil rer nat jur kath evang пгт ul płk tzw n.p
např tzv mudr judr rndr phdr nám
т.е т.к напр проф акад гр ул просп пер обл см ст
pl ún ifj özv doç örn bkz sn dl dna dnul
κα κκ π.χ δηλ tp tp.hcm ths pgs gs bs
bpk sdr yth jl डॉ डा प्रो ডা ডঃ মো திரு د أ
""")

# Not final before a number ("No. 5"); otherwise ordinary words.
BEFORE_NUMBER = _words("""
no nos nr nrs num núm n fig figs eq eqs vol vols p pp pg pgs pag pagg pág págs ch chap cap sec
sect art arts
para op ex ver abb bd kap abs ziff par bl blz str č kl godz s σελ αρ рис табл гл п стр hlm tgl nº
n° tel ext
ca circa ok al
""")

# May end a sentence: the next word decides ("at 5 p.m. The", "in the U.S. Army").
MAYBE_FINAL = _words("""
etc st mt inc ltd co corp llc plc jr sr bros esq dept univ est ave blvd rd hwy apt al a.m p.m a.d
b.c u.s u.k
jan feb mar ene
abr dic lun jue apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri
oz lb lbs ft sq hrs hr tsp tbsp min max ing
usw mio mrd jh jhd str tel uu es ecc enz osv m.m m.fl mfl kr ym jne mm ks im itd itp tys mln mld
zł r
atd apod kč руб млн млрд тыс т.д т.п др пр г гг им stb kb id vb κλπ κ.λπ κ.ά v.v dll dsb dkk ltda
séc
""")

# An upper-case word that begins a sentence far more often than it follows an abbreviation.
STARTERS = _words("""
the a an this that these those he she it we you they i his her its our their my your there here
then when
where what who why how if in on at for from after before but and or so yet now however also as
while although
though because since once until with without by to not no yes please let's maybe perhaps meanwhile
moreover
finally next both each every some many most all another other such thus therefore it's i'm i'll
i've he's
she's we're you're they're that's there's here's don't is are was were do does did can could would
should
der die das den dem des ein eine einen er sie es wir ihr ich und aber oder wenn dann danach hier
im am auf
mit nach für bei diese dieser dieses damit da dort doch jetzt heute man auch als wie was wer wo
warum
le la les un une des ce cette ces il elle ils elles on nous vous je tu mais et ou donc car dans en
pour avec
sur après avant puis ensuite si quand comme
el los las una este esta estos estas eso él ella ellos nosotros yo tú usted pero y o cuando como
con para
por después antes luego sí también además hay
os as um uma isso ele ela eles nós eu você mas e se quando em com depois não
lo gli i sono è era ho questo questa lui lei noi voi io ma come per dopo prima poi non anche
de het een dit dat deze hij zij ze wij ik jij maar en of dan toen op met voor na
det den ett et han hon hun vi jag jeg du men och og om når när då på med för efter etter
to ten ta te ona oni my ja ale jeśli gdy w na z do po nie tak jest
это этот эта эти он она они мы я ты вы но и а если когда в на с по для после не да так там здесь
как что кто
bu şu ben sen biz siz ama ve eğer bir daha sonra
và nhưng nếu khi trong đây đó tôi anh chị chúng họ
""")

# What an ordinal's full stop is followed by where nouns and months are upper case ("3. Oktober").
AFTER_ORDINAL = _words("""
januar jänner februar feber märz april mai juni juli august september oktober november dezember
jahrhundert jahrhunderts jahrtausend weltkrieg weltkriegs weltkriege stock stockwerk etage klasse
platz liga
bundesliga kapitel teil tag mal jahr geburtstag auflage og ug spieltag minute runde reihe semester
advent
lebensjahr hochzeitstag bezirk buch band akt satz symphonie sinfonie
""")

# Days and months, long and short: figures may follow them. With a capital only.
DATE_WORDS = _words("""
january february march april may june july august september october november december
jan feb mar apr jun jul aug sep sept oct nov dec
monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun
januar februar märz mai juni juli oktober dezember
""")

# Behind a comma these still belong to the name before it.
NAME_TAILS = _words("jr sr inc ltd llc phd ph.d md m.d esq ii iii iv")

# No word that begins a sentence: behind a full stop without a space they are part of an address.
ENDINGS = _words("""
com org net edu gov mil io ai dev app co uk us de fr es it eu ca au in jp cn ru me tv info biz
js ts py rb go rs java json yaml yml xml html css md txt pdf csv png jpg gif svg mp3 mp4 wav zip exe
net asp cpp
""")
