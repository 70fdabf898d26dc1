"""Words that a sentence splitter must know, in English and German, lower case and without their last full stop."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A full stop after these never ends a sentence: something must follow.
TITLES_AND_LINKS = _words("""
mr mrs ms messrs dr drs prof st mt ft sgt lt col capt cpl maj gen gov sen rep rev hon pres supt insp mme mlle dipl
ing med dent phil rer nat jur habil hr fr frl hl sel e.g i.e viz cf vs approx est dept z.b z.t u.a d.h i.d.r u.u v.a
m.e i.a s.o s.u a.k.a bzw ca vgl sog ggf evtl inkl exkl einschl geb gest verh zzgl abzgl hrsg bspw insb nr sig av
sta
""")

# These may end a sentence: they do where a word follows that often begins one (OPENERS).
MAY_END = _words("""
etc usw al inc ltd co corp bros plc jr sr esq ave blvd rd sq str vol op cit ed eds min max std sek mio mrd tel jh
jhd chr u.s u.k u.n e.u d.c p.m a.m b.c a.d ph.d o.ä u.ä u.s.w e.v n.chr v.chr usf ff bd abs art sec ch
""")

# Before a number these are abbreviations, else words ("no. 5", but "She said no. He left.").
BEFORE_NUMBERS = _words("""
no nos nr fig figs p pp s vol sec ch chap eq eqs art abs abb tab kap bd ex par ziff § jan feb mar mär apr jun jul
aug sep sept oct okt nov dec dez
""")

# They begin sentences, and seldom follow an abbreviation within one, also in lower case.
OPENERS = _words("""
the he she it we they i you this these those there here but however his her its their our my meanwhile then later a
er sie es wir ich der die das ein eine dies diese dieser dieses doch aber dann danach dort hier nun man sein seine
ihr ihre jedoch trotzdem deshalb daher später
""")

# With a capital letter these begin sentences, too.
CAPITAL_OPENERS = OPENERS | _words("""
in on at for with after before when while if as since although because by from to what who why how not no yes so or
and an once one two three many most some all each every both several another other even such that nobody nothing
everyone im am an auf bei beim mit nach seit von vom vor zu zum zur für gegen ohne um durch wenn weil als ob nachdem
obwohl während was wer wie wo warum den dem einer einem einen mein kein keine nur noch schon erst viele alle beide
heute gestern damals damit dabei niemand und auch jetzt so unser unsere dazu
""")

# A number with a full stop between one of these and another word is an ordinal ("der 2. Weltkrieg").
BEFORE_ORDINALS = _words("""
der die das den dem des am im vom zum zur beim ans ins ein eine einen einem einer eines sein seine seinen seinem
seiner seines ihr ihre ihren ihrem ihrer ihres mein meine meinen meinem meiner unser unsere unseren unserem unserer
jeder jede jedes jeden jedem dieser diese dieses diesen diesem kein keine ab bis seit ersten und als
""")

# So is one before these, whatever precedes it.
AFTER_ORDINALS = _words("""
januar jänner februar märz april mai juni juli august september oktober november dezember jahrhundert jahrhunderts
jahrhunderte weltkrieg weltkriegs weltkrieges geburtstag geburtstags klasse auflage runde spieltag minute stock
bezirk jahrestag jubiläum platz etage liga lebensjahr und oder bis
""")

# A Roman number behind one of these only counts; elsewhere its full stop makes an ordinal ("Ludwig XIV. regierte").
COUNTED_BY_ROMAN = _words("war part chapter type act volume phase title grade stage kapitel teil band klasse typ akt")

# What follows a question in quotation marks within one sentence: "Why?" she asked.
SPEECH = _words("""
said says asked asks cried replied shouted whispered answered told added wondered screamed yelled called demanded
exclaimed insisted murmured repeated wanted reads sagte sagt fragte fragt rief ruft antwortete meinte erklärte
flüsterte schrie erwiderte wollte murmelte
""")
