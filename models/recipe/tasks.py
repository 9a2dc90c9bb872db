"""Tasks whose answer is in the question: copying, editing, counting, lists, described pictures, things told before.

Every function takes a random generator and returns a list of (question, answer) turns.
"""
import string

import facts as F
from families import a_an, plural
from stories import HE, SHE

NOUNS = ("ball box cup book hat key lamp chair table kite boat car drum bell apple pear bottle bag clock shoe plate "
         "spoon flower stone candle").split()
BEASTS = "dog cat horse cow bird fish mouse frog duck bear sheep fox".split()
COLOURS = "red blue green yellow white black brown pink purple orange grey".split()
VERBS = "sees likes has finds wants loves takes hides sells paints washes carries".split()
SIZES = "big small old new round long little heavy".split()
ON = ["on", "under", "next to", "behind", "in front of"]


def sentence(rng):
    subject = rng.choice((rng.choice(HE + SHE), "the " + rng.choice(BEASTS), "my friend",
                          "the " + rng.choice(COLOURS) + " " + rng.choice(BEASTS)))
    thing = rng.choice(("a", "the", "my", "this")) + " "
    thing += rng.choice((rng.choice(COLOURS) + " ", rng.choice(SIZES) + " ", "")) + rng.choice(NOUNS)
    thing = thing.replace("a old", "an old").replace("a orange", "an orange").replace("a apple", "an apple")
    text = f"{subject} {rng.choice(VERBS)} {thing}"
    if rng.random() < 0.4:
        text += " " + rng.choice(("today", "now", "again", "at home", "in the garden", "every day"))
    return text[0].upper() + text[1:] + "."


def words(rng, low=2, high=6):
    pool = NOUNS + BEASTS + COLOURS + VERBS + SIZES + [d.lower() for d in F.DAYS] + F.NUMBERS
    return rng.sample(pool, rng.randint(low, high))


def foreign_letter(rng):
    ranges = (0xC0, 0x24F), (0x391, 0x3C9), (0x410, 0x44F), (0x4E00, 0x9FFF), (0x1F300, 0x1F64F)
    return chr(rng.choice([rng.randint(*r) for r in ranges]))


def junk(rng):
    """Any printable characters, some beyond ASCII: so that every byte has been seen."""
    if rng.random() < 0.3:
        return "".join(foreign_letter(rng) for _ in range(rng.randint(1, 4)))
    letters = string.ascii_letters + string.digits + string.punctuation
    return "".join(rng.choice(letters) for _ in range(rng.randint(2, 9)))


def copy(rng):
    kind = rng.random()
    text = sentence(rng) if kind < 0.4 else " ".join(words(rng)) if kind < 0.75 else junk(rng) if kind < 0.9 else \
        " ".join(str(rng.randint(0, 99)) for _ in range(rng.randint(2, 6)))
    ask = rng.choice(("Repeat: {}", "Repeat after me: {}", "Say: {}", "Copy this: {}", "Copy this text: {}",
                      "Write exactly: {}",
                      "Please repeat this: {}", "Say this again: {}", "Echo: {}", "Say exactly this: {}"))
    return [(ask.format(text), text)]


def repeat_times(rng):
    word, n = rng.choice(words(rng)), rng.randint(2, 5)
    ask = rng.choice(("Say {w} {n} times.", "Write {w} {n} times.", "Repeat the word {w} {n} times.",
                      "Write the word {w} {n} times."))
    count = F.NUMBERS[n] if rng.random() < 0.6 else str(n)
    return [(ask.format(w=word, n=count), " ".join([word] * n))]


def replace(rng):
    old = sentence(rng)
    parts = old[:-1].split()
    target = rng.choice([w for w in parts if w in NOUNS + COLOURS + VERBS + BEASTS + SIZES] or [parts[-1]])
    pool = next((p for p in (COLOURS, VERBS, BEASTS, SIZES, NOUNS) if target in p), NOUNS)
    new = rng.choice([w for w in pool if w != target])
    out = " ".join(new if w == target else w for w in parts) + "."
    ask = rng.choice(("Replace {o} with {n}: {t}", "Replace \"{o}\" with \"{n}\" in this text: {t}",
                      "Change {o} to {n}: {t}",
                      "In this sentence, change {o} to {n}: {t}", "Change the word {o} to {n}: {t}"))
    return [(ask.format(o=target, n=new, t=old), out)]


def edit(rng):
    """One edit of a short text."""
    text = sentence(rng)
    parts = text[:-1].split()
    name = rng.choice(("upper", "lower", "exclaim", "question", "first", "last", "remove", "nodot", "add"))
    if name == "upper":
        return [(rng.choice(("Write in capital letters: {}", "Make this upper case: {}",
                             "Write this in capitals: {}")).format(text), text.upper())]
    if name == "lower":
        return [(rng.choice(("Write in lower case: {}", "Make this lower case: {}",
                             "Write in small letters: {}")).format(text), text.lower())]
    if name == "exclaim":
        return [(f"Replace the full stop with an exclamation mark: {text}", text[:-1] + "!")]
    if name == "question":
        return [(f"Put a question mark at the end: {text[:-1]}", text[:-1] + "?")]
    if name == "first":
        return [(rng.choice(("What is the first word of this text? {}", "Give me the first word: {}",
                             "First word of: {}")).format(text), parts[0])]
    if name == "last":
        return [(rng.choice(("What is the last word of this text? {}", "Give me the last word: {}",
                             "Last word of: {}")).format(text), parts[-1])]
    if name == "remove":
        word = rng.choice(parts[1:])
        return [(rng.choice(("Remove the word {w}: {t}", "Delete the word {w}: {t}",
                             "Take out the word {w}: {t}")).format(w=word, t=text),
                 " ".join(w for w in parts if w != word) + ".")]
    if name == "nodot":
        return [(f"Remove the full stop: {text}", text[:-1])]
    extra = rng.choice(("today", "again", "now"))
    return [(f"Add the word {extra} at the end: {text}", f"{text[:-1]} {extra}.")]


def word_list(rng):
    """Picking from, joining and turning round short lists."""
    items = words(rng, 2, 5)
    listed, i = ", ".join(items), rng.randrange(len(items))
    name = rng.choice(("reverse", "nth", "count", "join", "spell", "member"))
    if name == "reverse":
        return [(rng.choice(("Reverse the order of these words: {}", "Write these words backwards: {}",
                             "Turn this list around: {}")).format(listed),
                 ", ".join(items[::-1]))]
    if name == "nth":
        return [(rng.choice(("What is the {o} word? {l}", "Which word is the {o} in this list? {l}",
                             "Give me the {o} word of: {l}")).format(
            o=F.ORDINALS[i], l=listed), items[i])]
    if name == "count":
        return [(rng.choice(("How many words are in this list? {}", "Count the words: {}",
                             "How many words are there? {}")).format(listed),
                 F.NUMBERS[len(items)].capitalize() + ".")]
    if name == "join":
        return [(rng.choice(("Join these words with and: {}", "Write these with and between them: {}")).format(listed),
                 " and ".join(items))]
    if name == "member":
        inside = rng.random() < 0.5
        word = items[i] if inside else rng.choice([w for w in words(rng, 6, 6) if w not in items] or ["window"])
        return [(f"Is the word {word} in this list? {listed}", f"Yes, {word} is in the list." if word in items
                 else f"No, {word} is not in the list.")]
    word = rng.choice(NOUNS + BEASTS + COLOURS)
    return [(rng.choice(("Spell the word {}.", "How do you spell {}?", "Spell {}.")).format(word), "-".join(word))]


def counting(rng):
    kind = rng.random()
    if kind < 0.5:
        a, step, n = rng.randint(0, 20), rng.choice((1, 1, 1, 2, 2, 5, 10)), rng.randint(4, 10)
        if rng.random() < 0.3:
            top = a + step * (n - 1)
            seq = range(top, a - 1, -step)
            ask = rng.choice(("Count down from {x} to {y}", "Count backwards from {x} to {y}")).format(x=top, y=a)
        else:
            seq = range(a, a + step * n, step)
            ask = rng.choice(("Count from {x} to {y}", "Count up from {x} to {y}",
                              "Please count from {x} to {y}")).format(x=seq[0], y=seq[-1])
        ask += rng.choice((" by {}.", " in steps of {}.")).format(F.NUMBERS[step]) if step > 1 else "."
        return [(ask, ", ".join(map(str, seq)))]
    if kind < 0.75:
        top = rng.randint(3, 20)
        ask = rng.choice(("Count to {}.", "Can you count to {}?", "Count up to {}.", "Please count to {}."))
        return [(ask.format(top if rng.random() < 0.6 else F.NUMBERS[top]), ", ".join(map(str, range(1, top + 1))))]
    a, step = rng.randint(0, 30), rng.choice((1, 2, 5, 10))
    seq = [a + step * i for i in range(5)]
    shown = ", ".join(map(str, seq[:4]))
    return [(rng.choice(("What comes next? {}", "Which number comes next? {}", "Continue: {}")).format(shown),
             str(seq[4]))]


def examples(rng):
    """Name some of a kind; the days; the months; is it one of a kind."""
    kind = rng.random()
    if kind < 0.15:
        name, items = rng.choice((("days of the week", F.DAYS), ("months of the year", F.MONTHS)))
        return [(rng.choice(("Name the {}.", "List the {}.", "What are the {}?", "Tell me the {}.")).format(name),
                 ", ".join(items))]
    cat = rng.choice(list(F.CATEGORIES))
    items = F.CATEGORIES[cat].split()
    if kind < 0.6:
        n = rng.randint(2, 4)
        many = {"piece of clothing": "pieces of clothing", "piece of furniture": "pieces of furniture"}.get(cat,
                                                                                                            plural(cat))
        start = rng.randint(0, len(items) - n)
        return [(rng.choice(("Name {n} {c}.", "Give me {n} {c}.", "List {n} {c}.",
                             "Tell me {n} {c}.")).format(n=F.NUMBERS[n], c=many),
                 ", ".join(items[start:start + n]))]
    if kind < 0.8:
        item = rng.choice(items[:3])
        return [(rng.choice(("Name {c}.", "Give me an example of {c}.", "Can you name {c}?",
                             "Tell me {c}.")).format(c=a_an(cat)),
                 f"{(item if cat in ('colour', 'drink') else a_an(item)).capitalize()} is {a_an(cat)}.")]
    other = rng.choice([c for c in F.CATEGORIES if c != cat and {c, cat} not in ({"bird", "animal"},
                                                                                 {"fruit", "colour"})])
    item = rng.choice([i for i in items if i not in F.CATEGORIES[other].split()])
    named = item if cat in ("colour", "drink") else a_an(item)
    return [(f"Is {named} {a_an(other)}?", f"No, {named} is {a_an(cat)}.")]


def use_word(rng):
    noun = rng.choice(NOUNS + BEASTS)
    text = rng.choice(("{N} is in the garden.", "I can see {n} from here.",
                       "My friend has {n}.")).format(N=a_an(noun).capitalize(), n=a_an(noun))
    return [(rng.choice(("Make a sentence with the word {}.", "Write a sentence with {}.", "Use {} in a sentence.",
                         "Give me a sentence with the word {}.")).format(noun), text)]


def picture(rng):
    """A picture told in words, then questions about it."""
    c1, c2, c3 = rng.sample(COLOURS, 3)
    x, base = rng.sample(NOUNS + BEASTS, 2)
    y = rng.choice([w for w in NOUNS + BEASTS if w not in (x, base)])
    rel, n = rng.choice(ON), rng.randint(2, 6)
    parts = [f"{a_an(c1)} {x} {rel} {a_an(c2)} {base}"]
    ask = [(f"What colour is the {x}?", f"The {x} is {c1}."), (f"What colour is the {base}?", f"The {base} is {c2}."),
           (f"Where is the {x}?", f"The {x} is {rel} the {base}."),
           (f"What is {rel} the {base}?", f"{a_an(c1).capitalize()} {x} is {rel} the {base}."),
           (f"Is there {a_an(x)} in the picture?", f"Yes, there is {a_an(c1)} {x}."),
           (f"Is there {a_an(y)} in the picture?", f"No, there is no {y}."),
           (f"Is the {x} {c1}?", f"Yes, the {x} is {c1}."),
           (f"Is the {x} {c3}?", f"No, the {x} is {c1}."),
           (f"How big is the {x}?", "I do not know. The picture does not say."),
           (f"What colour is the {y}?", f"There is no {y} in the picture.")]
    if rng.random() < 0.5:
        parts.append(f"{F.NUMBERS[n]} {c3} {plural(y)}")
        ask = [q for q in ask if f"{a_an(y)} in" not in q[0] and f"colour is the {y}" not in q[0]]
        ask += [(f"How many {plural(y)} are there?", f"There are {F.NUMBERS[n]} {plural(y)}."),
                (f"What colour are the {plural(y)}?", f"The {plural(y)} are {c3}.")] * 2
        if rng.random() < 0.5:
            parts.reverse()
    text = rng.choice(("Picture: {}.", "Picture: {}.", "The picture shows {}.",
                       "In the picture there is {}.")).format(" and ".join(parts))
    ask += [("What is in the picture?", f"The picture shows {' and '.join(parts)}."),
            ("Describe the picture.", f"The picture shows {' and '.join(parts)}.")]
    turns = rng.sample(ask, rng.randint(1, 3))
    return [(f"{text} {turns[0][0]}", turns[0][1])] + turns[1:]


def reading(rng):
    """Who has what, said in the question."""
    people = rng.sample(HE + SHE, rng.randint(2, 3))
    things = rng.sample(NOUNS, len(people))
    colours = rng.sample(COLOURS, len(people))
    told = " ".join(f"{p} has {a_an(c)} {t}." for p, c, t in zip(people, colours, things))
    ask = []
    for p, c, t in zip(people, colours, things):
        ask += [(f"What does {p} have?", f"{p} has {a_an(c)} {t}."), (f"Who has the {t}?", f"{p} has the {t}."),
                (f"What colour is the {t}?", f"The {t} is {c}.")]
    other = rng.choice([p for p in HE + SHE if p not in people])
    ask.append((f"What does {other} have?", f"I do not know what {other} has."))
    turns = rng.sample(ask, rng.randint(1, 2))
    return [(f"{told} {turns[0][0]}", turns[0][1])] + turns[1:]


def remember(rng):
    """The user tells something and asks for it later."""
    name, place, thing = rng.choice(HE + SHE), rng.choice([r.split()[1]
                                                           for r in F.CAPITALS.split("|")[:6]]), rng.choice(NOUNS)
    colour, beast, age = rng.choice(COLOURS), rng.choice(BEASTS), str(rng.randint(6, 90))
    told = rng.choice([
        (rng.choice(("My name is {}.", "I am {}.", "I'm {}.", "Hello, I am {}.", "Hi, my name is {}.",
                     "Call me {}.")).format(name),
         f"Hello, {name}! How can I help you?", rng.choice(("What is my name?", "Who am I?", "What's my name?",
                                                            "Do you know my name?")), f"Your name is {name}."),
        (f"My favourite colour is {colour}.", f"{colour.capitalize()} is a nice colour.",
         "What is my favourite colour?", f"Your favourite colour is {colour}."),
        (f"I live in {place}.", f"{place} is a nice place.", "Where do I live?", f"You live in {place}."),
        (f"I have {a_an(beast)} called {name}.", f"{name} is a nice name.",
         rng.choice((f"What is my {beast} called?", f"What is the name of my {beast}?")),
         f"Your {beast} is called {name}."),
        (f"I am {age} years old.", "Thank you for telling me.", "How old am I?", f"You are {age} years old."),
        (f"I bought {a_an(colour)} {thing}.", f"{a_an(colour).capitalize()} {thing} is nice.", "What did I buy?",
         f"You bought {a_an(colour)} {thing}."),
    ])
    if rng.random() < 0.25:
        return [(told[0], told[1])]
    return [(told[0], told[1]), (told[2], told[3])]


TASKS = [(copy, 4.0), (repeat_times, 0.6), (replace, 2.0), (edit, 2.5), (word_list, 2.2), (counting, 2.0),
         (examples, 1.8),
         (use_word, 0.6), (picture, 4.0), (reading, 2.0), (remember, 2.0)]


EXACT = {copy, repeat_times, replace, edit, word_list}  # the answer depends on every letter of the question


def task(rng, rough):
    """Turns of one task; `rough` spoils the wording of those that bear it."""
    make = rng.choices([t for t, _ in TASKS], [w for _, w in TASKS])[0]
    turns = make(rng)
    return turns if make in EXACT else [(rough(rng, q), a) for q, a in turns]
