"""Checks of the recipe that need no model: python3 -m unittest discover"""
import random
import unittest
from collections import Counter

import bpe
import stories
from families import all_families, fill
from generate import conversation
from unknown import is_refusal, unknown


class Recipe(unittest.TestCase):
    def test_grammar_accepts_its_stories_and_no_spoiled_one(self):
        rng = random.Random(1)
        for _ in range(300):
            text, slots = stories.write(rng)
            self.assertTrue(stories.is_story(text), text)
            self.assertFalse(stories.is_story(text.replace(slots["name"], "Zed", 1)))
            self.assertFalse(stories.is_story(text + " The end"))

    def test_every_family_keeps_facts_out_and_trains_the_rest(self):
        for family in all_families():
            held, trained = family.pairs(True), family.pairs(False)
            self.assertTrue(held, family.name)
            missing = {f["id"] for f in family.facts} - {f["id"] for f, _ in trained}
            self.assertLessEqual(len(missing), 1, f"{family.name}: {missing} in no trained combination")
            for fact, phrasing in held + trained:
                self.assertNotIn("{", fill(phrasing, fact) + fill(family.say, fact))

    def test_refusals_are_refusals_and_answers_are_not(self):
        rng = random.Random(2)
        for _ in range(500):
            self.assertTrue(is_refusal(unknown(rng)[2]))
        for family in all_families():
            for fact in family.facts:
                self.assertFalse(is_refusal(fill(family.say, fact)))

    def test_no_trained_question_is_kept_out(self):
        held = {fill(p, f) for family in all_families() for f, p in family.pairs(True)}
        rng = random.Random(3)
        seen = {text for _ in range(3000) for role, text in conversation(rng, False) if role == "user"}
        self.assertFalse(seen & held)

    def test_vocabulary_brings_every_text_back(self):
        merges = bpe.train(Counter({bpe.letters(w): 9 for w in ("hello", " hello", "help", "größe")}), 8)
        tokens = [bpe.LETTER[b] for b in range(256)] + [a + b for a, b in merges] + bpe.SPECIALS
        tok = bpe.Tokenizer(tokens, merges)
        for text in ("hello help", "a  b\n\nc", "größe 漢字 😀 12'll_x", ""):
            self.assertEqual(tok.decode(tok.encode(text)), text)
        self.assertEqual(tok.encode("12"), [tok.id["1"], tok.id["2"]])


if __name__ == "__main__":
    unittest.main()
