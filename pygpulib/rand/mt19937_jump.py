"""Jumps of MT19937 over sub-sequences, by polynomials over the numbers modulo 2.

``tools/derive_mt19937_jump.py`` derives the two polynomials at the end.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Words: TypeAlias = NDArray[np.uint32]

DEGREE = 19937
"""Degree of the polynomial of the recurrence: the bits of a state that count."""

WINDOW = DEGREE + 624
"""How many words from the first of a state on take part in a jump."""


def twist_on(state: Words, count: int) -> Words:
    """Return the first words of the sequence that begins with a state's 624 words.

    Parameters
    ----------
    state : ndarray of uint32
        624 words.
    count : int
        How many words are wanted, at least 624.
    """
    words = np.empty(count, np.uint32)
    words[:624] = state
    # The next 227 words need none of each other.
    for begin in range(624, count, 227):
        end = min(begin + 227, count)
        oldest, following = words[begin - 624 : end - 624], words[begin - 623 : end - 623]
        mixed = (oldest & np.uint32(0x80000000)) | (following & np.uint32(0x7FFFFFFF))
        odd = (mixed & np.uint32(1)) * np.uint32(0x9908B0DF)
        words[begin:end] = words[begin - 227 : end - 227] ^ (mixed >> np.uint32(1)) ^ odd
    return words


@cache
def stream_jump(exponent: int) -> NDArray[np.uint32]:
    """Return how to jump over ``2**exponent`` sub-sequences.

    Returns
    -------
    ndarray of uint32
        The places of the words whose sum is the word wanted, counted from the present one.
    """
    places = np.nonzero(np.unpackbits(_bytes_of(_stream_polynomial(exponent)), bitorder="little"))
    return places[0].astype(np.uint32)


@cache
def _stream_polynomial(exponent: int) -> int:
    if not exponent:
        return int.from_bytes(base64.b85decode(_JUMP), "little")
    return square(_stream_polynomial(exponent - 1), _TERMS)


def square(polynomial: int, terms: Sequence[int]) -> int:
    """Return the square of a polynomial modulo one of degree 19937.

    Parameters
    ----------
    polynomial : int
        Bit ``i`` stands for ``t**i``.
    terms : sequence of int
        The exponents of the other one, but the highest.
    """
    # Squaring puts a zero between neighbouring bits.
    result = int.from_bytes(_spread_bytes()[_bytes_of(polynomial)].tobytes(), "little")
    while high := result >> DEGREE:
        result &= (1 << DEGREE) - 1
        for term in terms:
            result ^= high << term
    return result


@cache
def _spread_bytes() -> NDArray[np.uint16]:
    """Return every byte with a zero between neighbouring bits."""
    values = np.arange(256, dtype=np.uint16)
    spread = np.zeros(256, np.uint16)
    for bit in range(8):
        spread |= (values >> np.uint16(bit) & np.uint16(1)) << np.uint16(2 * bit)
    return spread.astype("<u2")


def _bytes_of(polynomial: int) -> NDArray[np.uint8]:
    return np.frombuffer(polynomial.to_bytes(DEGREE // 8 + 1, "little"), np.uint8)


_EXPONENTS = (
    "0 1189 1416 1585 1643 1870 2493 2773 3000 3227 3454 3681 3908 4135 4362 4753 5661 6337 "
    "6569 7129 7477 7525 7583 7752 7979 8206 9505 9901 9969 10128 10693 10761 10920 11089 11147 "
    "11157 11215 11321 11374 11384 11485 11611 11712 11717 11838 11881 11944 11997 12277 12335 "
    "12393 12504 12509 12620 12673 12731 12736 12789 12905 12958 12963 13137 13185 13190 13243 "
    "13301 13412 13528 13533 13639 13697 13760 13813 13866 14093 14151 14209 14320 14325 14436 "
    "14547 14552 14605 14721 14774 14779 14953 15001 15006 15059 15117 15228 15344 15349 15455 "
    "15513 15576 15629 15682 15909 15967 16025 16136 16141 16252 16363 16368 16421 16537 16590 "
    "16595 16817 16822 16875 16933 17044 17160 17271 17329 17445 17498 17725 17783 17841 17952 "
    "18068 18179 18237 18406 18633 18691 18860 19087 19314 "
)
_TERMS = tuple(map(int, _EXPONENTS.split()))
_JUMP = (
    "*j(#~fC0QY%7;Cf;`ci(q9i2|u6$2Y?Ag5qZYB+-%8-94H1eec)C`b!F?Ky&jMG0n!by7K)ecXVh_KP1-K{`K{t^^{"
    "fT0#uMw_rX-i1@0AKN^)BB(j&UeOrl;66v2SnPu+gLhHn4NZX%ptAnXEtZ`IZ@d>sj)hh-v^VN$uSg2@aRdQ3c$%Yi"
    "G&D*Y874Pit#ZTUSz;;KH<BRWf9mUi2fdC+kexL`gew%}IzG#OZv`r>xvQ<B*V`ZcWSzKD#cvjVE@G6(iW2IELd<Y6"
    "1Neg@ohdn=kV6I4Zo3J@smn!K=wzAF$x-#3%9Q4%R$DjuD1O9YSatJy-}8qw@FW<WkWFT^;kGiHg%$W37T6)LEYTQ#"
    "y#+>v;wAMldIOwkNy{4by+*{fv;mtWo*^w?HZw)LF^rK#svr5+?C=`A{yqYi8FgzDdlL6%aOP#W))0Nu79%ZfTYglU"
    ")j%naP>Ca@R0coQ8VE946v+6zI(b12@sT3%=}PJPd(L}RWV{-%GAPYY&l|1GKFglD;11H`qb%kK2csnGZP;l0N8spt"
    "PI<A$S_#8Y1^ZxtLAI3rQ(<?>;aD}^EEV&inmSwcjdkTJv9z-xgl4$gzF>21cj81y{KVzpNF0dUSD+Bv8Gn*e#xt2y"
    "{ujeFDhA0{r}_cQhL?fgYJvIXg%s>$s3*cPuIprss|2G5n4b-GZ{>aHDxJ~*OQ>%tc9!l5ZrC32?7ngQPMkoRQf<ZO"
    "U-;xzy;-24+U(_vf!a&%qgAUp@29e*`=sjk43eD>17}-zaeFQ6gWD{B;B)OZ#m%8iepiOt9OCp5WL&bP{Ul%Kol1%E"
    "e{>|Ui@+uI^{fqmX~1uMfA25atRhRn4zi9V5l1>a1uz)!gexDHHpvtEhl(ToPIVQ8mCu$MdnEqj6d=W|wDr}U<R;;("
    "gRp8bxMy&w@5V*Z9&@4{kZO)@L>_(M@F=E5OLyB-F?UR^Ipvnzs)pUdFEpw3aNqKuJJ=UOEiR?$dQBBdO8`!03Sn6="
    "8P}W>V-U`yPwlknVMdgmj&2BHVNXG33+g3U=-bb`ih6^_&AGrPl&C|^h!9Zpu&2Z;gTOH;q>aJ&JiuyGhrE`kD&*=v"
    "F?RvM!4GqnI0rkISoJ{WFYdiD%^-qE7Af+Uu+#YfO7mF3<%%2t<_mRzf^RZicDe1*%-4@rPmHmUbp}l@sEyfC3ng1#"
    "mxgz<b?^fTZMwC7yI#daWfwgIot`sRHI3-!P0^lO(PFOlQx`qq8elj6)6lqtMsY>{u}Z`pQM>rs^w+<7_nB$=KqE|@"
    "3Ktn#f`ajQQJ*aeiIUP@=H|(x_=e7A_Juv(1+JC<m1it;tn&HG1(4%;_}f3SCA3oruaChO1^xK10-BgkL3~ziaQZ{p"
    "93J1`kAl*&(@`#Bxt;ZRSqt$~LcSL)zyBKU2#b6eM&2RPB>7tO5$LzjcwSH&ucQfZR!9!?`-=yty2;>X&_Lo?RiGM;"
    "MZ}OV;wvL0C0l>>R|2f=<AtLp%x3&%y-Ysw0&{W$N~C-T;WPtY`4GY!#Zk(zzK<(Xh)jO)k<S!)GFroKkN{HImrgFE"
    "1c?O-6AdR`l+WCHYXYe>F-_L8IJhWF{wYqWdK7nMl8}V>1ozfQmkE3_0vdXH`J2FNFWu^Nl%OH4f}2}#3FEz!IbxBR"
    "H_f{uxtS@IgMam^7#6pRJ|1&eyPi1CpaAcvIEan73boU2j9be0$%qqEQZl%c`WX+bw)P%S-;v9G485gnOz&AS4_Z(;"
    "Y;Tc0)ZN>Ulh~XYs#Yr517weHJFf=M6_0`pi7{Is<ooY7BFS9t|A0ph8)S^|#)FkMQAD}{dOj#aU8Dx$I<ske(HC;M"
    "px3L?;f+I0M(xDmjSKVAbr#7q)J?Y?>FkaEAo^)qhFv_xKzS#H++b^MHqyQ7U?mc%u%f)vX?EI`BLt2!ccXnaObl)y"
    "rJ$_|+b%M#ywkP<E(1*he`H{nvht%3Pv`u?{MQBvb{p^KI0vulL;Dz3A8AXa(_R8wZlSnXjlqvcm9-@M;O{E^pwGDF"
    "O3Qniqn?0d#&p<CTLyIq60~|oLTgXi68&pDAsFS(+T+#?De{{yHUYUJiAhzK^7RF1N-BRYTA@@bc2Pb(B5+iF-*1h&"
    "V2O~eRzy#-oWzU2H<O41pI4F;Q`HDs#l~dJy3Jd-(ip8m5pN&}sJ26qsG!^ns<FBc`)Jxsp^I2SR0{AL0YUT?5C`qK"
    "!P(mWK$YEAIR=CXS6diY*;(@{;}YPI2fq?3R+l||8UXckHgou!^zt*EG<GI_NHk$C58!A2p10}A6J8^2zM9AX-0j1I"
    "?<!h5x)r%d4GfK{z-n0pWHCmjN>?B>zQWRz4{L)MN}y)T1$Jj_$L^!K)+3h}1_>EVhO8^o)K4*m-a&7e#g+(~I^ZQK"
    "Lv1pDK*U`+6U4g;BKWuq3d%-jaNpqLs3Q8C|Nk!?F%f^;VVM2y7SS;Yz5N*O4T6@u>3*6l`NYp1?!GC=Bx9<XtHA`p"
    "9%UMcV49Tcqjx~yw9?4fqY*yEL}a$PWo534X>aNTWWAWm#%T%8R<ZV+!oUykylQ<zYh<J?Ukv|%hjE~xvXlFR2kN2("
    "fgA;+r|^TmfPC$kOV<(hI9s}_!{ru17Re0OYi?@<Ls8J{BhS*$oc7xo(;+vbxF;I>6*YBZ3^Yr|dOSBI_+!9g#+oOW"
    "INx7ZgSyJh9@IYPXcI7=E5Y=T<{$2PlU9&wtdCGNkblPR*~i$}BV^CSlqmZkDtTgoD4dEi<7nnkrCqhY+$ctow@fZ="
    "|1hCb@Ea&t3xq&|+5sz)-j({;&qOzdq%apj<vWUF+#^Xv!n#cUay|`Yg|_;}&F|4{5;Y+J5h28u?+USP^AFWgs{*BP"
    "88n<2adjK|KjK+p)^iRy>JI~z8I@r=$`^e6TMma&{vZdHUa|@8S^3b=Q_$AR{|eQWA|jv-C(%>a;(T6-)jtYp9>5>="
    "%3Fr|f(!wCxGWGwm$c%JvU$+i+W|8t00b>pyV7XsMOhXFxtm^x1PJz}!bWk<<^wQ79`*JeXP}|k-0I;C7hzJ2?t}xe"
    "Epl>AJ|Q3pgHl%6-6;`b4)-<&u3hYNtwBgt@ob&zx{>bE=IW(U4`YRzkT+d|4+h=qa@`X|oH(ZqSr{9C!hEaPJ+Ryw"
    "Zg6BqnF&!>!@8BKnE)WfGX+O*r#X-mXL#LN;1=QL8M%}7_ta^Ldt7^t0R"
)
