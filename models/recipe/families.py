"""Question families: facts x phrasings. `kept_out` decides which combinations are for the evaluation only."""
import hashlib
from itertools import product

import facts as F

KEEP_OUT = 10  # one combination of fact and phrasing in this many is never trained on


def kept_out(family, key, phrasing):
    """A stable hash, so that generator and evaluation agree without sharing a file."""
    text = f"{family}|{key}|{phrasing}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:4], "big") % KEEP_OUT == 0


class Family:
    """ask/follow/say are templates over the slots of a fact; `key` is the slot that must be in the answer."""

    def __init__(self, name, facts, ask, say, key, follow=(), weight=1.0, unknown=None):
        self.name, self.facts, self.key, self.weight = name, facts, key, weight
        self.ask, self.follow = list(ask), list(follow)
        self.say = say
        self.unknown = unknown  # (slot, kind of filler, refusal template)

    def pairs(self, held):
        """All (fact, phrasing) that are kept out, or all that are not."""
        return [(f, a) for f, a in product(self.facts, self.ask) if kept_out(self.name, f["id"], a) == held]


# Ways to ask for a thing that is named by a noun phrase.
ASK_FOR = ["Tell me {}, please.", "I would like to know {}.", "Could you tell me {}?", "{}, please.",
           "I am looking for {}.",
           "Let me know {}.", "Say {}.", "What might {} be?", "Do you remember {}?", "Please find {}.",
           "I wonder what {} is."]


def ask_for(phrase):
    return [a.replace("{}", phrase) for a in ASK_FOR]


def a_an(word):
    return ("an " if word[0] in "aeiou" else "a ") + word


def plural(word):
    irregular = {"mouse": "mice", "sheep": "sheep", "goose": "geese", "wolf": "wolves"}
    return irregular.get(word, word + "s")


def rows(text, sep=None):
    return [r.split(sep) for line in text.splitlines() for r in ([line] if sep else line.split("|"))]


def fact(ident, **slots):
    return dict(slots, id=ident)


def capital_families():
    table = [(c.replace("-", " "), k.replace("-", " ")) for c, k in rows(F.CAPITALS)]
    table = [("the " + c if c == "Netherlands" else c, k) for c, k in table]
    facts = [fact(c, country=c, capital=k) for c, k in table]
    continents = [fact(c, country=c, continent=k) for k, v in F.CONTINENTS.items() for c in v.split()]
    ask = ["What is the capital of {country}?", "What's the capital of {country}?", "Tell me the capital of {country}.",
           "Which city is the capital of {country}?", "Do you know the capital of {country}?", "Capital of {country}?",
           "Name the capital of {country}.", "Can you tell me the capital of {country}?",
           "I want to know the capital of {country}.", "What is the name of the capital city of {country}?",
           "Please give me the capital of {country}.",
           "What city is the capital of {country}?"] + ask_for("the capital of {country}")
    of = ["Which country has the capital {capital}?", "{capital} is the capital of which country?",
          "What country is {capital} the capital of?", "Which country's capital is {capital}?",
          "Of which country is {capital} the capital?", "In which country is {capital}?",
          "What country is {capital} in?", "Where is {capital}?"] + ask_for("the country that {capital} is in")
    where = ["Which continent is {country} in?", "On which continent is {country}?", "What continent is {country} in?",
             "What is the continent of {country}?", "Tell me the continent of {country}.",
             "{country} is on which continent?"] + ask_for("the continent of {country}")
    return [
        Family("capital", facts, ask, "The capital of {country} is {capital}.", "capital",
               ["And of {country}?", "And {country}?", "What about {country}?", "How about {country}?",
                "And the capital of {country}?"], 3.0, ("country", "place", "I do not know the capital of {x}.")),
        Family("capital-of", facts, of, "{capital} is the capital of {country}.", "country",
               ["And {capital}?", "What about {capital}?", "And which country has {capital}?"], 1.2),
        Family("continent", continents, where, "{country} is in {continent}.", "continent",
               ["And {country}?", "What about {country}?"], 0.8, ("country", "fake", "I do not know where {x} is.")),
    ]


def opposite_families():
    table = [(a, b.replace("-weight", "")) for a, b in rows(F.OPPOSITES)]
    one_way = {("heavy", "light"), ("young", "aged")}
    both = table + [(b, a) for a, b in table if (a, b) not in one_way]
    facts = [fact(a, word=a, opposite="old" if (a, b) == ("young", "aged") else b) for a, b in both]
    ask = ["What is the opposite of {word}?", "What's the opposite of {word}?", "Tell me the opposite of {word}.",
           "Opposite of {word}?", "Give me the opposite of {word}.", "Which word is the opposite of {word}?",
           "What is the opposite of the word {word}?", "Do you know the opposite of {word}?",
           "Name the opposite of \"{word}\".",
           "Can you tell me the opposite of {word}?"] + ask_for("the opposite of {word}")
    return [Family("opposite", facts, ask, "The opposite of {word} is {opposite}.", "opposite",
                   ["And of {word}?", "And {word}?", "What about {word}?", "And the opposite of {word}?"], 2.5,
                   ("word", "word", "I do not know an opposite of {x}."))]


def animal_families():
    table = rows(F.ANIMALS, "|")
    number = {"0": "no", "2": "two", "4": "four", "6": "six"}
    facts = [fact(n, animal=n, an=a_an(n), many=plural(n), sound=s, young=y, a_young=a_an(y), legs=number[l],
                  kind=a_an(k), food=e) for n, s, y, l, k, e in table]
    refuse = ("an", "beast", "I do not know what {x} is.")
    about = ["And {an}?", "What about {an}?", "How about {an}?"]
    return [
        Family("sound", facts, ["What sound does {an} make?", "Which sound does {an} make?",
                                "What noise does {an} make?",
                                "What does {an} say?", "How does {an} sound?", "Tell me the sound of {an}.",
                                "What sound do {many} make?",
                                "Can you tell me the sound {an} makes?"] + ask_for("the sound of {an}"),
               "{An} {sound}.", "sound", about, 1.2, refuse),
        Family("young", facts, ["What is a young {animal} called?", "What is a baby {animal} called?",
                                "What do you call a young {animal}?", "What do you call a baby {animal}?",
                                "What is the name for a young {animal}?", "Tell me the word for a baby {animal}.",
                                "How do we call a baby {animal}?"] + ask_for("the name of a young {animal}"),
               "A young {animal} is called {a_young}.", "young", about, 1.2, None),
        Family("legs", facts, ["How many legs does {an} have?", "How many legs has {an}?",
                               "How many legs do {many} have?",
                               "Tell me how many legs {an} has.", "What number of legs does {an} have?",
                               "Do you know how many legs {an} has?"] + ask_for("the number of legs of {an}"),
               "{An} has {legs} legs.", "legs", about, 1.0, refuse),
        Family("kind", facts, ["What kind of animal is {an}?", "What type of animal is {an}?",
                               "What sort of animal is {an}?",
                               "Which kind of animal is {an}?", "Tell me what kind of animal {an} is."],
               "{An} is {kind}.", "kind", about, 0.8, refuse),
        Family("food", facts, ["What does {an} eat?", "What do {many} eat?", "What does {an} like to eat?",
                               "What is the food of {an}?", "Tell me what {an} eats.",
                               "What can I feed {an}?"] + ask_for("the food of {an}"),
               "{An} eats {food}.", "food", about, 1.0, refuse),
        Family("who-sounds", [f for f in facts if f["animal"] not in ("goat", "sheep")],
               ["Which animal {sound}?", "What animal {sound}?", "Who {sound}?", "Name an animal that {sound}.",
                "Which animal is it that {sound}?"], "{An} {sound}.", "animal", ["And which animal {sound}?"], 0.8),
    ]


def colour_families():
    table = [r.rsplit(" ", 1) for line in F.THING_COLOURS.splitlines() for r in line.split("|")]
    facts = [fact(t, thing=t, colour=c) for t, c in table]
    mixes = [r.split(" ", 2) for line in F.MIXES.splitlines() for r in line.split("|")]
    mixed = [fact(x + y, a=x, b=y, mix=m) for p, q, m in mixes for x, y in ((p, q), (q, p))]
    return [
        Family("colour", facts, ["What colour is {thing}?", "What color is {thing}?", "Which colour is {thing}?",
                                 "Tell me the colour of {thing}.", "What is the colour of {thing}?",
                                 "Do you know the colour of {thing}?", "Which colour does {thing} have?",
                                 "What is the color of {thing}?",
                                 "Can you tell me what colour {thing} is?"] + ask_for("the colour of {thing}"),
               "{Thing} is {colour}.", "colour", ["And {thing}?", "What about {thing}?", "And what colour is {thing}?"],
               2.0, ("thing", "beast", "I do not know what {x} is.")),
        Family("mix", mixed, ["What do you get when you mix {a} and {b}?", "What colour do {a} and {b} make?",
                              "Mix {a} and {b}. What colour is it?", "Which colour do I get from {a} and {b}?",
                              "What is {a} mixed with {b}?", "What happens if I mix {a} with {b}?",
                              "What color do {a} and {b} make?",
                              "{A} and {b} make which colour?"] + ask_for("the colour that {a} and {b} make"),
               "{A} and {b} make {mix}.", "mix", ["And {a} and {b}?", "What about {a} and {b}?"], 1.0),
    ]


def order_family(name, kind, names, direction):
    step = 1 if direction == "after" else -1
    facts = [fact(n, x=n, y=names[(i + step) % len(names)]) for i, n in enumerate(names)]
    ask = ["Which {k} comes {d} {x}?", "What {k} comes {d} {x}?", "What {k} is {d} {x}?", "What comes {d} {x}?",
           "Tell me the {k} {d} {x}.", "Name the {k} {d} {x}.", "Which {k} is right {d} {x}?"]
    ask += ["What {k} follows {x}?", "Which {k} follows {x}?"] if step > 0 else ["Which {k} comes right before {x}?"]
    ask += ask_for("the {k} {d} {x}")
    ask = [a.replace("{k}", kind).replace("{d}", direction) for a in ask]
    return Family(name, facts, ask, "{y} comes " + direction + " {x}.", "y", ["And " + direction + " {x}?",
                  "What about {x}?"], 1.0)


def calendar_families():
    days = [fact(m, month=m, n=str(n)) for m, n in zip(F.MONTHS, F.MONTH_DAYS)]
    nth = [fact(o + " month", o=o, unit="month", of="year", name=m) for o, m in zip(F.ORDINALS, F.MONTHS)]
    nth += [fact(o + " day", o=o, unit="day", of="week", name=d) for o, d in zip(F.ORDINALS, F.DAYS)]
    nth += [fact("last month", o="last", unit="month", of="year", name="December"),
            fact("last day", o="last", unit="day", of="week", name="Sunday")]
    return [
        order_family("day-after", "day", F.DAYS, "after"), order_family("day-before", "day", F.DAYS, "before"),
        order_family("month-after", "month", F.MONTHS, "after"),
        order_family("month-before", "month", F.MONTHS, "before"),
        Family("month-days", days, ["How many days are in {month}?", "How many days does {month} have?",
                                    "How many days are there in {month}?", "Tell me how many days {month} has.",
                                    "How long is {month}?",
                                    "What is the number of days in {month}?"] +
               ask_for("the number of days in {month}"),
               "{month} has {n} days.", "n", ["And {month}?", "What about {month}?", "And in {month}?"], 1.0),
        Family("nth", nth, ["What is the {o} {unit} of the {of}?", "Which is the {o} {unit} of the {of}?",
                            "Which {unit} is the {o} of the {of}?", "Name the {o} {unit} of the {of}.",
                            "Tell me the {o} {unit} of the {of}.",
                            "What {unit} is the {o} of the {of}?"] + ask_for("the {o} {unit} of the {of}"),
               "The {o} {unit} of the {of} is {name}.", "name", ["And the {o} {unit}?"], 1.0),
    ]


SUM_ASK = ["What is {a} {w} {b}?", "What's {a} {w} {b}?", "How much is {a} {w} {b}?", "Calculate {a} {w} {b}.",
           "{a} {w} {b}?", "Tell me {a} {w} {b}.", "What does {a} {w} {b} make?", "Can you work out {a} {w} {b}?",
           "What is the answer to {a} {w} {b}?"] + ask_for("the result of {a} {w} {b}")
SIGN_ASK = ["What is {a} {s} {b}?", "{a} {s} {b}?", "{a} {s} {b} = ?", "What's {a} {s} {b}?", "{a}{s}{b}",
            "How much is {a} {s} {b}?", "Calculate {a} {s} {b}.", "{a} {s} {b} ="]


def sums():
    for a, b in product(range(21), repeat=2):
        yield a, "+", "plus", b, a + b
        if a >= b:
            yield a, "-", "minus", b, a - b
    for a, b in product(range(11), repeat=2):
        yield a, "*", "times", b, a * b


def number_families():
    w = F.NUMBERS
    table = list(sums())
    digits = [fact(f"{a}{s}{b}", a=str(a), b=str(b), s=s, w=word, c=str(c)) for a, s, word, b, c in table]
    words = [fact(f"{a}{s}{b}", a=w[a], b=w[b], s=s, w=word, c=w[c]) for a, s, word, b, c in table if c <= 20]
    compare = [fact(f"{a},{b}", a=str(a), b=str(b), big=str(max(a, b)), small=str(min(a, b)))
               for a, b in product(range(31), repeat=2) if a != b]
    parity = [fact(str(n), n=str(n), p="even" if n % 2 == 0 else "odd") for n in range(41)]
    double = [fact(str(n), n=str(n), d=str(2 * n)) for n in range(1, 21)]
    order = [fact(str(n), n=str(n), up=str(n + 1), down=str(n - 1)) for n in range(1, 100)]
    spell = [fact(x, n=str(i), word=x) for i, x in enumerate(w)]
    return [
        Family("sum", digits, SUM_ASK + SIGN_ASK, "{a} {s} {b} = {c}.", "c",
               ["And {a} {w} {b}?", "And {a} {s} {b}?", "What about {a} {w} {b}?"], 7.0),
        Family("sum-words", words, SUM_ASK, "{A} {w} {b} is {c}.", "c", ["And {a} {w} {b}?"], 2.5),
        Family("larger", compare, ["Which is larger, {a} or {b}?", "Which is bigger, {a} or {b}?",
                                   "Is {a} or {b} larger?",
                                   "Which number is larger, {a} or {b}?", "What is the larger number, {a} or {b}?",
                                   "What is more, {a} or {b}?"], "{big} is larger than {small}.", "big", [], 1.0),
        Family("smaller", compare, ["Which is smaller, {a} or {b}?", "Which number is smaller, {a} or {b}?",
                                    "Is {a} or {b} smaller?", "What is less, {a} or {b}?"],
               "{small} is smaller than {big}.", "small", [], 0.7),
        Family("parity", parity, ["Is {n} even or odd?", "Is {n} odd or even?", "Is the number {n} even or odd?",
                                  "Tell me if {n} is even or odd."], "{n} is {p}.", "p", ["And {n}?"], 0.7),
        Family("double", double, ["What is double {n}?", "What is twice {n}?", "Double {n}.",
                                  "Tell me the double of {n}."] + ask_for("double {n}"),
               "Double {n} is {d}.", "d", ["And double {n}?"], 0.5),
        Family("half", double, ["What is half of {d}?", "Tell me half of {d}.", "How much is half of {d}?",
                                "Half of {d}?"] + ask_for("half of {d}"), "Half of {d} is {n}.", "n",
                                ["And half of {d}?"], 0.5),
        Family("next", order, ["What number comes after {n}?", "Which number comes after {n}?", "What comes after {n}?",
                               "What is the next number after {n}?"] + ask_for("the number after {n}"),
                               "{up} comes after {n}.", "up", ["And after {n}?"], 1.0),
        Family("previous", order, ["What number comes before {n}?", "Which number comes before {n}?",
                                   "What comes before {n}?"] + ask_for("the number before {n}"),
                                   "{down} comes before {n}.", "down", ["And before {n}?"], 0.7),
        Family("write-number", spell, ["Write {n} as a word.", "How do you write {n} in words?",
                                       "Spell the number {n}.",
                                       "What is {n} in words?"], "{n} is written {word}.", "word", ["And {n}?"], 0.4),
    ]


def category_families():
    table = {c: v.split() for c, v in F.CATEGORIES.items()}
    member = [fact(f"{c}:{x}", an=x if c in ("colour", "drink") else a_an(x), cat=a_an(c)) for c, v in table.items()
              for x in v if not (c == "colour" and x == "orange")]
    return [Family("category", member, ["Is {an} {cat}?", "Would you say that {an} is {cat}?",
                                        "Can {an} be called {cat}?"],
                   "Yes, {an} is {cat}.", "cat", [], 0.6),
            Family("what-is", member, ["What is {an}?", "Tell me what {an} is.", "Do you know what {an} is?",
                                       "What's {an}?"],
                   "{An} is {cat}.", "cat", ["And {an}?", "And what is {an}?"], 0.8,
                   ("an", "beast", "I do not know what {x} is."))]


def general_families():
    table = rows(F.GENERAL, "|")
    facts = [fact(q, q=q, other=o, answer=a, key=k, ql=lower_first(q), ol=lower_first(o)) for q, o, a, k in table]
    ask = ["{q}", "{other}", "I have a question. {q}", "Please tell me: {ql}", "Tell me: {ol}", "Quick question: {ql}",
           "Hi! {q}", "Do you know this? {other}", "My child asks: {q}", "Hello. {other}"]
    return [Family("general", facts, ask, "{answer}", "key", ["And {ql}", "And {ol}"], 3.0)]


def lower_first(text):
    return text[0].lower() + text[1:]


def fill(template, slots):
    """`{Name}` is the slot `name` with a capital first letter."""
    caps = {k[0].upper() + k[1:]: v[:1].upper() + v[1:] for k, v in slots.items() if k[0].islower()}
    text = template.format(**{**caps, **slots})
    return text[0].upper() + text[1:]


def all_families():
    parts = (capital_families, opposite_families, animal_families, colour_families, calendar_families, number_families,
             category_families, general_families)
    return [f for part in parts for f in part()]
