"""Lists of English words: what is known of mentions where nothing about them is annotated."""

Agreement = tuple[str, str, str]
"""Number ("Sing", "Plur"), gender ("Masc", "Fem", "Neut") and person ("1" to "3"); "" where unknown."""

_AGREEMENTS: dict[Agreement, str] = {
    ("Sing", "", "1"): "i me my mine myself",
    ("Plur", "", "1"): "we us our ours ourselves ourself",
    ("", "", "2"): "you your yours ye",
    ("Sing", "", "2"): "yourself thou thee thy thine thyself",
    ("Plur", "", "2"): "yourselves",
    ("Sing", "Masc", "3"): "he him his himself",
    ("Sing", "Fem", "3"): "she her hers herself",
    ("Sing", "Neut", "3"): "it its itself",
    ("Plur", "", "3"): "they them their theirs themselves 'em these those",
    ("Sing", "", "3"): "this one oneself someone somebody anyone anybody everyone everybody nobody "
    "something anything everything nothing",
    ("", "", "3"): "who whom whose which that what whoever whomever none themself",
}
PRONOUNS: dict[str, Agreement] = {word: how for how, words in _AGREEMENTS.items() for word in words.split()}
"""Pronouns, and what they agree with."""

_TITLES = {
    "Masc": "mr mr. mister sir lord king prince duke father uncle brother monsieur",
    "Fem": "mrs mrs. ms ms. miss lady queen princess duchess mother aunt sister madam madame mademoiselle",
}
_NOUNS = {
    "Masc": "man men boy boys son sons husband gentleman gentlemen grandfather nephew actor waiter fellow",
    "Fem": "woman women girl girls daughter daughters wife ladies grandmother niece actress waitress widow",
}
TITLES = {word: gender for gender, words in _TITLES.items() for word in words.split()}
"""Gender of words that stand before a name."""
GENDERS = TITLES | {word: gender for gender, words in _NOUNS.items() for word in words.split()}
"""Gender of words that name a person."""

_PREPOSITIONS = (
    "of in on at by for with from to into onto over under between among amongst through against about after "
    "before during without within upon near beyond behind above below beneath across along around towards "
    "toward beside besides despite except like"
)
PREPOSITIONS = frozenset(_PREPOSITIONS.split())
_CLAUSES = "who whom whose which that where when , ; : ( [ -- — – -lrb- -lsb-"
CLAUSES = frozenset(_CLAUSES.split())
"""Relative pronouns and signs after which nothing of a phrase is its head."""
_ENDINGS = "'s ’s ' ’ '' \" ” ) ] . ! ? Jr Jr. Sr Sr. II III IV VI VII VIII IX Esq. Esq"
ENDINGS = frozenset(_ENDINGS.split())
"""What a phrase may end with beside its head."""
OPENING = frozenset(['"', "``", "“", "‘", "`", "--", "—", "(", "'", ":"])
"""Signs after which a capital says as little as at the start of a sentence."""
