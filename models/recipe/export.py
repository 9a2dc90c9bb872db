"""Writes the trained model as a GGUF file: matrices F16, norms F32."""
import argparse
import struct

import numpy as np
import torch

from bpe import SPECIALS, USER_DEFINED, Tokenizer
from model import Config

ALIGNMENT = 32
U32, F32, BOOL, STRING, ARRAY = 4, 6, 7, 8, 9  # types of metadata values
I32 = 5
TEMPLATE = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + "
            "'<|im_end|>' + '\\n'}}"
            "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")


def string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def value(kind, v):
    if kind == STRING:
        return string(v)
    return struct.pack({U32: "<I", I32: "<i", F32: "<f", BOOL: "<?"}[kind], v)


def entry(key, kind, v):
    return string(key) + struct.pack("<I", kind) + value(kind, v)


def array(key, kind, items):
    return string(key) + struct.pack("<IIQ", ARRAY, kind, len(items)) + b"".join(value(kind, i) for i in items)


def metadata(cfg, tok, name):
    types = [1] * (cfg.vocab - len(SPECIALS)) + [4 if s in USER_DEFINED else 3 for s in SPECIALS]
    end = tok.id["<|endoftext|>"]
    return [
        entry("general.architecture", STRING, "llama"), entry("general.name", STRING, name),
        entry("general.license", STRING, "mit"), entry("general.file_type", U32, 1),
        entry("general.alignment", U32, ALIGNMENT),
        entry("llama.block_count", U32, cfg.layers), entry("llama.context_length", U32, cfg.context),
        entry("llama.embedding_length", U32, cfg.width), entry("llama.feed_forward_length", U32, cfg.ffn),
        entry("llama.attention.head_count", U32, cfg.heads), entry("llama.attention.head_count_kv", U32, cfg.kv_heads),
        entry("llama.attention.layer_norm_rms_epsilon", F32, cfg.eps),
        entry("llama.rope.dimension_count", U32, cfg.width // cfg.heads),
        entry("llama.rope.freq_base", F32, cfg.rope_base),
        entry("llama.vocab_size", U32, cfg.vocab),
        entry("tokenizer.ggml.model", STRING, "gpt2"), entry("tokenizer.ggml.pre", STRING, "qwen2"),
        array("tokenizer.ggml.tokens", STRING, tok.tokens), array("tokenizer.ggml.token_type", I32, types),
        array("tokenizer.ggml.merges", STRING, [f"{a} {b}" for a, b in tok.merges]),
        entry("tokenizer.ggml.bos_token_id", U32, end), entry("tokenizer.ggml.eos_token_id", U32, tok.id["<|im_end|>"]),
        entry("tokenizer.ggml.padding_token_id", U32, end),
        entry("tokenizer.ggml.add_bos_token", BOOL, False), entry("tokenizer.ggml.add_space_prefix", BOOL, False),
        entry("tokenizer.chat_template", STRING, TEMPLATE),
    ]


def tensors(state):
    """(name, array) in the order of the network; the output matrix is the embedding."""
    for name, t in state.items():
        if t.abs().max() > 65504:
            raise ValueError(f"{name} does not fit F16")
        yield name, t.numpy().astype(np.float32 if t.ndim == 1 else np.float16)


def padded(data):
    return data + bytes(-len(data) % ALIGNMENT)


def write(path, meta, items):
    infos, blobs, offset = [], [], 0
    for name, a in items:
        shape = a.shape[::-1]  # GGUF names the row length first
        infos.append(string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, int(a.dtype == np.float16),
                                                offset))
        blobs.append(padded(a.tobytes()))
        offset += len(blobs[-1])
    head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(meta)) + b"".join(meta) + b"".join(infos)
    with open(path, "wb") as f:
        f.write(padded(head) + b"".join(blobs))


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("folder", help="holds vocab.json and model.pt")
    args.add_argument("out")
    args.add_argument("--name", default="libllm chat 3M")
    args = args.parse_args()
    tok, state = Tokenizer.load(f"{args.folder}/vocab.json"), torch.load(f"{args.folder}/model.pt")
    write(args.out, metadata(Config(vocab=len(tok.tokens)), tok, args.name), list(tensors(state["model"])))
    print(f"{args.out}: after {state['tokens']} tokens in {state['used'] / 60:.1f} minutes")


if __name__ == "__main__":
    main()
