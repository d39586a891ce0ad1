#!/usr/bin/env python3
"""Fits coefficients/evidence.json from what `fit_evidence` of the benchmarks wrote. Needs numpy.

  usage: evidence.py DUMP PRIOR_JSON --fusion                                  the normalisations and weights of linear fusion
         evidence.py DUMP PRIOR_JSON --variant max,raw --weight .8 --write OUT  the logistics, with that fusion
         … --before-only                                                        those before retrieval; the rest stays
  DUMP: `fit_evidence A SIX_COLLECTIONS`, then `fit_evidence B --strangers SIX_COLLECTIONS`, one after the other in a file.

- before: one logistic for all ranked paths over features that exist before retrieval, with an offset per path and, where that
  helps collections that were left out, slopes of its own per path. Every query is an observation of every path at every number
  of passages read, so that paths are compared on the same queries; on a multi-hop collection per required passage, because
  the estimator multiplies over the hops. The slope of what is read is shared: no path overtakes another by reading more.
- after: logistic per path over the scores seen. One observation per (query, k, passages read); on a multi-hop collection
  all required passages must be read.
- spread: how far, in logits, what is seen after retrieval lies from what was expected before it, on collections that both
  fits have not seen: the interval of an expectation. The level of its quantiles is the least at which nine of ten runs on a
  collection left out lie inside.
- calibration: isotonic (pool adjacent violators) over predictions for collections that were left out, by tenths, joined by
  straight lines and mixed with the identity, so that it never makes two estimates equal.
- relevance: logistic of one passage over its scores, its rank and how far it stands above the others, in the lists of all
  paths.
- linear fusion: the weight with the best mean nDCG@10 over collections among those that lose on none to BM25.

Strangers (train queries of other collections, asked of this one) are observations without evidence: without them nothing
would tell a source that holds the answer from one that holds its words only. They have STRANGERS of a collection's weight.

Fits see *train* queries only. Collections weigh the same. Errors are stated leave-one-collection-out, beside the Brier score
of the held-out collection's own base rate. `exact` and the identifier path keep their priors: what looks like an identifier in these collections (names of genes) is none.
"""
import argparse, datetime, json, math
from collections import defaultdict

import numpy as np

FITTED = ["cisi", "cranfield", "hotpotqa_200", "runbooks_prometheus", "scifact", "vaswani_npl"]   # evidence before retrieval
# After retrieval and one passage: where a query has one relevant document or two. Collections with a score of them would teach
# that the twentieth passage is likely to be relevant, too.
FEW_RELEVANT = ["scifact", "hotpotqa_200", "runbooks_prometheus"]
MULTI_HOP = {"hotpotqa_200"}
PATHS = ["bm25", "dense", "hybrid_linear", "hybrid_rrf"]
READS = [1, 2, 3, 5, 10, 20, 50]
SEEN = [(10, 1), (10, 3), (5, 5), (10, 10), (20, 5), (20, 10), (20, 20), (50, 10), (50, 20), (50, 50)]   # (k, read)
BEFORE = ["max_idf", "mean_idf", "coverage", "centroid", "ln_passages", "ln_terms", "ln_read"]
AFTER = ["bm25_share", "bm25_gap", "cosine", "cosine_gap", "exact", "ln_read"]
USES = {"bm25": {"cosine": 0, "cosine_gap": 0}, "dense": {"bm25_share": 0, "bm25_gap": 0}, "hybrid_linear": {}, "hybrid_rrf": {}}
NOT_NEGATIVE = {"margin", "ln_read", "max_idf", "mean_idf", "coverage", "bm25_share", "cosine", "bm25_gap", "cosine_gap"}
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


def relevance_features(q, path, depth, weight, variant):
    """Of each passage of the path's list: (row, features). The margin: by how much it stands above the best of the others."""
    scores = {name: {r[0]: r[2] for r in rows[:depth]} for name, rows in q["legs"].items()}
    ranked = order(q, path, depth, weight, variant)
    share = lambda r: max(0.0, min(1.0, scores["bm25"].get(r[0], 0.0) / q["ceiling"])) if path != "dense" and q["ceiling"] > 0 else 0.0
    cosine = lambda r: scores["dense"].get(r[0], 0.0) if path != "bm25" else 0.0
    stands = [weight * share(r) + (1 - weight) * cosine(r) for r in ranked]
    tops = sorted(range(len(stands)), key=lambda i: (-stands[i], i))[:2]
    other = lambda i: max((stands[t] for t in tops if t != i), default=0.0)
    return [(r, {"bm25_share": share(r), "cosine": cosine(r), "exact": float(r[4]), "ln_rank": math.log(at + 1), "margin": stands[at] - other(at)})
            for at, r in enumerate(ranked)]


def relevance_rows(q, weight, variant):
    for path in ("bm25", "dense", "hybrid_linear"):
        for r, features in relevance_features(q, path, DEPTH, weight, variant):
            yield (q["query"], features, float(r[1] in q["relevant"]), balanced(q))


# --- one model of all paths ----------------------------------------------------------------------------------------------

OWN = ["max_idf", "coverage", "centroid", "ln_terms"]   # features of which a path may have a slope of its own
SHARED_RIDGES = [2.0, 20.0]
OWN_RIDGES = [None, 400.0, 100.0, 25.0]                 # None: offsets only


class Paired:
    """Observations of one collection as arrays: features by BEFORE, label, weight, index of the path."""

    def __init__(self, queries, lists):
        rows = [(f, y, w / len(PATHS), i) for q in queries for i, path in enumerate(PATHS)
                for _, f, y, w in before_rows(q, lists[(q["collection"], q["query"], q.get("stranger", False))][path])]
        self.x = np.array([[f[n] for n in BEFORE] for f, _, _, _ in rows])
        self.y, self.w = np.array([r[1] for r in rows]), np.array([r[2] for r in rows])
        self.path = np.array([r[3] for r in rows])
        self.queries = len(queries)


def joined(groups):
    """Collections together; they weigh the same, in all as much as there are queries."""
    total = sum(g.queries for g in groups)
    w = np.concatenate([g.w * total / len(groups) / g.w.sum() for g in groups])
    return (np.concatenate([g.x for g in groups]), np.concatenate([g.y for g in groups]), w, np.concatenate([g.path for g in groups]))


def joint_fit(data, fixed, ridge, own_ridge):
    """Coefficients by path. `own_ridge` None: paths differ by their offset only."""
    features, y, w, path = data
    at = {n: i for i, n in enumerate(BEFORE)}
    mean = np.average(features, axis=0, weights=w)
    dummies = np.stack([(path == i).astype(float) for i in range(1, len(PATHS))], axis=1)
    slopes = [] if own_ridge is None else [(features[:, [at[n] for n in OWN]] - mean[[at[n] for n in OWN]]) * dummies[:, [i]] for i in range(len(PATHS) - 1)]
    fixed = dict(fixed)
    while True:
        free = [n for n in BEFORE if n not in fixed]
        x = np.concatenate([np.ones((len(y), 1)), features[:, [at[n] for n in free]], dummies] + slopes, axis=1)
        offset = sum((v * features[:, at[n]] for n, v in fixed.items()), np.zeros(len(y)))
        columns = 1 + len(free) + len(PATHS) - 1
        spread = np.average((x - np.average(x, axis=0, weights=w)) ** 2, axis=0, weights=w)
        penalty = ridge * np.where(spread > 1e-12, spread, 1.0)
        penalty[0] = penalty[1 + free.index("ln_read")] = 1e-6
        penalty[1 + len(free):columns] = 1e-6
        if own_ridge is not None:
            penalty[columns:] = own_ridge * np.where(spread[columns:] > 1e-12, spread[columns:], 1.0)
        beta = np.zeros(x.shape[1])
        for _ in range(40):
            p = 1 / (1 + np.exp(-np.clip(offset + x @ beta, -40, 40)))
            gradient = x.T @ (w * (y - p)) - penalty * beta
            hessian = np.diag(penalty) + (x * (w * np.maximum(p * (1 - p), 1e-9))[:, None]).T @ x
            step = np.linalg.solve(hessian, gradient)
            beta = beta + step / max(1.0, np.abs(step).max() / 4)
            if np.abs(step).max() < 1e-6:
                break
        shared = dict(zip(free, beta[1:1 + len(free)].tolist()))
        wrong = [n for n in free if n in NOT_NEGATIVE and shared[n] < 0]
        if wrong:
            fixed[min(wrong, key=lambda n: shared[n])] = 0.0
            continue
        models = {}
        for i, name in enumerate(PATHS):
            model = {"bias": float(beta[0]), **{n: shared.get(n, fixed.get(n, 0.0)) for n in BEFORE}}
            if i > 0:
                model["bias"] += float(beta[len(free) + i])
                for j, n in enumerate(OWN if own_ridge is not None else []):
                    slope = float(beta[columns + (i - 1) * len(OWN) + j])
                    model[n] += slope
                    model["bias"] -= slope * mean[at[n]]
            models[name] = model
        return models


def joint_predicted(models, group):
    """(prediction, label, weight) of a collection's observations; its weights sum to one."""
    weights = np.array([[models[p][n] for n in BEFORE] for p in PATHS])
    bias = np.array([models[p]["bias"] for p in PATHS])
    z = bias[group.path] + (group.x * weights[group.path]).sum(axis=1)
    return list(zip((1 / (1 + np.exp(-np.clip(z, -40, 40)))).tolist(), group.y.tolist(), (group.w / group.w.sum()).tolist()))


def chosen_gain(models, queries, scores):
    """Mean nDCG@10 of the path with the largest estimate minus that of each fixed path, over these queries."""
    picked = []
    for q in queries:
        f = {**{n: q[n] for n in BEFORE if n != "ln_read"}, "ln_read": math.log(DEPTH)}
        picked.append(max(PATHS, key=lambda p: (predict(models[p], f), -PATHS.index(p))))
    key = lambda q: (q["collection"], q["query"])
    return sum(scores[key(q)][p] for q, p in zip(queries, picked)) / len(queries), {p: picked.count(p) for p in PATHS}


def isotonic(pairs, bins=10):
    """Knots (predicted, observed) by weighted tenths, adjacent violators pooled."""
    pairs = sorted(pairs, key=lambda t: t[0])
    total, cells, cell = sum(w for _, _, w in pairs), [], [0.0, 0.0, 0.0]
    for p, y, w in pairs:
        cell = [cell[0] + w, cell[1] + w * p, cell[2] + w * y]
        if cell[0] >= total / bins:
            cells.append(cell)
            cell = [0.0, 0.0, 0.0]
    if cell[0] > 0:
        cells.append(cell)
    pooled = []
    for c in cells:
        pooled.append(c)
        while len(pooled) > 1 and pooled[-2][2] / pooled[-2][0] >= pooled[-1][2] / pooled[-1][0]:
            b = pooled.pop()
            pooled[-1] = [u + v for u, v in zip(pooled[-1], b)]
    return [[round(c[1] / c[0], 4), round(c[2] / c[0], 4)] for c in pooled]


MIXED = 0.1   # share of the identity in a calibration: estimates that differ keep differing


def recalibrated(p, knots):
    if not knots:
        return p
    points = [[0.0, 0.0]] + [k for k in knots if 0 < k[0] < 1] + [[1.0, 1.0]]
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        if p <= x1:
            line = y0 + (y1 - y0) * (p - x0) / ((x1 - x0) or 1)
            return (1 - MIXED) * line + MIXED * p
    return p


TIE_LOGITS = 0.01   # what decides between paths that find the evidence equally often


def settle_ties(models, own, lists, scores):
    """Paths whose evidence the same queries cannot tell from that of the path which ranks best get its bias, less a trifle:
    a difference that is no difference must not choose. Which ranks best: mean nDCG@10 over all train queries."""
    queries = [q for qs in own.values() for q in qs]
    best = max(PATHS, key=lambda p: sum(scores[(q["collection"], q["query"])][p] for q in queries))
    label = lambda q, p: sum(y * w for _, _, y, w in before_rows(q, lists[(q["collection"], q["query"], False)][p])) / balanced(q)
    settled = {}
    for path in PATHS:
        if path == best:
            continue
        means, variances = [], []
        for qs in own.values():
            gaps = np.array([label(q, path) - label(q, best) for q in qs])
            means.append(gaps.mean()); variances.append(gaps.var(ddof=1) / len(gaps))
        gap, error = float(np.mean(means)), math.sqrt(sum(variances)) / len(means)
        settled[path] = {"gap": round(gap, 4), "standard_error": round(error, 4)}
        if abs(gap) < 1.96 * error:
            settled[path]["tied_with"] = best
            models[path]["bias"] = models[best]["bias"] - TIE_LOGITS
    return settled


def fit_before(fitted, lists, prior):
    """The models by path, the calibration, what was stated about collections left out, and the models without each."""
    groups = {n: Paired([q for q in fitted if q["collection"] == n], lists) for n in FITTED}
    own = {n: [q for q in fitted if q["collection"] == n and not q.get("stranger")] for n in FITTED}
    scores = {(q["collection"], q["query"]): {p: ndcg(q, lists[(q["collection"], q["query"], False)][p]) for p in PATHS} for n in FITTED for q in own[n]}
    without = lambda out: joined([g for n, g in groups.items() if n != out])
    size = prior["before"]["bm25"]["ln_passages"]
    table, best = [], None
    for fixed in ({"ln_passages": size},):
        for ridge in SHARED_RIDGES:
            for own_ridge in OWN_RIDGES:
                held, gains = {}, {}
                for out in FITTED:
                    models = joint_fit(without(out), fixed, ridge, own_ridge)
                    held[out] = error_of(joint_predicted(models, groups[out]))
                    gains[out] = chosen_gain(models, own[out], scores)[0]
                brier = sum(e["brier"] for e in held.values()) / len(held)
                gain = sum(gains.values()) / len(gains)
                table.append((brier, gain, fixed, ridge, own_ridge, held, gains))
                print(f"before fixed {fixed} ridge {ridge} own {own_ridge}: Brier {brier:.4f}, nDCG@10 of the choice {gain:.4f}", {n: round(g, 4) for n, g in gains.items()})
    fixed_paths = {p: sum(sum(scores[(n, q["query"])][p] for q in own[n]) / len(own[n]) for n in FITTED) / len(FITTED) for p in PATHS}
    print("fixed paths:", {p: round(v, 4) for p, v in fixed_paths.items()})
    # Slopes of their own only if what they choose beats the best fixed path on collections left out; then what is estimated best.
    allowed = [t for t in table if t[4] is None or t[1] > max(fixed_paths.values())]
    brier, gain, fixed, ridge, own_ridge, held, gains = min(allowed, key=lambda t: t[0])
    # Calibration from predictions for collections left out; its own error with another left out of it as well.
    left_out = {out: joint_fit(without(out), fixed, ridge, own_ridge) for out in FITTED}
    out_of = {out: joint_predicted(left_out[out], groups[out]) for out in FITTED}
    knots = isotonic([t for rows in out_of.values() for t in rows])
    for out in FITTED:
        rest = isotonic([t for n, rows in out_of.items() if n != out for t in rows])
        held[out]["brier_isotonic"] = error_of([(recalibrated(p, rest), y, w) for p, y, w in out_of[out]])["brier"]
        held[out]["ece_isotonic"] = error_of([(recalibrated(p, rest), y, w) for p, y, w in out_of[out]])["ece"]
    models = joint_fit(joined(list(groups.values())), fixed, ridge, own_ridge)
    ties = settle_ties(models, own, lists, scores) if own_ridge is None else {}
    better = sum(e["brier_isotonic"] for e in held.values()) <= sum(e["brier"] for e in held.values())
    choice = {"fixed_paths": {p: round(v, 4) for p, v in fixed_paths.items()}, "chosen_left_out": round(gain, 4),
              "by_collection": {n: round(g, 4) for n, g in gains.items()}, "ties": ties, "own_slopes": own_ridge is not None, "ridge": ridge, "calibrated": bool(better)}
    return models, knots if better else [], held, choice, left_out


# --- the interval of an expectation --------------------------------------------------------------------------------------

SPREAD_READS = [5, 10, 20, 50]
COVERED = 0.90
LEVELS = [0.90 + 0.005 * i for i in range(20)]


def logit(p):
    p = min(1 - 1e-6, max(1e-6, p))
    return math.log(p / (1 - p))


def surprises(q, lists, before, after):
    """(seen − expected in logits, weight). Over several hops the expectation is of each, what is seen of all."""
    for path in PATHS:
        ranked = lists[path]
        for n in SPREAD_READS:
            n = min(n, q["passages"], len(ranked))
            if n == 0:
                continue
            expected = {**{name: q[name] for name in BEFORE if name != "ln_read"}, "ln_read": math.log(n)}
            seen = predict(after[path], profile(q, path, DEPTH, n, ranked))
            if q["collection"] in MULTI_HOP:
                seen = math.sqrt(seen)
            yield logit(seen) - logit(predict(before[path], expected)), balanced(q)


def quantile(rows, share):
    """Of (value, weight)."""
    rows = sorted(rows)
    total, sum_ = sum(w for _, w in rows), 0.0
    for value, w in rows:
        sum_ += w
        if sum_ >= share * total:
            return value
    return rows[-1][0]


def fit_spread(fitted, lists, before_without, after_without):
    """The ends of the interval, and what they cover on collections left out. `…_without`: models by path, by collection."""
    of = {}
    for name in FITTED:
        rows = [r for q in fitted if q["collection"] == name
                for r in surprises(q, lists[(name, q["query"], q.get("stranger", False))], before_without[name], after_without[name])]
        total = sum(w for _, w in rows)
        of[name] = [(r, w / total) for r, w in rows]
    ends = lambda rows, level: (quantile(rows, (1 - level) / 2), quantile(rows, (1 + level) / 2))
    chosen = None
    for level in LEVELS:
        covered = {}
        for out in FITTED:
            low, high = ends([r for n in FITTED if n != out for r in of[n]], level)
            covered[out] = round(sum(w for r, w in of[out] if low <= r <= high), 3)
        chosen = (level, covered)
        if sum(covered.values()) / len(covered) >= COVERED:
            break
    level, covered = chosen
    low, high = ends([r for rows in of.values() for r in rows], level)
    print(f"spread {low:.3f} {high:.3f} at level {level:.3f}, covered {covered}")
    return {"n": len(fitted), "low": round(low, 3), "high": round(high, 3)}, {
        "level": round(level, 3), "covered_left_out": covered, "mean": round(sum(covered.values()) / len(covered), 3),
        "within": "share of train queries and strangers whose evidence after retrieval lies within the interval before it; both fits without the collection",
    }


# --- errors --------------------------------------------------------------------------------------------------------------

def errors(model, rows):
    return error_of([(predict(model, f), y, w) for _, f, y, w in rows])


def error_of(pairs):
    total = sum(w for _, _, w in pairs)
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
    a.add_argument("--before-only", action="store_true", help="keeps everything else of PRIOR_JSON")
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
        "data": "before: " + ", ".join(FITTED) + "; after, relevance: " + ", ".join(FEW_RELEVANT) + "; linear fusion: " + ", ".join(sorted(counts)),
        "split": "train: SHA-256 of the query id in the first 60 %", "n": {n: counts[n][0] for n in sorted(counts)}, "strangers": len(strangers), "strangers_weight": STRANGERS,
        "seed": "none: Newton's method from the prior", "date": "2026-11-30",
        "weights": "collections weigh the same; before: one model of all paths on the same queries; ridge of least leave-one-collection-out Brier score, slopes by path only if their choice beats the best fixed path on collections left out; after: per path, feature set and ridge likewise",
        "identifier": "the path identifier and the feature exact are priors, not fitted: these collections hold hardly any identifier",
        "fusion": "BM25 as a share of the list's best, cosine as it is: best mean nDCG@10 on train (lists of 200) among the grids that lose on no collection to BM25",
        "leave_one_collection_out": {},
    }, "before": {"identifier": prior["before"]["identifier"]}, "after": {"identifier": prior["after"]["identifier"]}}
    stated = result["provenance"]["leave_one_collection_out"]
    lists = {(q["collection"], q["query"], q.get("stranger", False)): {p: order(q, p, DEPTH, weight, variant) for p in PATHS} for q in fitted}
    models, knots, held, choice, before_without = fit_before(fitted, lists, prior)
    stated["before"] = held
    result["provenance"]["path_choice"] = choice
    result["before_calibration"] = knots
    for path in PATHS:
        result["before"][path] = {"n": len(fitted), **rounded(models[path])}
        print("before", path, rounded(models[path]))
    print("calibration", knots); [print("   ", n, e) for n, e in held.items()]
    if args.before_only:
        stated.update({k: v for k, v in prior["provenance"]["leave_one_collection_out"].items() if not k.startswith("before")})
        result.update({k: prior[k] for k in ("before_spread", "after", "relevance", "linear_fusion")})
        stated["spread"] = prior["provenance"]["leave_one_collection_out"]["spread"]
        return write(args, result)
    everywhere = fitted
    after_without = {n: {} for n in FITTED}
    fitted = [q for q in fitted if q["collection"] in FEW_RELEVANT]
    for path in PATHS:
        groups = {n: [r for q in fitted if q["collection"] == n for r in after_rows(q, path, weight, variant)] for n in FEW_RELEVANT}
        model, held, ridge, fixed = best_fit(groups, AFTER, {}, [{**USES[path], "exact": prior["after"][path]["exact"]}], [2.0, 20.0, 100.0])
        result["after"][path] = {"n": len(fitted), **rounded(model)}
        for out in FITTED:
            rest = {n: rows for n, rows in groups.items() if n != out}
            after_without[out][path] = model if out not in groups else logistic(weighted(rest), AFTER, {}, ridge, fixed)
        stated["after " + path] = held
        print("after", path, rounded(model), "ridge", ridge, fixed); [print("   ", n, e) for n, e in held.items()]
    result["before_spread"], stated["spread"] = fit_spread(everywhere, lists, before_without, after_without)
    groups = {n: [r for q in fitted if q["collection"] == n for r in relevance_rows(q, weight, variant)] for n in FEW_RELEVANT}
    names = ["bm25_share", "cosine", "exact", "ln_rank", "margin"]
    model, held, ridge, _ = best_fit(groups, names, {}, [{"exact": prior["relevance"]["exact"]}], [0.05, 0.5, 5.0])
    stated["relevance"] = held
    print("relevance", rounded(model)); [print("   ", n, e) for n, e in held.items()]
    result["relevance"] = {"n": sum(len(g) for g in groups.values()), **rounded(model)}
    result["linear_fusion"] = {"n": len(train), "bm25_weight": weight}
    write(args, result)


def write(args, result):
    if args.write:
        text = compact(result)
        json.loads(text)
        open(args.write, "w", encoding="utf-8").write(text)


def compact(result):
    """One model a line: the file is read by people."""
    lines = ["{", '  "provenance": ' + json.dumps(result["provenance"], indent=2).replace("\n", "\n  ") + ","]
    for part in ("before", "after"):
        body = ",\n".join(f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in result[part].items())
        lines.append(f'  "{part}": {{\n{body}\n  }},')
    lines.append(f'  "before_calibration": {json.dumps(result["before_calibration"])},')
    lines.append(f'  "before_spread": {json.dumps(result["before_spread"])},')
    lines.append(f'  "relevance": {json.dumps(result["relevance"])},')
    lines.append(f'  "linear_fusion": {json.dumps(result["linear_fusion"])}')
    return "\n".join(lines + ["}", ""])


if __name__ == "__main__":
    main()
