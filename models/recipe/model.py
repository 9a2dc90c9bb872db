"""The network in PyTorch: a plain Llama. The names of the weights are those of the GGUF file."""
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Config:
    vocab: int = 2048
    width: int = 256
    layers: int = 4
    heads: int = 8
    kv_heads: int = 4
    ffn: int = 512
    context: int = 1024
    eps: float = 1e-5
    rope_base: float = 10000.0


class Norm(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(cfg.width))
        self.eps = cfg.eps

    def forward(self, x):
        x = x.float()
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight


def rope_table(cfg, length):
    size = cfg.width // cfg.heads
    angle = torch.outer(torch.arange(length).float(), cfg.rope_base ** (-torch.arange(0, size, 2).float() / size))
    return torch.cos(angle), torch.sin(angle)


def rotate(x, cos, sin):
    """Turns neighbouring pairs, as GGUF files of the llama family expect."""
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


class Layer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        kv = cfg.width // cfg.heads * cfg.kv_heads
        linear = lambda rows, cols: nn.Linear(cols, rows, bias=False)
        self.attn_norm, self.ffn_norm = Norm(cfg), Norm(cfg)
        self.attn_q, self.attn_k, self.attn_v = linear(cfg.width, cfg.width), linear(kv, cfg.width), linear(kv,
                                                                                                            cfg.width)
        self.attn_output = linear(cfg.width, cfg.width)
        self.ffn_gate, self.ffn_up, self.ffn_down = (linear(cfg.ffn, cfg.width), linear(cfg.ffn, cfg.width),
                                                     linear(cfg.width, cfg.ffn))

    def attend(self, x, mask, cos, sin):
        b, t, _ = x.shape
        split = lambda y, n: y.view(b, t, n, -1).transpose(1, 2)
        q, k = split(self.attn_q(x), self.cfg.heads), split(self.attn_k(x), self.cfg.kv_heads)
        v = split(self.attn_v(x), self.cfg.kv_heads)
        q, k = rotate(q, cos, sin).to(v.dtype), rotate(k, cos, sin).to(v.dtype)
        group = self.cfg.heads // self.cfg.kv_heads
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        score = q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5) + mask.to(v.dtype)
        out = torch.softmax(score, -1).to(v.dtype) @ v
        return self.attn_output(out.transpose(1, 2).reshape(b, t, -1))

    def forward(self, x, mask, cos, sin):
        x = x + self.attend(self.attn_norm(x), mask, cos, sin)
        y = self.ffn_norm(x)
        return x + self.ffn_down(F.silu(self.ffn_gate(y)) * self.ffn_up(y))


class Model(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.token_embd = nn.Embedding(cfg.vocab, cfg.width)
        self.blk = nn.ModuleList(Layer(cfg) for _ in range(cfg.layers))
        self.output_norm = Norm(cfg)
        for name, p in self.named_parameters():
            if p.ndim == 2:
                nn.init.normal_(p, std=0.02 if "token_embd" in name else p.shape[1] ** -0.5)
            if "attn_output" in name or "ffn_down" in name:
                nn.init.zeros_(p)  # every layer starts as the identity

    def forward(self, ids, doc):
        """Logits; a position sees the earlier ones that have the same `doc` number."""
        t = ids.shape[1]
        seen = (doc[:, :, None] == doc[:, None, :]) & torch.ones(t, t, dtype=torch.bool).tril()
        mask = torch.zeros(seen.shape).masked_fill(~seen, -1e9)[:, None]
        cos, sin = rope_table(self.cfg, t)
        x = self.token_embd(ids)
        for layer in self.blk:
            x = layer(x, mask, cos, sin)
        return self.output_norm(x) @ self.token_embd.weight.T
