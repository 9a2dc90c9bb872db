"""Byte-level BPE as GPT-2 and Qwen2 have it: trains a vocabulary, and encodes text with one."""
import argparse
import json
import re
from collections import Counter, defaultdict

SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|image|>", "<|image_start|>", "<|image_end|>",
            "<|reserved_0|>", "<|reserved_1|>", "<|reserved_2|>", "<|reserved_3|>",
            "<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
USER_DEFINED = SPECIALS[10:]  # shown as text when generated; the others are control tokens

# The split of `qwen2` for Python's re, which lacks \p{L} and \p{N}: a letter is a word character that is neither a
# digit nor "_". They differ only for numerals that are not decimal digits, which the training text does not have.
SPLIT = re.compile(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|(?:[^\r\n\w]|_)?[^\W\d_]+|"
                   r"\d| ?(?:[^\s\w]|_)+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def byte_letters():
    """GPT-2's printable letter for each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    return {**{b: chr(b) for b in plain}, **{b: chr(256 + i) for i, b in enumerate(rest)}}


LETTER = byte_letters()
BYTE = {c: b for b, c in LETTER.items()}


def letters(text):
    return "".join(LETTER[b] for b in text.encode())


def merged(word, pair):
    """The word with every `pair` of neighbours joined."""
    out, i = [], 0
    while i < len(word):
        if i + 1 < len(word) and (word[i], word[i + 1]) == pair:
            out.append(word[i] + word[i + 1])
            i += 2
        else:
            out.append(word[i])
            i += 1
    return out


def train(counts, n_merges):
    """Joins the most frequent pair n_merges times; ties go to the pair that sorts first, so runs repeat."""
    words = [list(w) for w in counts]
    weight = list(counts.values())
    pairs, where = Counter(), defaultdict(set)
    for i, w in enumerate(words):
        for p in zip(w, w[1:]):
            pairs[p] += weight[i]
            where[p].add(i)
    merges = []
    while len(merges) < n_merges:
        best = max(pairs, key=lambda p: (pairs[p], p))
        merges.append(best)
        for i in list(where[best]):
            for p in zip(words[i], words[i][1:]):
                pairs[p] -= weight[i]
            words[i] = merged(words[i], best)
            for p in zip(words[i], words[i][1:]):
                pairs[p] += weight[i]
                where[p].add(i)
        del pairs[best], where[best]
    return merges


class Tokenizer:
    def __init__(self, tokens, merges):
        self.tokens, self.merges = tokens, merges
        self.id = {t: i for i, t in enumerate(self.tokens)}
        self.rank = {m: i for i, m in enumerate(self.merges)}
        self.cache = {}

    @classmethod
    def load(cls, path):
        with open(path) as f:
            data = json.load(f)
        return cls(data["tokens"], [tuple(m) for m in data["merges"]])

    def piece(self, text):
        if text not in self.cache:
            word = list(letters(text))
            while len(word) > 1:
                best = min(zip(word, word[1:]), key=lambda p: self.rank.get(p, len(self.rank)))
                if best not in self.rank:
                    break
                word = merged(word, best)
            self.cache[text] = [self.id[t] for t in word]
        return self.cache[text]

    def encode(self, text):
        """Plain text: special tokens in it are not recognised."""
        return [i for p in SPLIT.findall(text) for i in self.piece(p)]

    def decode(self, ids):
        text = "".join(self.tokens[i] for i in ids if self.tokens[i] not in SPECIALS)
        return bytes(BYTE[c] for c in text).decode(errors="replace")

    def turn(self, role, text):
        """Ids of the head (`<|im_start|>role` and a line feed) and of the content with its end."""
        head = [self.id["<|im_start|>"]] + self.encode(role + "\n")
        return head, self.encode(text) + [self.id["<|im_end|>"]]


def count_words(path, limit, least):
    counts = Counter()
    with open(path) as f:
        for _, line in zip(range(limit), f):
            item = json.loads(line)
            for text in [item] if isinstance(item, str) else [t for pair in item for t in pair]:
                counts.update(SPLIT.findall(text))
    return {letters(w): n for w, n in sorted(counts.items()) if n >= least}


def main():
    args = argparse.ArgumentParser(description="Trains the vocabulary on what generate.py wrote.")
    args.add_argument("text")
    args.add_argument("out")
    args.add_argument("--size", type=int, default=2048)
    args.add_argument("--limit", type=int, default=60000, help="conversations to count words in")
    args.add_argument("--least", type=int, default=6, help="occurrences a word must have: leaves made-up names out")
    args = args.parse_args()
    counts = count_words(args.text, args.limit, args.least)
    merges = train(counts, args.size - 256 - len(SPECIALS))
    tokens = [LETTER[b] for b in range(256)] + [a + b for a, b in merges] + SPECIALS
    with open(args.out, "w") as f:
        json.dump({"tokens": tokens, "merges": merges}, f, ensure_ascii=False)
    print(f"{len(counts)} words, {len(merges)} merges, the last {merges[-5:]}")


if __name__ == "__main__":
    main()
