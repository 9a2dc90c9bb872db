"""Trains the model for a given time. Checkpoints often; run again with the same folder, it goes on where it was."""
import argparse
import json
import math
import os
import time

import numpy as np
import torch
import torch.nn.functional as F

from bpe import Tokenizer
from model import Config, Model

PROMPT_WEIGHT = 0.1  # of the loss of a token the user or the system wrote; the assistant's count 1
ADAM_RATE = 3e-3
SHORT, LONG, LONG_FROM = 192, 1024, 0.88  # row lengths; the last part trains on long rows


def tokens_of(item, tok):
    """Ids and loss weights of one conversation (or of plain text)."""
    ids, weight = [], []
    line_feed, end = tok.encode("\n"), [tok.id["<|endoftext|>"]]
    if isinstance(item, str):
        ids = tok.encode(item) + end
        return ids, [1.0] * len(ids)
    for role, text in item:
        head, body = tok.turn(role, text)
        ids += head + body + line_feed
        weight += [PROMPT_WEIGHT] * len(head) + [1.0 if role == "assistant"
                                                 else PROMPT_WEIGHT] * len(body) + [PROMPT_WEIGHT]
    return ids + end, weight + [PROMPT_WEIGHT]


def pack(path, tok, length, cache):
    """Rows of `length`, each of whole conversations: arrays of ids, weights, and the number of the conversation."""
    if os.path.exists(cache):
        data = np.load(cache)
        return data["ids"], data["weight"], data["doc"]
    bins, done = [], []
    with open(path) as f:
        for line in f:
            ids, weight = tokens_of(json.loads(line), tok)
            if len(ids) > length:
                continue
            fit = next((b for b in bins if len(b[0]) + len(ids) <= length), None)
            if fit is None:
                bins.append(fit := ([], [], []))
            fit[2].extend([fit[2][-1] + 1 if fit[2] else 0] * len(ids))
            fit[0].extend(ids)
            fit[1].extend(weight)
            if len(bins) > 16:
                done.append(bins.pop(max(range(len(bins)), key=lambda i: len(bins[i][0]))))
    done += bins
    ids, weight, doc = (np.zeros((len(done), length), t) for t in (np.uint16, np.float16, np.int16))
    doc -= 1
    for i, (a, b, c) in enumerate(done):
        ids[i, :len(a)], weight[i, :len(a)], doc[i, :len(a)] = a, b, c
    order = np.random.default_rng(0).permutation(len(done))
    np.savez(cache, ids=ids[order], weight=weight[order], doc=doc[order])
    return ids[order], weight[order], doc[order]


def orthogonal(g, steps=5):
    """Newton-Schulz on a stack of matrices: the nearest ones with equal singular values, roughly."""
    x = (g / (g.norm(dim=(1, 2), keepdim=True) + 1e-7)).bfloat16()
    for _ in range(steps):
        a = x @ x.transpose(1, 2)
        x = 3.4445 * x + (-4.775 * a + 2.0315 * (a @ a)) @ x
    return x.float()


class Muon:
    """Momentum, then orthogonalised: for the matrices inside the layers it needs about half the tokens of AdamW."""

    def __init__(self, params, lr):
        self.params, self.lr = params, lr
        self.momentum = [torch.zeros_like(p) for p in params]

    def step(self, factor):
        updates, groups = [], {}
        for i, (p, m) in enumerate(zip(self.params, self.momentum)):
            m.mul_(0.95).add_(p.grad)
            u = p.grad + 0.95 * m
            updates.append(u.T if u.shape[0] > u.shape[1] else u)
            groups.setdefault(updates[-1].shape, []).append(i)
        for members in groups.values():
            for i, u in zip(members, orthogonal(torch.stack([updates[i] for i in members]))):
                p = self.params[i]
                u = u.T if p.shape[0] > p.shape[1] else u
                rate = self.lr * factor
                p.data.mul_(1 - 0.01 * rate).add_(u, alpha=-rate * max(1, p.shape[0] / p.shape[1]) ** 0.5)


def learning_rate(progress, warm_up=0.02):
    """Share of the full rate: up, flat, then down to zero over the last 60 %."""
    if progress < warm_up:
        return progress / warm_up + 0.01
    return 1.0 if progress < 0.4 else 0.5 * (1 + math.cos(math.pi * min(1, (progress - 0.4) / 0.6)))


def loss_of(model, batch, bf16):
    ids, weight, doc = batch
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
        logits = model(ids, doc)
    logits = logits[:, :-1].float().reshape(-1, logits.shape[-1])
    w = (weight[:, 1:] * (doc[:, 1:] == doc[:, :-1])).reshape(-1)
    return (F.cross_entropy(logits, ids[:, 1:].reshape(-1), reduction="none") * w).sum() / w.sum()


class Rows:
    """Batches of packed rows, in order, from the start again when they run out."""

    def __init__(self, arrays, tokens):
        self.arrays, self.size, self.at = arrays, tokens // arrays[0].shape[1], 0

    def next(self):
        if self.at + self.size > len(self.arrays[0]):
            self.at = 0
        cut = [torch.from_numpy(a[self.at:self.at + self.size].astype(t)) for a,
               t in zip(self.arrays, (np.int64, np.float32, np.int64))]
        self.at += self.size
        return cut


class Threads:
    """One thread, and a second while nobody else computes: else a busy second core only makes the first wait."""

    def __init__(self):
        self.before = self.now()

    def now(self):
        with open("/proc/stat") as f:
            user, nice, system = map(int, f.readline().split()[1:4])
        own = os.times()
        return time.time(), (user + nice + system) / os.sysconf("SC_CLK_TCK"), own.user + own.system

    def choose(self):
        """By what the others used since the last call."""
        last, self.before = self.before, self.now()
        elapsed, busy, own = (b - a for a, b in zip(last, self.before))
        torch.set_num_threads(2 if busy - own < 0.25 * elapsed else 1)


class Training:
    """Model, optimisers, and how far the training has come; all of it goes into the checkpoint."""

    def __init__(self, path, cfg):
        self.path, self.step, self.used = path, 0, 0.0
        self.model = Model(cfg)
        weights = list(self.model.named_parameters())
        inner = [p for n, p in weights if p.ndim == 2 and "token_embd" not in n]
        others = [p for n, p in weights if p.ndim == 1 or "token_embd" in n]
        self.muon, self.adam = Muon(inner, 0.02), torch.optim.Adam(others, lr=ADAM_RATE, betas=(0.9, 0.95))

    def load(self, text, rows):
        """Goes on from the checkpoint; `rows` only if they are of the same text."""
        if not os.path.exists(self.path):
            return
        state = torch.load(self.path)
        self.model.load_state_dict(state["model"])
        self.adam.load_state_dict(state["adam"])
        self.muon.momentum, self.step, self.used = state["muon"], state["step"], state["used"]
        if state["text"] == text:
            for r, at in zip(rows, state["at"]):
                r.at = at

    def save(self, text, rows, tokens):
        state = dict(model=self.model.state_dict(), adam=self.adam.state_dict(), muon=self.muon.momentum,
                     step=self.step, used=self.used, text=text, at=[r.at for r in rows], tokens=tokens)
        torch.save(state, self.path + ".part")
        os.replace(self.path + ".part", self.path)

    def learn(self, batch, factor, bf16):
        """One step; returns the loss before it."""
        loss = loss_of(self.model, batch, bf16)
        self.model.zero_grad(set_to_none=True)
        loss.backward()
        self.muon.step(factor)
        self.adam.param_groups[0]["lr"] = ADAM_RATE * factor
        self.adam.step()
        self.step += 1
        return loss.item()


def run(args, training, text, rows):
    total, mean, threads = args.minutes * 60, None, Threads()
    stop = min(total, args.stop * 60)
    torch.set_num_threads(args.threads or 1)
    while training.used < stop:
        begin, progress = time.time(), training.used / total
        if args.threads == 0:
            threads.choose()
        factor = learning_rate(progress)
        loss = training.learn(rows[progress >= LONG_FROM].next(), factor, args.bf16)
        seconds = time.time() - begin
        training.used += seconds
        mean = loss if mean is None else 0.95 * mean + 0.05 * loss
        if training.step % 10 == 0:
            print(f"step {training.step} {training.used:.0f} s {args.batch / seconds:.0f} tok/s loss {mean:.4f} "
                  f"rate {factor:.3f}", flush=True)
        if training.step % 50 == 0 or training.used >= stop:
            training.save(text, rows, training.step * args.batch)


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("folder", help="holds vocab.json and the text; receives the checkpoint model.pt")
    args.add_argument("--text", default="train", help="name of the text (.jsonl) to train on")
    args.add_argument("--long", default="long2", help="name of the text with longer conversations, for the last part")
    args.add_argument("--minutes", type=float, default=78, help="length of the whole training")
    args.add_argument("--stop", type=float, default=math.inf,
                      help="stop after so many of them, to go on with another text")
    args.add_argument("--batch", type=int, default=6144, help="tokens")
    args.add_argument("--threads", type=int, default=0, help="0: one, and a second while nobody else computes")
    args.add_argument("--bf16", action="store_true")
    args = args.parse_args()
    torch.manual_seed(1)
    tok, text = Tokenizer.load(f"{args.folder}/vocab.json"), (args.text, args.long)
    rows = [Rows(pack(f"{args.folder}/{name}.jsonl", tok, length, f"{args.folder}/{name}.npz"), args.batch)
            for name, length in zip(text, (SHORT, LONG))]
    training = Training(f"{args.folder}/model.pt", Config(vocab=len(tok.tokens)))
    training.load(text, rows)
    print(sum(p.numel() for p in training.model.parameters()), "parameters", flush=True)
    run(args, training, text, rows)


if __name__ == "__main__":
    main()
