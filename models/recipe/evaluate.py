"""Evaluates the GGUF file on what it was not trained on, greedily, and prints a table."""
import argparse
import random
import re
from collections import Counter

import stories
import tasks
from families import all_families, fill
from gguf import Llama
from unknown import is_refusal, unknown


def is_right(answer, wanted, key):
    """The very sentence, or another one with the key word. Numbers need the sentence: a sum repeats its parts."""
    if answer == wanted or key.isdigit():
        return answer == wanted
    return re.search(r"\b" + re.escape(key) + r"\b", answer, re.I) is not None and not is_refusal(answer)


def ask(model, question):
    return model.answer([("user", question)])


def kept_out_facts(model, n, rng, show):
    """Right and declined answers to kept-out combinations: every family has its share, and each its own line."""
    right, declined, count, by_family = 0, 0, 0, {}
    families = all_families()
    for family in families:
        pairs = family.pairs(True)
        sample = rng.sample(pairs, min(len(pairs), n // len(families) + 1))
        good = 0
        for fact, phrasing in sample:
            answer = ask(model, fill(phrasing, fact))
            ok = is_right(answer, fill(family.say, fact), str(fact[family.key]))
            good, declined, count = good + ok, declined + is_refusal(answer), count + 1
            if show and not ok:
                print(f"  {family.name}: {fill(phrasing, fact)} -> {answer}")
        right += good
        by_family[family.name] = (good, len(sample))
    return right, declined, count, by_family


def unknown_questions(model, n, rng, show):
    """Share of kept-out questions without an answer that are declined."""
    declined = 0
    for _ in range(n):
        kind, question, _ = unknown(rng, held=True)
        answer = ask(model, question)
        declined += is_refusal(answer)
        if show and not is_refusal(answer):
            print(f"  {kind}: {question} -> {answer}")
    return declined


def story_texts(model, n, rng, show):
    """Share of stories that the grammar could have written, and of those about what was asked for."""
    good, about = 0, 0
    for _ in range(n):
        question, _, slots = stories.request(rng)
        text = ask(model, question)
        good += stories.is_story(text)
        about += slots["hero"] in text.split(".")[0] or slots["hero"] not in question
        if show and not stories.is_story(text):
            print(f"  {question} -> {text}")
    return good, about


def task_answers(model, n, rng):
    """Per kind of task: exactly right answers among all turns of n conversations."""
    scores = {}
    for make, _ in tasks.TASKS:
        good, count = 0, 0
        for _ in range(n):
            messages = []
            for question, wanted in make(rng):
                messages.append(("user", question))
                answer = model.answer(messages)
                messages.append(("assistant", answer))
                good, count = good + (answer == wanted), count + 1
        scores[make.__name__] = good, count
    return scores


def listed(scores):
    return ", ".join(f"{k} {a}/{b}" for k, (a, b) in scores.items())


def read_prompts(path):
    with open(path) as f:
        for line in f:
            if not line.startswith("#"):
                kind, turns, pattern = [p.strip() for p in line.split(" |", 2)]
                yield kind, turns.split(" // "), pattern


def free_prompts(model, path, show):
    """Results of the freely written prompts by kind, and how many known ones were declined."""
    right, total, declined = Counter(), Counter(), 0
    for kind, turns, pattern in read_prompts(path):
        messages = []
        for turn in turns:
            messages.append(("user", turn))
            answer = model.answer(messages)
            messages.append(("assistant", answer))
        refused = is_refusal(answer)
        ok = refused if kind == "unknown" else stories.is_story(answer) if kind == "story" else \
            re.search(pattern, answer, re.I) is not None and not refused
        right[kind], total[kind] = right[kind] + ok, total[kind] + 1
        declined += kind != "unknown" and refused
        if show:
            print(f"  {'ok ' if ok else 'NO '} {' // '.join(turns)} -> {answer}")
    return right, total, declined


def line(name, part, whole):
    print(f"{name:42} {part:5} of {whole:5} {100 * part / whole:6.1f} %")


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("model")
    args.add_argument("prompts")
    args.add_argument("-n", type=int, default=600, help="kept-out facts asked, and half as many unknown ones")
    args.add_argument("--show", action="store_true", help="print the failures and the answers to the free prompts")
    args = args.parse_args()
    model, rng = Llama(args.model), random.Random(12345)
    right, declined, count, by_family = kept_out_facts(model, args.n, rng, args.show)
    refused = unknown_questions(model, args.n // 2, rng, args.show)
    good, about = story_texts(model, args.n // 6, rng, args.show)
    free_right, free_total, free_declined = free_prompts(model, args.prompts, args.show)
    line("kept-out facts right", right, count)
    line("kept-out facts declined", declined, count)
    line("kept-out unknown questions declined", refused, args.n // 2)
    line("stories the grammar accepts", good, args.n // 6)
    line("stories about the hero asked for", about, args.n // 6)
    for kind in free_total:
        line(f"free prompts right: {kind}", free_right[kind], free_total[kind])
    line("free prompts right: all", sum(free_right.values()), sum(free_total.values()))
    line("free prompts that can be answered, declined", free_declined, sum(free_total.values()) - free_total["unknown"])
    print("by family:", listed(by_family))
    print("tasks, word for word:", listed(task_answers(model, args.n // 15, rng)))


if __name__ == "__main__":
    main()
