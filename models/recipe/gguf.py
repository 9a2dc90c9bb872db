"""Reads the GGUF file that export.py wrote, and runs it in numpy: the evaluation judges the shipped file."""
import struct

import numpy as np

from bpe import SPECIALS, Tokenizer

FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9


class Reader:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        self.at = 4
        _, n_tensors, n_meta = self.take("I"), self.take("Q"), self.take("Q")
        self.meta = {}
        for _ in range(n_meta):
            key = self.value(STRING)
            self.meta[key] = self.value(self.take("I"))
        infos = [self.info() for _ in range(n_tensors)]
        start = -(-self.at // 32) * 32
        self.weights = {n: np.frombuffer(self.data, t, int(np.prod(s)), start + o).reshape(s).astype(np.float32)
                        for n, s, t, o in infos}

    def take(self, kind):
        size = struct.calcsize(kind)
        out = struct.unpack_from("<" + kind, self.data, self.at)[0]
        self.at += size
        return out

    def value(self, kind):
        if kind == STRING:
            n = self.take("Q")
            self.at += n
            return self.data[self.at - n:self.at].decode()
        if kind == ARRAY:
            item, n = self.take("I"), self.take("Q")
            return [self.value(item) for _ in range(n)]
        return self.take(FORMATS[kind])

    def info(self):
        name = self.value(STRING)
        shape = [self.take("Q") for _ in range(self.take("I"))][::-1]
        return name, shape, {0: np.float32, 1: np.float16}[self.take("I")], self.take("Q")


class Llama:
    """Greedy decoding with a cache, one sequence at a time."""

    def __init__(self, path):
        file = Reader(path)
        self.w, m = file.weights, file.meta
        self.layers, self.eps = m["llama.block_count"], m["llama.attention.layer_norm_rms_epsilon"]
        self.heads, self.kv_heads = m["llama.attention.head_count"], m["llama.attention.head_count_kv"]
        self.size, self.context = m["llama.rope.dimension_count"], m["llama.context_length"]
        frequency = m["llama.rope.freq_base"] ** (-np.arange(0, self.size, 2) / self.size)
        angle = np.outer(np.arange(self.context), frequency)
        self.cos, self.sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
        self.tok = Tokenizer(m["tokenizer.ggml.tokens"], [tuple(x.split(" ")) for x in m["tokenizer.ggml.merges"]])
        self.end = {self.tok.id[s] for s in SPECIALS[:3]}

    def norm(self, x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps) * self.w[name + ".weight"]

    def rotate(self, x, at):
        a, b = x[..., 0::2], x[..., 1::2]
        c, s = self.cos[at:at + len(x), None], self.sin[at:at + len(x), None]
        return np.stack((a * c - b * s, a * s + b * c), -1).reshape(x.shape)

    def attend(self, x, i, at, cache):
        get = lambda n, h: (x @ self.w[f"blk.{i}.attn_{n}.weight"].T).reshape(len(x), h, self.size)
        q, k = self.rotate(get("q", self.heads), at), self.rotate(get("k", self.kv_heads), at)
        v = get("v", self.kv_heads)
        k, v = (np.concatenate((old, new)) for old, new in zip(cache[i], (k, v))) if i in cache else (k, v)
        cache[i] = (k, v)
        k, v = (np.repeat(y, self.heads // self.kv_heads, 1) for y in (k, v))
        score = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(self.size)
        score[:, np.arange(len(k)) > at + np.arange(len(x))[:, None]] = -np.inf
        p = np.exp(score - score.max(-1, keepdims=True))
        out = np.einsum("hqk,khd->qhd", p / p.sum(-1, keepdims=True), v).reshape(len(x), -1)
        return out @ self.w[f"blk.{i}.attn_output.weight"].T

    def logits(self, ids, at, cache):
        """Of the last of ids, which stand at position `at` and on."""
        x = self.w["token_embd.weight"][ids]
        for i in range(self.layers):
            x = x + self.attend(self.norm(x, f"blk.{i}.attn_norm"), i, at, cache)
            y = self.norm(x, f"blk.{i}.ffn_norm")
            gate, up = y @ self.w[f"blk.{i}.ffn_gate.weight"].T, y @ self.w[f"blk.{i}.ffn_up.weight"].T
            x = x + (gate / (1 + np.exp(-gate)) * up) @ self.w[f"blk.{i}.ffn_down.weight"].T
        return self.norm(x[-1], "output_norm") @ self.w["token_embd.weight"].T

    def answer(self, messages, limit=200):
        """The greedy reply to [(role, text), ...]."""
        ids = []
        for role, text in messages:
            head, body = self.tok.turn(role, text)
            ids += head + body + self.tok.encode("\n")
        ids += [self.tok.id["<|im_start|>"]] + self.tok.encode("assistant\n")
        cache, out, at = {}, [], 0
        while len(out) < limit and at + len(ids) < self.context:
            best = int(self.logits(ids, at, cache).argmax())
            at += len(ids)
            if best in self.end:
                break
            out.append(best)
            ids = [best]
        return self.tok.decode(out)
