#!/usr/bin/env python3
"""Fits coefficients/evidence.json from what `fit_evidence` of the benchmarks wrote. Needs numpy.

  usage: evidence.py DUMP PRIOR_JSON --fusion                                  the normalisations and weights of linear fusion
         evidence.py DUMP PRIOR_JSON --variant max,raw --weight .8 --write OUT  the logistics, with that fusion
  DUMP: `fit_evidence A SIX_COLLECTIONS`, then `fit_evidence B --strangers scifact hotpotqa_200 runbooks_prometheus cranfield`,
  one after the other in a file.

- before: logistic per path over features that exist before retrieval. One observation per (query, passages read); on a
  multi-hop collection per required passage, because the estimator multiplies over the hops.
- after: logistic per path over the scores seen. One observation per (query, k, passages read); on a multi-hop collection
  all required passages must be read.
- relevance: logistic of one passage over its scores and rank, in the lists of all paths.
- linear fusion: the weight with the best mean nDCG@10 over collections among those that lose on none to BM25.

Strangers (train queries of other collections, asked of this one) are observations without evidence: without them nothing
would tell a source that holds the answer from one that holds its words only. They have STRANGERS of a collection's weight.

Fits see *train* queries only. Collections weigh the same. Errors are stated leave-one-collection-out, beside the Brier score
of the held-out collection's own base rate. `exact` and the identifier path keep their priors: what looks like an identifier in these collections (names of genes) is none.
"""
import argparse, datetime, json, math
from collections import defaultdict

import numpy as np

FITTED = ["scifact", "hotpotqa_200", "runbooks_prometheus"]   # evidence
MULTI_HOP = {"hotpotqa_200"}
PATHS = ["bm25", "dense", "hybrid_linear", "hybrid_rrf"]
READS = [1, 2, 3, 5, 10, 20, 50]
SEEN = [(10, 1), (10, 3), (5, 5), (10, 10), (20, 5), (20, 10), (20, 20), (50, 10), (50, 20), (50, 50)]   # (k, read)
BEFORE = ["max_idf", "mean_idf", "coverage", "centroid", "ln_passages", "ln_terms", "ln_read"]
AFTER = ["bm25_share", "bm25_gap", "cosine", "cosine_gap", "exact", "ln_read"]
USES = {"bm25": {"cosine": 0, "cosine_gap": 0}, "dense": {"bm25_share": 0, "bm25_gap": 0}, "hybrid_linear": {}, "hybrid_rrf": {}}
NOT_NEGATIVE = {"ln_read", "max_idf", "mean_idf", "coverage", "bm25_share", "cosine", "bm25_gap", "cosine_gap"}
STRANGERS = 0.25   # an assumption: share of goals that a source cannot answer
RRF = 60
DEPTH = 50


def sigmoid(z):
    return 1 / (1 + math.exp(-max(-40.0, min(40.0, z))))


def logistic(rows, names, centre=None, ridge=2.0, fixed=None):
    """rows: (features by name, label, weight). Newton's method; the ridge is per feature of spread one, towards `centre`."""
    centre, fixed = centre or {}, dict(fixed or {})
    while True:
        free = [n for n in names if n not in fixed]
        beta = newton(rows, free, centre, ridge, fixed)
        wrong = [n for n in free if n in NOT_NEGATIVE and beta[n] < 0]
        if not wrong:
            return {"bias": beta["bias"], **{n: beta.get(n, fixed.get(n, 0.0)) for n in names}}
        fixed[min(wrong, key=lambda n: beta[n])] = 0.0


def newton(rows, free, centre, ridge, fixed):
    w = np.array([r[2] for r in rows])
    y = np.array([r[1] for r in rows])
    x = np.array([[1.0] + [f[n] for n in free] for f, _, _ in rows])
    offset = np.array([sum(v * f[n] for n, v in fixed.items()) for f, _, _ in rows])
    spread = np.sqrt(np.average((x - np.average(x, axis=0, weights=w)) ** 2, axis=0, weights=w))
    penalty = ridge * np.where(spread > 0, spread, 1.0) ** 2
    penalty[0] = 1e-6
    # What is read is not a feature to be doubted: plans differ in it, so its slope is not shrunk.
    penalty[1:][[n in ("ln_read", "ln_rank") for n in free]] = 1e-6
    goal = np.array([0.0] + [centre.get(n, 0.0) for n in free])
    beta = goal.copy()
    for _ in range(60):
        p = 1 / (1 + np.exp(-np.clip(offset + x @ beta, -40, 40)))
        gradient = penalty * (goal - beta) + x.T @ (w * (y - p))
        hessian = np.diag(penalty) + (x * (w * np.maximum(p * (1 - p), 1e-9))[:, None]).T @ x
        step = np.linalg.solve(hessian, gradient)
        beta = beta + step / max(1.0, np.abs(step).max() / 4)
        if np.abs(step).max() < 1e-8:
            break
    return dict(zip(["bias"] + free, beta.tolist()))


def predict(model, f):
    return sigmoid(model["bias"] + sum(model[n] * f[n] for n in f if n in model))


def weighted(groups, total=None):
    """Rows by collection -> rows with weights; every collection weighs the same, in all as much as there are queries."""
    queries = total or sum(len({q for q, *_ in rows}) for rows in groups.values())
    out = []
    for rows in groups.values():
        part = sum(r[3] for r in rows)
        out += [(f, y, w * queries / len(groups) / part) for _, f, y, w in rows]
    return out


# --- lists -------------------------------------------------------------------------------------------------------------

def legs(q, k):
    return {name: rows[:k] for name, rows in q["legs"].items()}


def unit(name, rows, ceiling, variant):
    """Scores of a leg in 0..=1 by passage."""
    if not rows:
        return {}
    scores = [r[2] for r in rows]
    top, low = scores[0], scores[-1]
    if name == "bm25":
        kind = variant[0]
        if kind == "ceiling":
            return {r[0]: max(0.0, min(1.0, r[2] / (ceiling or top or 1))) for r in rows}
        if kind == "max":
            return {r[0]: r[2] / (top or 1) for r in rows}
    else:
        kind = variant[1]
        if kind == "raw":
            return {r[0]: max(0.0, min(1.0, r[2])) for r in rows}
        if kind == "max":
            return {r[0]: max(0.0, r[2] / (top or 1)) for r in rows}
    return {r[0]: (r[2] - low) / ((top - low) or 1) for r in rows}


def order(q, path, k, weight, variant):
    """Passages of the path's list, best first: rows [id, document, score, tokens, exact]."""
    lists = legs(q, k)
    exact = [r for r in lists.get("identifier", []) if r[4]]
    known = {r[0]: r for name in ("bm25", "dense") for r in lists[name]}
    if path in ("bm25", "dense"):
        ranked = lists[path]
    else:
        sums = defaultdict(float)
        for name in ("bm25", "dense"):
            if path == "hybrid_rrf":
                for at, r in enumerate(lists[name]):
                    sums[r[0]] += 1 / (RRF + at + 1)
            else:
                share = weight if name == "bm25" else 1 - weight
                for i, s in unit(name, lists[name], q["ceiling"], variant).items():
                    sums[i] += share * s
        ranked = [known[i] for i in sorted(sums, key=lambda i: (-round(sums[i] * 1e12), i))]
    seen, out = set(), []
    for r in exact + ranked:
        if r[0] not in seen:
            seen.add(r[0])
            out.append(r)
    return out[:k]


def ndcg(q, ranked):
    seen, gains = set(), []
    for r in ranked:
        if r[1] not in seen:
            seen.add(r[1])
            gains.append(q["relevant"].get(r[1], 0))
    best = sorted(q["relevant"].values(), reverse=True)[:10]
    dcg = lambda grades: sum(g / math.log2(i + 2) for i, g in enumerate(grades[:10]))
    return dcg(gains) / dcg(best)


def fit_fusion(train):
    """Mean nDCG@10 by (normalisation, k, weight); the shipped pair must hold for short and for long lists."""
    names = sorted({q["collection"] for q in train})
    of = {n: [q for q in train if q["collection"] == n] for n in names}
    mean = lambda n, path, k, w, v: sum(ndcg(q, order(q, path, k, w, v)) for q in of[n]) / len(of[n])
    table = []
    for variant in [("ceiling", "raw"), ("max", "raw"), ("max", "max"), ("range", "range"), ("ceiling", "range"), ("max", "range")]:
        for k in (20, 200):
            base = {n: mean(n, "bm25", k, 1, variant) for n in names}
            for w in [x / 10 for x in range(3, 10)]:
                got = {n: mean(n, "hybrid_linear", k, w, variant) for n in names}
                worst = min(got[n] - base[n] for n in names)
                table.append((variant, k, w, sum(got.values()) / len(names), worst, got))
    rrf = {n: mean(n, "hybrid_rrf", 200, 0, ("max", "raw")) for n in names}
    dense = {n: mean(n, "dense", 200, 0, ("max", "raw")) for n in names}
    bm25 = {n: mean(n, "bm25", 200, 0, ("max", "raw")) for n in names}
    return table, {"bm25": bm25, "dense": dense, "hybrid_rrf": rrf}


# --- observations --------------------------------------------------------------------------------------------------------

def balanced(q):
    """Weight of a query: strangers count as a whole STRANGERS of their collection."""
    own, strange = q["counts"]
    return STRANGERS * own / (1 - STRANGERS) / strange if q.get("stranger") else 1.0


def reached(q, ranked, n):
    """Ranks of the relevant documents that are among the first n."""
    found = {r[1] for r in ranked[:n]}
    return [d in found for d in q["relevant"]]


def before_rows(q, ranked):
    hops = q["collection"] in MULTI_HOP
    for n in READS:
        n = min(n, q["passages"])
        features = {name: q[name] for name in BEFORE if name != "ln_read"}
        features["ln_read"] = math.log(n)
        hits = reached(q, ranked, n)
        if hops and hits:
            for hit in hits:
                yield (q["query"], features, float(hit), 1 / len(hits) / len(READS))
        else:
            yield (q["query"], features, float(any(hits)), balanced(q) / len(READS))


def profile(q, path, k, n, ranked):
    lists = legs(q, k)
    b = [r[2] for r in lists["bm25"]] if path != "dense" else []
    c = [r[2] for r in lists["dense"]] if path != "bm25" else []
    share = max(0.0, min(1.0, b[0] / q["ceiling"])) if b and q["ceiling"] > 0 else 0.0
    return {
        "bm25_share": share, "bm25_gap": (b[0] - b[-1]) / b[0] if b and b[0] > 0 else 0.0,
        "cosine": c[0] if c else 0.0, "cosine_gap": c[0] - c[-1] if c else 0.0,
        "exact": float(any(r[4] for r in ranked)), "ln_read": math.log(n),
    }


def after_rows(q, path, weight, variant):
    cache = {}
    for k, n in SEEN:
        ranked = cache.setdefault(k, order(q, path, k, weight, variant))
        n = min(n, len(ranked))
        if n == 0:
            continue
        hits = reached(q, ranked, n)
        label = bool(hits) and (all(hits) if q["collection"] in MULTI_HOP else any(hits))
        yield (q["query"], profile(q, path, k, n, ranked), float(label), balanced(q) / len(SEEN))


def relevance_rows(q, weight, variant):
    scores = {name: {r[0]: r[2] for r in rows[:DEPTH]} for name, rows in q["legs"].items()}
    for path in ("bm25", "dense", "hybrid_linear"):
        for at, r in enumerate(order(q, path, DEPTH, weight, variant)):
            share = scores["bm25"].get(r[0], 0.0) / q["ceiling"] if path != "dense" and q["ceiling"] > 0 else 0.0
            yield (q["query"], {
                "bm25_share": max(0.0, min(1.0, share)), "cosine": scores["dense"].get(r[0], 0.0) if path != "bm25" else 0.0,
                "exact": float(r[4]), "ln_rank": math.log(at + 1),
            }, float(r[1] in q["relevant"]), balanced(q))


# --- errors --------------------------------------------------------------------------------------------------------------

def errors(model, rows):
    total = sum(r[3] for r in rows)
    pairs = [(predict(model, f), y, w) for _, f, y, w in rows]
    brier = sum(w * (p - y) ** 2 for p, y, w in pairs) / total
    base = sum(w * y for _, y, w in pairs) / total
    bins = defaultdict(lambda: [0.0, 0.0, 0.0])
    for p, y, w in pairs:
        b = bins[min(9, int(p * 10))]
        b[0] += w; b[1] += w * p; b[2] += w * y
    ece = sum(abs(b[1] - b[2]) for b in bins.values()) / total
    return {"brier": round(brier, 4), "brier_of_base_rate": round(base * (1 - base), 4), "base_rate": round(base, 3), "ece": round(ece, 4)}


def best_fit(groups, names, centre, fixed_sets, ridges):
    """The feature set and ridge with the least mean leave-one-collection-out Brier score, with those errors."""
    chosen = None
    for fixed in fixed_sets:
        for ridge in ridges:
            held = {}
            for out in groups:
                rest = {n: rows for n, rows in groups.items() if n != out}
                held[out] = errors(logistic(weighted(rest), names, centre, ridge, fixed), groups[out])
            mean = sum(e["brier"] for e in held.values()) / len(held)
            if chosen is None or mean < chosen[0] - 5e-4:
                chosen = (mean, fixed, ridge, held)
    _, fixed, ridge, held = chosen
    return logistic(weighted(groups), names, centre, ridge, fixed), held, ridge, fixed


def rounded(model):
    return {k: round(v, 4) for k, v in model.items()}


def main():
    a = argparse.ArgumentParser()
    a.add_argument("dump"); a.add_argument("prior"); a.add_argument("--write"); a.add_argument("--fusion", action="store_true")
    a.add_argument("--variant", default="max,raw", help="normalisation of BM25 and cosine"); a.add_argument("--weight", type=float)
    args = a.parse_args()
    rows = [json.loads(line) for line in open(args.dump, encoding="utf-8")]
    prior = json.load(open(args.prior, encoding="utf-8"))
    train = [q for q in rows if q["train"]]
    strangers = [q for q in train if q.get("stranger")]
    for name in {q["collection"] for q in train}:
        same = [q for q in train if q["collection"] == name]
        strange = sum(bool(q.get("stranger")) for q in same)
        for q in same:
            q["counts"] = (len(same) - strange, strange)
    rows = [q for q in rows if not q.get("stranger")]
    counts = {n: (sum(q["collection"] == n and not q.get("stranger") for q in train), sum(q["collection"] == n for q in rows)) for n in {q["collection"] for q in rows}}
    print("queries (train, all):", counts)
    train = [q for q in train if not q.get("stranger")]
    if args.fusion:
        table, alone = fit_fusion(train)
        for name, values in alone.items():
            print(f"{name:12}", {n: round(v, 4) for n, v in values.items()}, round(sum(values.values()) / len(values), 4))
        for k in (20, 200):
            for variant, _, w, mean, worst, got in sorted((t for t in table if t[1] == k), key=lambda t: (-(t[4] >= -0.0005), -t[3]))[:6]:
                print(f"k={k:3} {variant} w={w:.2f} mean {mean:.4f} worst gain {worst:+.4f}", {n: round(v, 4) for n, v in got.items()})
        return
    variant, weight = tuple(args.variant.split(",")), args.weight
    fitted = [q for q in train + strangers if q["collection"] in FITTED]
    result = {"provenance": {
        "fit": "crates/ctx-cost/scripts/evidence.py over benchmarks' fit_evidence",
        "data": ", ".join(FITTED) + "; linear fusion: " + ", ".join(sorted(counts)),
        "split": "train: SHA-256 of the query id in the first 60 %", "n": {n: counts[n][0] for n in sorted(counts)}, "strangers": len(strangers), "strangers_weight": STRANGERS,
        "seed": "none: Newton's method from the prior", "date": "2026-11-29",
        "weights": "collections weigh the same; per path, the feature set and ridge with the least leave-one-collection-out Brier score",
        "identifier": "the path identifier and the feature exact are priors, not fitted: these collections hold hardly any identifier",
        "fusion": "BM25 as a share of the list's best, cosine as it is: best mean nDCG@10 on train (lists of 200) among the grids that lose on no collection to BM25",
        "leave_one_collection_out": {},
    }, "before": {"identifier": prior["before"]["identifier"]}, "after": {"identifier": prior["after"]["identifier"]}}
    stated = result["provenance"]["leave_one_collection_out"]
    for path in PATHS:
        lists = {(q["collection"], q["query"]): order(q, path, DEPTH, weight, variant) for q in fitted}
        groups = {n: [r for q in fitted if q["collection"] == n for r in before_rows(q, lists[(n, q["query"])])] for n in FITTED}
        without = [{"ln_passages": 0.0}, {"ln_passages": 0.0, "centroid": 0.0}, {"ln_passages": prior["before"][path]["ln_passages"]},
                   {"ln_passages": prior["before"][path]["ln_passages"], "centroid": 0.0}, {"ln_passages": prior["before"][path]["ln_passages"], "centroid": 0.0, "ln_terms": 0.0}]
        model, held, ridge, fixed = best_fit(groups, BEFORE, {}, without, [2.0, 20.0, 100.0])
        result["before"][path] = {"n": len(fitted), **rounded(model)}
        stated["before " + path] = held
        print("before", path, rounded(model), "ridge", ridge, fixed); [print("   ", n, e) for n, e in held.items()]
        groups = {n: [r for q in fitted if q["collection"] == n for r in after_rows(q, path, weight, variant)] for n in FITTED}
        model, held, ridge, fixed = best_fit(groups, AFTER, {}, [{**USES[path], "exact": prior["after"][path]["exact"]}], [2.0, 20.0, 100.0])
        result["after"][path] = {"n": len(fitted), **rounded(model)}
        stated["after " + path] = held
        print("after", path, rounded(model), "ridge", ridge, fixed); [print("   ", n, e) for n, e in held.items()]
    groups = {n: [r for q in fitted if q["collection"] == n for r in relevance_rows(q, weight, variant)] for n in FITTED}
    names = ["bm25_share", "cosine", "exact", "ln_rank"]
    model, held, ridge, _ = best_fit(groups, names, {}, [{"exact": prior["relevance"]["exact"]}], [0.05, 0.5, 5.0])
    stated["relevance"] = held
    print("relevance", rounded(model)); [print("   ", n, e) for n, e in held.items()]
    result["relevance"] = {"n": sum(len(g) for g in groups.values()), **rounded(model)}
    result["linear_fusion"] = {"n": len(train), "bm25_weight": weight}
    if args.write:
        text = json.dumps(result, indent=2)
        open(args.write, "w", encoding="utf-8").write(compact(result))
        json.loads(text)


def compact(result):
    """One model a line: the file is read by people."""
    lines = ["{", '  "provenance": ' + json.dumps(result["provenance"], indent=2).replace("\n", "\n  ") + ","]
    for part in ("before", "after"):
        body = ",\n".join(f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in result[part].items())
        lines.append(f'  "{part}": {{\n{body}\n  }},')
    lines.append(f'  "relevance": {json.dumps(result["relevance"])},')
    lines.append(f'  "linear_fusion": {json.dumps(result["linear_fusion"])}')
    return "\n".join(lines + ["}", ""])


if __name__ == "__main__":
    main()
