"""Sites ask for the age of their reader with these words, by language. They are data of regular expressions.

Questions are looked for by Python, and labels by JavaScript with the flags i and u.
"""

from __future__ import annotations

import re
from typing import Final

MAX_TEXT: Final = 1500
"""A page that only asks for the age has at most so many characters of text."""

_QUESTIONS: Final = (
    # English
    r"legal (?:drinking |smoking )?age|you born|your birth|(?:of|your) age\b"
    r"|age (?:verification|check|gate|restricted)|old enough|(?:date|year) of birth"
    r"|(?:are you|i am|i.m|must be|have to be|confirm).{0,40}\b(?:16|18|19|20|21)\b"
    r"|\b(?:16|18|21) ?(?:\+|(?:years )?(?:or|and) (?:older|over|above))",
    # German
    r"volljährig|(?:sie|du) geboren|alt genug|geburts(?:jahr|datum|tag)"
    r"|alters(?:prüfung|abfrage|verifikation|nachweis|kontrolle|freigabe)"
    r"|(?:über|mindestens|ab) (?:16|18)|(?:16|18) jahre",
    # French
    r"majeure?s?\b|(?:vous|tu) née?|majorité|âge légal|de l.âge|(?:date|année) de naissance"
    r"|(?:plus de|au moins) (?:16|18) ans|18 ans (?:ou plus|révolus)",
    # Spanish, Portuguese, Catalan, Galician
    r"naciste|nació usted|mayor(?:es)? de (?:edad|18)|edad legal|de (?:la |tu |su )?edad"
    r"|(?:fecha|año) de nacimiento|18 años|maior(?:es)? de (?:idade|18)|idade legal"
    r"|verificação de idade|(?:data|ano) de nascimento|18 anos|majors? d.edat|data de naixement",
    # Italian, Romanian
    r"maggiorenn[ei]|sei nat[oa]|età legale|dell.età|(?:data|anno) di nascita|18 anni|vârst[aă] legal|18 ani"
    r"|(?:data|anul) na[sș]terii",
    # Dutch
    r"meerderjarig|(?:u|je) geboren|(?:16|18) jaar|wettelijke leeftijd|leeftijds?(?:controle|grens|verificatie)"
    r"|geboorte(?:jaar|datum)|oud genoeg",
    # Danish, Norwegian, Swedish, Icelandic
    r"(?:du|de) født|du född|fyldt (?:16|18)|fylt (?:18|20)|fyllt (?:18|20)|(?:over|över) (?:16|18|20)"
    r"|fødsels(?:dato|år|dag)|födelse(?:år|datum)|myndig"
    r"|alders?(?:grense|bekræft|kontroll?|grænse|verifi)|ålders?(?:gräns|kontroll|verifi)|gammel nok|gammal nok"
    r"|fæðingar",
    # Finnish, Estonian, Latvian, Lithuanian
    r"täysi-ikäi|ikäraja|syntymä(?:aika|vuosi|päivä)|(?:yli|vähintään) 18|täisealine|vähemalt 18"
    r"|sünni(?:aasta|kuupäev)"
    r"|pilngadīg|18 gad|dzimšanas|pilnamet|18 metų|gimimo",
    # Polish, Czech, Slovak
    r"pełnoletni|ukończ\w+ 18|18 lat|(?:data|rok) urodzenia|weryfikacj\w+ wieku|plnolet|18 let|18 rok"
    r"|star[sš]í 18|datum narozen|rok narozen"
    r"|ověření věku|dátum narodenia|overenie veku",
    # Slovene, Croatian, Bosnian, Serbian, Hungarian
    r"polnolet|punoljet|18 godina|datum ro(?:jstva|đenja)|godin\w rođenja|nagykorú|elmúlt\w* 18|18 éves|születési",
    # Greek, Turkish
    r"ενήλικ|18 ετών|άνω των 18|(?:ημερομηνία|έτος) γέννησης|18 yaş|doğum (?:tarihi|yıl)|reşit",
    # Russian, Ukrainian, Bulgarian, Macedonian
    r"совершеннолет|18 лет|(?:дата|год) рождения|повнолітн|18 років|дата народження|пълнолет|18 години|полнолет"
    r"|рождена дата",
    # Japanese, Chinese, Korean
    r"(?:18|20)歳以上|年齢確認|生年月日|[已年]满 ?18|出生(?:日期|年)|만 ?1[89]세|성인 ?인증|생년월일",
)
_YES: Final = (
    r"yes\b|enter\b|continue|confirm|submit|verify|proceed|i am\b|i.m\b|i agree|agree|accept|ok\b|go\b"
    r"|over (?:16|18|21)|(?:16|18|21) ?\+",
    r"ja\b|weiter|bestätigen|eintreten|betreten|ich bin\b|absenden|zur seite|zum shop",
    r"oui\b|entrer|continuer|valider|confirmer|je suis (?:majeur|âgé)|j.ai |accéder",
    r"s[ií]\b|entrar|continuar|confirmar|soy mayor|acceder|aceptar|sim\b|sou maior|tenho",
    r"sì\b|entra\b|conferma|continua|sono maggiorenne|accedi|da\b|intr[aă]|continu[aă]|confirm[aă]",
    r"doorgaan|bevestig|ga verder|binnen|ik ben\b",
    r"gå ind|fortsæt|bekræft|jeg er\b|fortsett|bekreft|gå videre|gå in\b|fortsätt|bekräfta|jag är\b|kom ind",
    r"kyllä|jatka|vahvista|olen |jah\b|jätka|kinnita|jā\b|turpināt|taip\b|tęsti|patvirtin",
    r"tak\b|wejdź|dalej|potwierdź|mam |jestem pełno|ano\b|vstoupit|pokračovat|potvrdit|áno\b|vstúpiť|pokračovať"
    r"|potvrdiť",
    r"vstopi|nadaljuj|potrdi|uđi|nastavi|potvrdi|igen\b|belép|tovább|elmúltam",
    r"ναι|είσοδος|συνέχεια|evet\b|giriş|devam|onayla",
    r"да\b|войти|продолжить|подтверд|мне (?:есть|исполнилось|уже)|так\b|увійти|продовжити|вход|продължи",
    r"はい|入場|確認|入る|是|进入|確定|确定|예|네|확인|입장",
)
_NO: Final = (
    r"no\b|not\b|i am (?:not|under)|i.m (?:not|under)|under\b|leave|exit|back\b|nein"
    r"|ich bin (?:nicht|unter|noch)|verlassen|zurück|non\b|je ne suis"
    r"|quitter|moins|n[ãa]o\b|salir|sair|sono minorenne|esci|nee\b|verlaat|nej\b|nei\b|ei\b|nie\b|ne\b|nem\b"
    r"|nu\b|όχι|hayır|нет|ні\b|не\b|いいえ|否|아니",
)


def _label(lines: tuple[str, ...]) -> str:
    """Return a pattern for the beginning of a label. The ends of words are those of all alphabets."""
    return r"^[^\p{L}\d]*(?:" + "|".join(lines).replace(r"\b", r"(?!\p{L})") + ")"


YES_LABEL: Final = _label(_YES)
"""Pattern of JavaScript for a label that says yes."""
NO_LABEL: Final = _label(_NO)
"""Pattern of JavaScript for a label that says no."""
_QUESTION: Final = re.compile("|".join(_QUESTIONS), re.IGNORECASE)


def asks_for_age(text: str) -> bool:
    """Return whether a short text asks its reader for the age."""
    return len(text) <= MAX_TEXT and _QUESTION.search(text) is not None
