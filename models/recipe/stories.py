"""A small story grammar: it writes stories, and it checks that a text is one of them."""
import re

from families import a_an

HE = "Tom Ben Max Leo Sam Jack Oscar Finn Hugo Paul".split()
SHE = "Anna Mia Lily Emma Rosa Clara Nina Ella Lucy Ida".split()
HEROES = ("fox cat dog bear rabbit mouse frog horse owl duck lion goat boy girl king queen farmer baker sailor wizard "
          "robot dragon").split()
FEMALE = {"girl", "queen"}
MALE = {"boy", "king", "wizard"}
TRAITS = "small brave clever shy kind young curious lazy proud quiet".split()
PLACES = ["a forest", "a village", "a castle", "a cave", "a house by the sea", "a garden", "a town", "a valley",
          "an old mill", "a tower"]
THINGS = "key lamp book coin ring map hat bell boat kite drum star".split()
WHERE = ["under a tree", "by the river", "on the road", "behind a stone", "in the grass", "near the bridge", "in a box",
         "on the beach"]
WEATHER = ["sunny", "rainy", "windy", "cold", "warm", "snowy", "foggy"]
FEELINGS = ["happy", "glad", "proud", "thankful"]

# Each stage gives one sentence. Slots are bound once and keep their value to the end of the story.
OPENING = ["Once upon a time there was {a_trait} {hero} called {name}.",
           "There once was {a_trait} {hero} named {name}.",
           "Long ago, {a_trait} {hero} called {name} lived in {place}."]
PLOTS = {
    "find": [["{name} lived in {place}.", "{name} loved to go for long walks."],
             ["One {weather} day, {he} found {a_thing} {where}.",
              "One {weather} morning, {name} found {a_thing} {where}."],
             ["{Someone} {helper} came by and looked sad.", "Then {someone} {helper} came along the road."],
             ["\"I have lost my {thing},\" said the {helper}.", "The {helper} said, \"That is my {thing}!\""],
             ["{name} gave the {thing} back at once.", "So {name} gave {it} back to the {helper}."],
             ["The {helper} was very {feeling} and thanked {him}."]],
    "lose": [["{name} had {a_thing} and took it everywhere.", "{name} had {a_thing} that {he} loved very much."],
             ["One {weather} day, the {thing} was gone.", "One {weather} morning, {he} could not find the {thing}."],
             ["{name} looked everywhere and began to cry.", "{He} looked everywhere, but the {thing} was not there."],
             ["{Someone} {helper} heard {him} and wanted to help.",
              "Then {he} met {someone} {helper} who wanted to help."],
             ["Together they found the {thing} {where}.", "They looked together and found it {where}."],
             ["{name} was very {feeling} and thanked the {helper}."]],
    "trip": [["{name} wanted to see the world.", "{name} wanted to go on a long journey."],
             ["One {weather} day, {he} packed {a_thing} and left home.",
              "One {weather} morning, {name} took {a_thing} and set off."],
             ["On the way, {he} met {someone} {helper}.", "After a while {name} met {someone} {helper}."],
             ["The {helper} was lost and did not know the way home.", "The {helper} was alone and very tired."],
             ["{name} used the {thing} to help the {helper}.",
              "\"Come with me,\" said {name}, and they walked on together."],
             ["Soon they were back home, and both were {feeling}."]],
    "fear": [["{name} was afraid of the dark.", "{name} was afraid of deep water."],
             ["One {weather} evening, {he} heard a noise {where}.",
              "One {weather} evening, there was a noise {where}."],
             ["{name} took {a_thing} and went to look.", "{He} held {his} {thing} and went to look."],
             ["It was only {someone} {helper}.", "There sat {someone} {helper}, who was afraid too."],
             ["They talked all night and were not afraid any more.",
              "\"Do not be afraid,\" said {name}, and they both laughed."],
             ["In the morning they were both {feeling}."]],
}
ENDING = ["From that day on they were friends.", "They stayed friends for ever.", "And they lived happily ever after.",
          "That night {name} slept very well.", "{name} never forgot that day."]


def pronouns(female):
    return dict(he="she", his="her", him="her", He="She", His="Her") if female else \
        dict(he="he", his="his", him="him", He="He", His="His")


def bind(rng, hero=None, name=None, thing=None):
    """Chooses the value of every slot; hero, name or thing may be asked for."""
    hero = hero or rng.choice(HEROES)
    female = name in SHE if name else hero in FEMALE or hero not in MALE and rng.random() < 0.5
    thing = thing or rng.choice(THINGS)
    helper = rng.choice([h for h in HEROES if h != hero])
    someone = "an" if helper[0] in "aeiou" else "a"
    return dict(pronouns(female), hero=hero, name=name or rng.choice(SHE if female else HE), thing=thing,
                a_thing=a_an(thing), a_trait=a_an(rng.choice(TRAITS)), helper=helper, someone=someone,
                Someone=someone.capitalize(), place=rng.choice(PLACES), where=rng.choice(WHERE),
                weather=rng.choice(WEATHER), feeling=rng.choice(FEELINGS), it="it")


def write(rng, **asked):
    """Returns the story and its slots (with `plot`, and `used`: the slots the text mentions)."""
    slots = bind(rng, **asked)
    plot = rng.choice(list(PLOTS))
    stages = [OPENING[:2] if plot == "find" else OPENING] + PLOTS[plot] + [ENDING]
    chosen = [rng.choice(stage) for stage in stages]
    used = set(re.findall(r"{(\w+)}", " ".join(chosen)))
    return " ".join(chosen).format(**slots), dict(slots, plot=plot, used=used)


def alternatives():
    heroes = "|".join(HEROES)
    return dict(hero=heroes, helper=heroes, name="|".join(HE + SHE), thing="|".join(THINGS),
                a_thing="|".join(a_an(t) for t in THINGS), a_trait="|".join(a_an(t) for t in TRAITS),
                place="|".join(PLACES), where="|".join(WHERE), weather="|".join(WEATHER), feeling="|".join(FEELINGS),
                someone="an?", Someone="An?", it="it")


def sentence_pattern(template, bound):
    """The template as a regular expression: bound slots must repeat their value, others may be any of their words."""
    words = {**alternatives(), **{k: re.escape(v) for k, v in bound.items()}}
    parts = re.split(r"{(\w+)}", template)
    seen, out = set(), re.escape(parts[0])
    for slot, literal in zip(parts[1::2], parts[2::2]):
        out += f"(?P={slot})" if slot in seen else f"(?P<{slot}>{words[slot]})"
        seen.add(slot)
        out += re.escape(literal)
    return out


def derived(bound):
    """What follows from the slots read so far: pronouns from the name, the thing from `a thing`, articles."""
    out = dict(bound)
    if "name" in out:
        out.update(pronouns(out["name"] in SHE))
    if "a_thing" in out:
        out["thing"] = out["a_thing"].split()[-1]
    if "thing" in out:
        out["a_thing"] = a_an(out["thing"])
    if "helper" in out:
        article = "an" if out["helper"][0] in "aeiou" else "a"
        if any(out.get(k, article).lower() != article for k in ("someone", "Someone")):
            return None
    return out


def follow(text, stages, bound):
    """Tries to read `text` as the remaining stages."""
    if not stages:
        return text == ""
    for template in stages[0]:
        match = re.match(sentence_pattern(template, bound) + r"(?: |$)", text)
        found = match and derived({**bound, **match.groupdict()})
        if found and follow(text[match.end():], stages[1:], {k: v for k, v in found.items() if k.lower() != "someone"}):
            return True
    return False


def is_story(text):
    """True if the grammar could have written this text: order, names, pronouns, things and the ending all agree."""
    return any(follow(text, [OPENING] + plot + [ENDING], {}) for plot in PLOTS.values())


ASK = ["Tell me a story.", "Tell me a short story.", "Write a story.", "Write a short story.",
       "Can you tell me a story?",
       "I would like to hear a story.", "Please tell me a bedtime story.", "Make up a story.", "A story, please.",
       "Do you know a story?", "Could you write me a story?", "My children want a story.",
       "I cannot sleep. Tell me a story.",
       "Let me hear a story.", "Give me a short story.", "Story time!", "Another story, please."]
ASK_HERO = ["Tell me a story about {a_hero}.", "Write a story about {a_hero}.",
            "Can you tell me a story about {a_hero}?",
            "Tell me a short story about {a_hero}.", "Write a short story about {a_hero}.",
            "A story about {a_hero}, please.",
            "Make up a story about {a_hero}.", "I want a story about {a_hero}.",
            "Could you write a story about {a_hero}?", "Tell a story of {a_hero}.", "Give me a story about {a_hero}.",
            "Tell me a bedtime story about {a_hero}.", "My son wants a story about {a_hero}."]
ASK_NAMED = ["Tell me a story about {a_hero} called {name}.", "Write a story about {a_hero} named {name}.",
             "Write a short story about {name} the {hero}."]
ASK_THING = ["Tell me a story about {a_hero} and {a_thing}.", "Write a story with {a_hero} and {a_thing}.",
             "Write a short story about {a_hero} and {a_thing}."]


def request(rng):
    """A request for a story, the story, and its slots."""
    hero, kind = rng.choice(HEROES), rng.random()
    if kind < 0.3:
        return (rng.choice(ASK),) + write(rng)
    if kind < 0.7:
        return (rng.choice(ASK_HERO).format(a_hero=a_an(hero)),) + write(rng, hero=hero)
    if kind < 0.85:
        names = SHE if hero in FEMALE else HE if hero in MALE else HE + SHE
        name = rng.choice(names)
        return (rng.choice(ASK_NAMED).format(a_hero=a_an(hero), hero=hero, name=name),) + write(rng, hero=hero,
                                                                                                name=name)
    thing = rng.choice(THINGS)
    return (rng.choice(ASK_THING).format(a_hero=a_an(hero), a_thing=a_an(thing)),) + write(rng, hero=hero, thing=thing)


def questions(slots):
    """Follow-up questions the story itself answers."""
    name, hero, used = slots["name"], slots["hero"], slots["used"]
    out = [(f"What was the {hero} called?", f"The {hero} was called {name}."),
           (f"What was the name of the {hero}?", f"The {hero} was called {name}."),
           (f"Who was {name}?", f"{name} was {slots['a_trait']} {hero}."),
           (f"Who did {name} meet?", f"{name} met a {slots['helper']}." if slots["someone"] == "a"
            else f"{name} met an {slots['helper']}."),
           ("What was the weather like?", f"It was {slots['weather']}.")]
    if "place" in used:
        out.append((f"Where did {name} live?", f"{name} lived in {slots['place']}."))
    if slots["plot"] == "find":
        out.append((f"What did {name} find?", f"{name} found {slots['a_thing']}."))
        out.append((f"Where was the {slots['thing']}?", f"The {slots['thing']} was {slots['where']}."))
    if slots["plot"] == "lose":
        out.append((f"What did {name} lose?", f"{name} lost {slots['a_thing']}."))
        out.append((f"Who helped {name}?", f"The {slots['helper']} helped {name}."))
    return out
