"""Writes the training text: one conversation a line, JSON [[role, text], ...]; a lone string is plain text."""
import argparse
import json
import random

import stories
from families import all_families, fill, kept_out, lower_first, number_families
from talk import talk
from tasks import task
from unknown import unknown

FAMILIES = all_families()
NUMBERS = {f.name for f in number_families()}
TRAIN = {f.name: f.pairs(False) for f in FAMILIES}
SYSTEM = ["You are a helpful assistant.", "You are a helpful assistant.", "You are a small chat model.",
          "Be short and friendly.",
          "You are a friendly assistant who answers in simple English.", "You answer questions.",
          "You are a helpful AI assistant."]
ONE_WORD = ["Answer in one word.", "Answer with one word.", "Give only the answer, nothing else.",
            "Be as short as possible."]
AS_JSON = ["Answer as JSON.", "Answer in JSON.", "Reply with JSON only."]
WEIGHTS = [f.weight for f in FAMILIES]
# share of each kind of turn
MIX = {"family": 0.44, "task": 0.25, "unknown": 0.165, "talk": 0.085, "story": 0.06}


BEFORE = ["Please: ", "Now: ", "So, ", "Ok, ", "And ", "Hey, ", "Well, ", "By the way, ", "Listen, ",
          "Can I ask you something? ",
          "My son wants to know: ", "For my homework: ", "One more thing: ", "Another question: ",
          "I have forgotten it: "]
AFTER = [" Thank you.", " Do you know?", " Can you tell me?", " It is for school.", " Thanks!", " I forgot.",
         " Please help me."]
SAME = [("What is ", "What's "), ("Where is ", "Where's "), ("Who is ", "Who's "), ("Which ", "What "),
        ("What ", "Which "),
        ("Tell me ", "Please tell me "), ("Tell me ", "Can you say "), ("What is ", "So what is "),
        ("How many ", "Please, how many "),
        ("What does ", "Please say what does "), ("Name ", "Please name "), ("Do you know ", "Do you happen to know ")]


def reworded(rng, template):
    """The same in other words; only the beginning changes."""
    fitting = [(a, b) for a, b in SAME if template.startswith(a)]
    if not fitting or rng.random() > 0.2:
        return template
    old, new = rng.choice(fitting)
    return new + template[len(old):]


def framed(rng, text):
    """Something polite or idle before or after."""
    if rng.random() < 0.6:
        return rng.choice(BEFORE) + lower_first(text)
    return text + rng.choice(AFTER)


def rough(rng, text):
    """As people type: lower case, no final mark, now and then a slip."""
    if rng.random() < 0.12:
        text = framed(rng, text)
    pick = rng.random()
    if pick < 0.14:
        text = text.lower()
    elif pick < 0.22 and text[-1] in "?.":
        text = text[:-1]
    elif pick < 0.34 and text[-1] in "?.":
        text = text[:-1].lower()
    elif pick < 0.38 and text[-1] == "?":
        text = text[:-1] + rng.choice((" ?", ", please?", "??"))
    elif pick < 0.42 and len(text) > 12:
        i = rng.randrange(1, 8)
        text = text[:i] + text[i + 1:]
    return text


def family_turns(rng):
    """A question, sometimes with follow-ups about other facts of the same family."""
    family = rng.choices(FAMILIES, WEIGHTS)[0]
    fact, ask = rng.choice(TRAIN[family.name])
    other = reworded(rng, ask)
    ask = ask if kept_out(family.name, fact["id"], other) else other
    turns = [(rough(rng, fill(ask, fact)), fill(family.say, fact))]
    while family.follow and rng.random() < 0.3 and len(turns) < 4:
        fact = rng.choice(family.facts)
        turns.append((rough(rng, fill(rng.choice(family.follow), fact)), fill(family.say, fact)))
    return turns


def unknown_turns(rng):
    _, question, answer = unknown(rng)
    return [(rough(rng, reworded(rng, question)), answer)]


def story_turns(rng):
    ask, text, slots = stories.request(rng)
    turns = [(rough(rng, ask), text)]
    if rng.random() < 0.4:
        turns += rng.sample(stories.questions(slots), rng.randint(1, 2))
    return turns


def talk_turns(rng):
    question, answer = talk(rng)
    return [(rough(rng, question) if rng.random() < 0.7 else question, answer)]


def task_turns(rng):
    return task(rng, rough)


TURNS = {"family": family_turns, "task": task_turns, "unknown": unknown_turns, "talk": talk_turns, "story": story_turns}


def special_system(rng):
    """The system message decides the form: one word, or JSON."""
    family = rng.choices(FAMILIES, WEIGHTS)[0]
    system, as_json = (rng.choice(ONE_WORD), False) if rng.random() < 0.6 else (rng.choice(AS_JSON), True)
    out = [["system", system]] if rng.random() < 0.7 else []
    for i in range(rng.randint(1, 3)):
        fact, ask = rng.choice(TRAIN[family.name])
        question, short = fill(ask, fact), str(fact[family.key])
        if not out or out[0][0] != "system":
            question += " " + system
        answer = json.dumps({"answer": short}) if as_json else short[0].upper() + short[1:]
        out += [["user", question], ["assistant", answer]]
    return out


def conversation(rng, long):
    if rng.random() < 0.05:
        return special_system(rng)
    out = [["system", rng.choice(SYSTEM)]] if rng.random() < 0.25 else []
    topics = rng.randint(8, 14) if long else rng.choices((1, 2, 3, 5, 8), (60, 20, 12, 6, 2))[0]
    for _ in range(topics):
        kind = rng.choices(list(MIX), list(MIX.values()))[0]
        for question, answer in TURNS[kind](rng):
            out += [["user", question], ["assistant", answer]]
    return out


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("out")
    args.add_argument("-n", type=int, default=150000, help="conversations")
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--long", type=float, default=0.0, help="share of conversations of 8 to 14 topics")
    args.add_argument("--numbers", type=float, default=1.0,
                      help="how much oftener the families of numbers come than usual")
    args = args.parse_args()
    WEIGHTS[:] = [f.weight * (args.numbers if f.name in NUMBERS else 1) for f in FAMILIES]
    rng = random.Random(args.seed)
    with open(args.out, "w") as f:
        for _ in range(args.n):
            item = stories.write(rng)[0] if rng.random() < 0.015 else conversation(rng, rng.random() < args.long)
            f.write(json.dumps(item, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
