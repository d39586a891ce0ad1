#!/usr/bin/env python3
"""States what int8 costs: nDCG@10 of dense retrieval alone and the cosine between f32 and int8 text vectors.

    pip install numpy tokenizers zstandard
    python measure.py --model ../model --cache states.npy --collection DIR

`--cache` is the file that `distill.py --cache` wrote; the collection has `corpus.jsonl[.zst]`, `queries.jsonl` and
`qrels.tsv`. Texts are IDF-weighted means of token vectors, as in the crate: idf = ln(1 + (N - df + 0.5) / (df + 0.5)).
"""

import argparse
import io
import json
import pathlib
import struct

import numpy as np
from tokenizers import Tokenizer

from distill import reduce


def read_model(path):
    raw = path.read_bytes()
    (header_len,) = struct.unpack_from("<Q", raw)
    types = {"I8": "i1", "F32": "<f4"}
    tensors = {}
    for name, info in json.loads(raw[8 : 8 + header_len]).items():
        start, end = (8 + header_len + offset for offset in info["data_offsets"])
        tensors[name] = np.frombuffer(raw[start:end], dtype=types[info["dtype"]]).reshape(info["shape"])
    return tensors["embeddings"] * tensors["row_scales"][:, None]


def read_lines(folder, name):
    path = folder / name
    if path.exists():
        text = path.read_text(encoding="utf-8")
    else:
        import zstandard

        with (folder / (name + ".zst")).open("rb") as file:
            text = io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(file), encoding="utf-8").read()
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def read_collection(folder):
    def key(row):
        return str(row.get("_id", row.get("id")))

    corpus = {key(r): f"{r.get('title') or ''} {r.get('text') or ''}".strip() for r in read_lines(folder, "corpus.jsonl")}
    queries = {key(r): r["text"] for r in read_lines(folder, "queries.jsonl")}
    qrels = {}
    for line in (folder / "qrels.tsv").read_text().splitlines():
        cells = line.split("\t")
        if cells[-1].lstrip("-").isdigit() and int(cells[-1]) > 0:
            qrels.setdefault(cells[0], {})[cells[-2]] = int(cells[-1])
    return corpus, {q: t for q, t in queries.items() if q in qrels}, qrels


def tokens_of(tokenizer, texts):
    unknown = tokenizer.token_to_id("[UNK]")
    return [np.array([i for i in e.ids if i != unknown], dtype=int) for e in tokenizer.encode_batch(texts, add_special_tokens=False)]


def embed(token_lists, vectors, idf):
    out = np.zeros((len(token_lists), vectors.shape[1]), np.float32)
    for row, ids in enumerate(token_lists):
        if len(ids):
            out[row] = idf[ids] @ vectors[ids]
    norms = np.linalg.norm(out, axis=1, keepdims=True)
    return out / np.where(norms == 0, 1, norms)


def ndcg(queries, documents, query_ids, document_ids, qrels, k=10):
    scores = queries @ documents.T
    total = 0.0
    for row, query in enumerate(query_ids):
        best = np.argsort(-scores[row], kind="stable")[:k]
        gains = [qrels[query].get(document_ids[d], 0) for d in best]
        ideal = sorted(qrels[query].values(), reverse=True)[:k]
        discount = 1 / np.log2(np.arange(2, k + 2))
        total += (np.array(gains) * discount).sum() / (np.array(ideal) * discount[: len(ideal)]).sum()
    return total / len(query_ids)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("--model", "--cache", "--collection"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    args = parser.parse_args()

    corpus, queries, qrels = read_collection(args.collection)
    tokenizer = Tokenizer.from_file(str(args.model / "tokenizer.json"))
    documents = tokens_of(tokenizer, list(corpus.values()))
    asked = tokens_of(tokenizer, list(queries.values()))
    exact = reduce(np.load(args.cache))
    shipped = read_model(args.model / "model.safetensors")

    frequency = np.zeros(len(exact))
    for ids in documents:
        frequency[np.unique(ids)] += 1
    idf = np.log(1 + (len(documents) - frequency + 0.5) / (frequency + 0.5)).astype(np.float32)

    texts = {}
    for label, vectors in (("f32", exact), ("int8", shipped)):
        d, q = embed(documents, vectors, idf), embed(asked, vectors, idf)
        texts[label] = d
        value = ndcg(q, d, list(queries), list(corpus), qrels)
        print(f"{label}: nDCG@10 {value:.4f} over {len(queries)} queries, {len(corpus)} documents")
    cosines = (texts["f32"] * texts["int8"]).sum(1)[[len(ids) > 0 for ids in documents]]
    print(f"cosine between f32 and int8 text vectors: mean {cosines.mean():.6f}, least {cosines.min():.6f}")
    rows = (exact * shipped).sum(1) / np.linalg.norm(exact, axis=1) / np.linalg.norm(shipped, axis=1)
    print(f"cosine between f32 and int8 token vectors: mean {rows.mean():.6f}, least {rows.min():.6f}")


if __name__ == "__main__":
    main()
