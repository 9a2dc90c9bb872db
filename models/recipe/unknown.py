"""Questions the model cannot know the answer of, and plain refusals."""
import facts as F
from families import a_an, all_families, fill, kept_out

SYLLABLES = ("zor bla qui ven tar mo lu fen dra kel mip sno vor gul tri pha nor wex jub ral thi bo cra du ely fro gra "
             "hin jo kra lom nim or pel rin sul tov ul vash wil yor zan").split()
NAMES = ("Peter Maria John Sarah David Laura Robert Julia Thomas Helen Frank Olga Simon Alice Martin Eva George Irene "
         "Victor Karen").split()
LAST = "Miller Brown Smith Novak Larsen Fischer Walker Stone Baker Hill Young Green Carter Weber Rossi".split()
FUTURE = ["tomorrow", "next week", "next year", "next month", "in 2050", "in ten years", "tonight", "on Friday",
          "next summer", "in the year 2100", "at the weekend"]
PAST = ["yesterday", "last night", "this morning", "last week", "on Sunday", "last summer", "today"]
EVENTS = ["the match", "the election", "the race", "the world cup", "the lottery", "the game", "the final",
          "the contest"]
RELATIVES = "mother father sister brother aunt uncle teacher neighbour boss friend cousin grandmother cat dog".split()
OBJECTS = "keys phone glasses wallet umbrella shoes bag book coat ticket".split()
SECRETS = ["password", "phone number", "address", "birthday", "favourite colour", "middle name", "shoe size", "PIN",
           "email address", "bank balance", "age", "favourite song", "home town", "blood type", "surname"]
GOODS = ["bread", "milk", "gold", "a train ticket", "a house", "petrol", "a new phone", "coffee", "a bicycle", "a car"]
WORKS = ["The Silent Harbour", "The Glass Road", "Winter Letters", "A Song for Mary", "The Last Lighthouse",
         "Blue Hours",
         "The Iron Garden", "Seven Doors", "The Stone Bridge", "North Wind"]
LANGUAGES = "French German Spanish Chinese Latin Russian Japanese Polish Greek Turkish".split()
CITIES = ("Paris Rome London Berlin Madrid Oslo Tokyo Moscow Cairo Lima Vienna Warsaw Dublin Athens Boston "
          "Chicago").split()

FUTURE_ASK = ["Who will win {event} {future}?", "Who is going to win {event}?", "Will it rain {future}?",
              "What will the weather be like {future}?", "Will it snow {future} in {city}?",
              "What will happen {future}?", "Will I be rich {future}?", "What will {goods} cost {future}?",
              "When will I meet {name}?", "Will my {relative} visit me {future}?", "Will I pass my exam {future}?",
              "What will I eat {future}?", "Which numbers will win the lottery {future}?", "How will the world end?",
              "When will the next earthquake be in {city}?", "Will {name} marry {name2}?", "Who will be king {future}?",
              "Where will I live {future}?", "Can you predict the future?",
              "Can you tell me who wins {event} {future}?",
              "What is going to happen to {name} {future}?", "When will my train come {future}?"]
PRIVATE_ASK = ["What is my {secret}?", "What's my {secret}?", "Do you know my {secret}?", "Tell me my {secret}.",
               "What did I eat {past}?", "What did I do {past}?", "Where did I leave my {objects}?",
               "Where are my {objects}?",
               "What is my {relative}'s name?", "What is the name of my {relative}?", "How old is my {relative}?",
               "What is {name}'s {secret}?", "What is the {secret} of {name} {last}?", "Where does {name} {last} live?",
               "How old is {name}?", "What is {name} doing now?", "Who is my {relative}?", "What am I thinking?",
               "What am I holding in my hand?", "What is in my pocket?", "Where am I?", "How many brothers do I have?",
               "Did my {relative} call {past}?", "Why is my {relative} angry?", "What did {name} say {past}?",
               "Where was I {past}?", "What colour is my {objects2}?", "What colour are my {relative}'s eyes?",
               "Does {name} love me?", "What did I dream {past}?", "Who called me {past}?", "How much money do I have?"]
LIVE_ASK = ["What time is it?", "What's the time?", "What time is it in {city}?", "What day is it today?",
            "What is the date?",
            "What is today's date?", "What is the weather in {city}?", "How is the weather today?",
            "What's the weather like?",
            "Is it raining in {city}?", "How warm is it in {city}?", "What is in the news?", "What is the news today?",
            "What happened {past}?", "Who won {event} {past}?", "What was the score of {event} {past}?",
            "How much does {goods} cost?", "What is the price of {goods}?", "What is the price of {goods} today?",
            "Is the shop open now?", "When does the next train to {city} leave?", "What year is it?",
            "Who is the president now?", "What is on television {past2}?", "Is the road to {city} open?",
            "How many people are online now?", "Where is {name} right now?", "What song is number one now?"]
OBSCURE_ASK = ["Who wrote {work}?", "When was {name} {last} born?", "Who is {name} {last}?", "Who was {name} {last}?",
               "How many people live in {city}?", "What is the population of {city}?", "Who is the mayor of {city}?",
               "What does {word} mean?", "Where is {place}?", "Who rules {place}?",
               "How do I get to {place}?", "How many people live in {place}?", "Who was the first king of {place}?",
               "What language do they speak in {place}?", "What is the currency of {place}?", "How big is {place}?",
               "How do you say hello in {language}?", "How do you say dog in {language}?", "Who founded {city}?",
               "Who painted {work}?", "What is the book {work} about?", "Who sang {work}?",
               "In which year was {work} made?",
               "How many bricks are in my house?", "How many birds live in {place}?", "How tall is {name} {last}?",
               "What is the name of the dog of {name} {last}?", "How many stars are there exactly?",
               "What is the longest street in {city}?", "How far is it from {city} to {city2}?",
               "Who invented the {word}?", "When was {place} founded?", "What is the flag of {place}?",
               "Do you know {name} {last}?", "Tell me about {place}.", "Tell me about {name} {last}."]
UNABLE_ASK = ["Set an alarm for seven.", "Play some music.", "Play {work}.", "Call my {relative}.",
              "Send {name} a message.",
              "Send an email to {name}.", "Turn on the light.", "Turn off the {objects3}.", "Open the door.",
              "Book a flight to {city}.", "Order a pizza.", "Search the internet for {goods}.",
              "Show me a map of {city}.",
              "Translate this into {language}: the cat sleeps.", "Open the file {word}.txt.", "Buy {goods} for me.",
              "Remind me to call {name}.", "Take a photo.", "Draw a picture of {city}.", "Can you call my {relative}?",
              "Can you play music?", "Can you turn on the {objects3}?", "Can you send a message to {name}?"]

# kind: (questions, refusals, share)
KINDS = {
    "future": (FUTURE_ASK, ["I do not know. Nobody can know the future."], 1.0),
    "private": (PRIVATE_ASK, ["I do not know that. I know only what you tell me."], 1.3),
    "live": (LIVE_ASK, ["I do not know. I cannot see what happens now."], 1.2),
    "obscure": (OBSCURE_ASK, ["I do not know that. I am only a small model."], 1.5),
    "unable": (UNABLE_ASK, ["I cannot do that. I can only write text."], 0.7),
}


def made_up(rng, suffix=("", "ia", "land", "stan", "ovia", "or", "a")):
    return ("".join(rng.choice(SYLLABLES) for _ in range(rng.choice((2, 2, 3)))) + rng.choice(suffix)).capitalize()


def made_up_word(rng):
    return made_up(rng, ("", "k", "p", "le", "er", "o")).lower()


def slots(rng):
    name, name2 = rng.sample(NAMES, 2)
    city, city2 = rng.sample(CITIES, 2)
    return dict(event=rng.choice(EVENTS), future=rng.choice(FUTURE), past=rng.choice(PAST),
                past2=rng.choice(("now", "tonight")),
                city=city, city2=city2, name=name, name2=name2, last=rng.choice(LAST), relative=rng.choice(RELATIVES),
                objects=rng.choice(OBJECTS), objects2=rng.choice(("car", "house", "hat", "coat", "bag")),
                objects3=rng.choice(("radio", "television", "heating", "lamp")), secret=rng.choice(SECRETS),
                goods=rng.choice(GOODS), work=rng.choice(WORKS), language=rng.choice(LANGUAGES), word=made_up_word(rng),
                place=made_up(rng))


def general_unknown(rng, held):
    """A question without an answer, of the trained or of the kept-out combinations, and its refusal."""
    kinds = list(KINDS)
    while True:
        kind = rng.choices(kinds, [KINDS[k][2] for k in kinds])[0]
        asks, refusals, _ = KINDS[kind]
        template = rng.choice(asks)
        text = template.format(**slots(rng))
        fixed = text == template  # nothing to vary: only ever trained
        if (not fixed and kept_out(kind, text, template)) == held:
            return kind, text, rng.choice(refusals)


FAMILIES = [f for f in all_families() if f.unknown]
WORDS = ("table river seven Monday window banana cloud spoon paper garden music pencil bread letter engine "
         "carpet").split()


def filler(rng, kind):
    if kind == "place":
        return rng.choice(F.UNTAUGHT) if rng.random() < 0.25 else made_up(rng)
    if kind == "fake":
        return made_up(rng)
    if kind == "word":
        return rng.choice(WORDS) if rng.random() < 0.4 else made_up_word(rng)
    return a_an(made_up_word(rng))


def family_unknown(rng, held):
    """A phrasing of a known family over something the model has never been told about."""
    while True:
        family = rng.choices(FAMILIES, [f.weight for f in FAMILIES])[0]
        slot, kind, refusal = family.unknown
        asks = [a for a in family.ask if "{many}" not in a]
        x, template = filler(rng, kind), rng.choice(asks)
        if kept_out(family.name, x, template) == held:
            values = {slot: x, "animal": x.split()[-1], slot[0].upper() + slot[1:]: x}
            return family, x, fill(template, values), fill(refusal, {"x": x})


def big_sum(rng, held):
    """Sums outside the range that is taught."""
    while True:
        a, b = rng.randint(21, 9999), rng.randint(12, 9999)
        sign, word = rng.choice((("*", "times"), ("+", "plus"), ("-", "minus"), ("/", "divided by")))
        template = rng.choice(("What is {a} {s} {b}?", "What is {a} {w} {b}?", "{a} {s} {b}",
                               "How much is {a} {w} {b}?",
                               "Calculate {a} {s} {b}.", "{a} {s} {b} = ?"))
        if a + b > 110 and kept_out("big", f"{a},{b}", template) == held:
            return "big-sum", template.format(a=a, b=b, s=sign,
                                              w=word), "I cannot do that sum. The numbers are too big for me."


def unknown(rng, held=False):
    """(kind, question, refusal)"""
    pick = rng.random()
    if pick < 0.1:
        return big_sum(rng, held)
    if pick < 0.4:
        family, _, question, refusal = family_unknown(rng, held)
        return "made-up " + family.name, question, refusal
    return general_unknown(rng, held)


def is_refusal(text):
    """What counts as declined in the evaluation."""
    low = text.lower()
    return any(p in low for p in ("i do not know", "i cannot", "i don't know", "i can't"))
