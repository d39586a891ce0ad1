#!/usr/bin/env python3
"""Fits how hard a goal is for language models: one weight per feature of ctx-intent, and what each size class of models makes of it.

    cargo build --release -p ctx-intent --example features
    python3 crates/ctx-intent/scripts/hardness.py DATA_DIR FEATURES_BINARY   # writes model/hardness.bin and model/hardness.json

DATA_DIR holds `mmlu_pro_outcomes` (29 models), `routellm_outcomes` (2) and `routerbench_subset` (11): whether a model was right on an
examination question. The features are those of the question alone: no options, no worked examples, no prompt. Item-response model:
P(model m right on question q) = logistic(ability_m − w·features_q), ridge on w; a model that occurs in several sets has one ability, so
that hardness is comparable between the sets. A question counts as four outcomes at most, or 29 models would outweigh the rest.
Train: SHA-256 of the id in the first 60 %. The ridge is chosen by five folds of train; abilities and slopes of size classes (the block
printed for ctx-cost/coefficients/quality.json) are fitted on cross-fitted hardness of train. Test is looked at once, for the report.
Zero is the mean of goals over documents, logs and tables (`source_mix`, train): examinations tell which goals are harder than others,
not how hard such goals are as a whole, and so a typical one is given what a size class reaches in examinations.
Deterministic. Needs numpy, and the command `zstd`.
"""
import hashlib, json, pathlib, re, struct, subprocess, sys
import numpy as np

RIDGES = [4.0, 16.0, 48.0]
OUTCOMES_MAX = 4.0     # of one question
FOLDS = 5
SAME = {"mixtral-8x7b": "mixtral-8x7b", "Mixtral-8x7B-Instruct-v0.1": "mixtral-8x7b", "mistralai/mixtral-8x7b-chat": "mixtral-8x7b",
        "gpt-4-1106": "gpt-4-1106", "gpt-4-1106-preview": "gpt-4-1106"}


def digest(identifier):
    return int(hashlib.sha256(identifier.encode()).hexdigest()[:16], 16)


def tsv(path):
    head, *rows = [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n") if line]
    return [dict(zip(head, row)) for row in rows]


def lines(path):
    text = subprocess.run(["zstd", "-dc", str(path)], check=True, capture_output=True).stdout.decode()
    return [json.loads(line) for line in text.split("\n") if line]


def question(text):
    """The last question of a prompt, without its options."""
    text = text.strip().removesuffix("Answer:").rstrip()
    at = text.rfind("Answer:")
    if at >= 0 and "\n\n" in text[at:]:
        text = text[text.index("\n\n", at):].strip()
    text = text.split("\nPrint only a single choice")[0]
    options = re.search(r"\nA[.)] ", text)
    return text[:options.start()].rstrip() if options else text


def read(data):
    rows = []
    pro = {row["id"]: row for row in tsv(data / "mmlu_pro_outcomes/outcomes.tsv")}
    for q in lines(data / "mmlu_pro_outcomes/queries.jsonl.zst"):
        right = {m: float(v) for m, v in pro[str(q["id"])].items() if m not in ("id", "category") and v != ""}
        rows.append(("mmlu_pro", str(q["id"]), q["text"], right))
    pairs = {row["id"]: row for row in tsv(data / "routellm_outcomes/outcomes.tsv")}
    for q in lines(data / "routellm_outcomes/queries.jsonl.zst"):
        row = pairs[q["id"]]
        right = {"mixtral-8x7b": float(row["weak_correct"]), "gpt-4-1106": float(row["strong_correct"])}
        rows.append(("gsm8k" if q["task"] == "gsm8k" else "mmlu", q["id"], q["text"], right))
    bench = {}
    for row in tsv(data / "routerbench_subset/outcomes.tsv"):
        bench.setdefault(row["id"], {})[row["model"]] = float(row["score"])
    for q in lines(data / "routerbench_subset/queries.jsonl.zst"):
        rows.append(("routerbench", q["id"], q["text"], bench[q["id"]]))
    return rows


class Features:
    def __init__(self, binary, texts):
        given = "".join(json.dumps(text) + "\n" for text in texts)
        out = subprocess.run([binary], input=given, check=True, capture_output=True, text=True).stdout.split("\n")
        self.rows, self.length = len(texts), int(out[0].split()[1])
        found = [(at, *pair.split(":")) for at, line in enumerate(out[1:1 + len(texts)]) for pair in line.split()]
        self.row, self.column = (np.array([f[i] for f in found], dtype=int) for i in (0, 1))
        self.value = np.array([f[2] for f in found], dtype=float)

    def times(self, w):
        return np.bincount(self.row, self.value * w[self.column], minlength=self.rows)

    def transposed(self, g):
        return np.bincount(self.column, self.value * g[self.row], minlength=self.length)


def logistic(z):
    return 1.0 / (1.0 + np.exp(-z))


def fit(x, q, m, y, weight, ridge):
    """Newton steps, each solved by conjugate gradients."""
    models = m.max() + 1
    w, b = np.zeros(x.length), np.zeros(models)
    for _ in range(6):
        p = logistic(b[m] - x.times(w)[q])
        g, v = weight * (p - y), weight * np.maximum(p * (1 - p), 1e-6)

        def curvature(dw, db):
            t = v * (db[m] - x.times(dw)[q])
            return ridge * dw - x.transposed(np.bincount(q, t, minlength=x.rows)), np.bincount(m, t, minlength=models) + 1e-3 * db

        rw = x.transposed(np.bincount(q, g, minlength=x.rows)) - ridge * w
        rb = -np.bincount(m, g, minlength=models) - 1e-3 * b
        start = left = rw @ rw + rb @ rb
        dw, db, pw, pb = np.zeros_like(w), np.zeros_like(b), rw.copy(), rb.copy()
        for _ in range(60):
            aw, ab = curvature(pw, pb)
            step = left / (pw @ aw + pb @ ab)
            dw, db, rw, rb = dw + step * pw, db + step * pb, rw - step * aw, rb - step * ab
            now = rw @ rw + rb @ rb
            if now < 1e-6 * start:
                break
            pw, pb, left = rw + now / left * pw, rb + now / left * pb, now
        w, b = w + dw, b + db
        if np.abs(dw).max() < 1e-4:
            break
    return w, b


def platt(h, y):
    """ability, slope of P = logistic(ability − slope·h)."""
    t = np.zeros(2)
    x = np.stack([np.ones_like(h), -h], 1)
    for _ in range(50):
        p = logistic(x @ t)
        step = np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + 1e-6 * np.eye(2), x.T @ (y - p))
        t += step
        if np.abs(step).max() < 1e-9:
            break
    return t


def log_loss(p, y):
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return float(-np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)))


def size_class(name):
    """As ctx-cost/scripts/tiers.py says it."""
    low = name.lower()
    size = re.search(r"(\d+(?:\.\d+)?)b", low)
    billions = 47 if "8x7b" in low else 141 if "8x22b" in low else float(size.group(1)) if size else None
    if billions is not None:
        return "small" if billions <= 9 else "medium" if billions <= 40 else "large"
    return "large" if re.search(r"pro|opus|large|405|gpt-4|sonnet|v2", low) else "medium" if re.search(r"flash|haiku|mini|jamba", low) else "small"


def main(data, binary):
    rows = read(pathlib.Path(data))
    train = np.array([digest(r[1]) < 0.6 * 2**64 for r in rows])
    fold = np.array([digest("fold " + r[1]) % FOLDS for r in rows])
    sets = np.array([r[0] for r in rows])
    x = Features(binary, [question(r[2]) for r in rows])
    names = {}
    table = [(at, names.setdefault(SAME.get(m, m), len(names)), v) for at, r in enumerate(rows) for m, v in r[3].items()]
    q, m, y = (np.array([t[i] for t in table]) for i in range(3))
    asked = np.bincount(q)
    weight = np.minimum(asked[q], OUTCOMES_MAX) / asked[q]
    part = lambda chosen, ridge: fit(x, q[chosen[q]], m[chosen[q]], y[chosen[q]], weight[chosen[q]], ridge)

    report, crossed = {}, {}
    for ridge in RIDGES:
        hardness, loss = np.zeros(len(rows)), 0.0
        for f in range(FOLDS):
            w, b = part(train & (fold != f), ridge)
            own = train & (fold == f)
            hardness[own] = x.times(w)[own]
            p = np.clip(logistic(b[m] - x.times(w)[q]), 1e-6, 1 - 1e-6)
            loss -= np.sum((weight * (y * np.log(p) + (1 - y) * np.log(1 - p)))[own[q]])
        report[ridge], crossed[ridge] = round(loss / weight[train[q]].sum(), 5), hardness
        print("ridge", ridge, "log loss of unseen folds", report[ridge], flush=True)
    ridge = min(report, key=report.get)
    w, _ = part(train, ridge)
    centre = float(x.times(w)[train & (sets == "mmlu_pro")].mean())
    goals = [json.loads(line) for line in (pathlib.Path(data) / "source_mix/queries.jsonl").read_text(encoding="utf-8").splitlines()]
    goals = Features(binary, [goal["text"] for goal in goals if digest(goal["id"]) < 0.6 * 2**64])
    scale = float(np.abs(w).max() / 127)
    quantised = np.round(w / scale).astype(np.int8)
    hardness = x.times(quantised.astype(float)) * scale - centre
    typical = goals.times(quantised.astype(float)) * scale
    zero = float(typical.mean())
    held = crossed[ridge] - float(crossed[ridge][train & (sets == "mmlu_pro")].mean())

    by_number = {number: name for name, number in names.items()}
    original = {SAME.get(name, name): name for name in rows[0][3]} | {SAME.get(name, name): name for r in rows[:50] for name in r[3]}
    classes = np.array([size_class(original.get(by_number[k], by_number[k])) for k in range(len(names))])[m]
    tiers, held_out = {}, {}
    for name in ("small", "medium", "large"):
        of = (classes == name) & (sets == "mmlu_pro")[q]
        seen, unseen = of & train[q], of & ~train[q]
        ability, slope = platt(held[q[seen]], y[seen])
        tiers[name] = {"ability_milli": round(1000 * ability), "slope_milli": round(1000 * slope)}
        p, mean = logistic(ability - slope * hardness[q[unseen]]), y[seen].mean()
        held_out[name] = {"n": int(unseen.sum()), "questions": int((~train & (sets == "mmlu_pro")).sum()),
                          "brier": round(float(np.mean((p - y[unseen]) ** 2)), 4), "brier_class_mean": round(float(np.mean((mean - y[unseen]) ** 2)), 4)}
    ranking = {}
    for name in ("mmlu_pro", "mmlu", "gsm8k", "routerbench"):
        of = np.where(~train & (sets == name))[0]
        means = np.array([np.mean(list(rows[at][3].values())) for at in of])
        ranking[name] = {"n": len(of), "correlation_with_mean_outcome": round(float(np.corrcoef(-hardness[of], means)[0, 1]), 3),
                         "mean": round(float(hardness[of].mean()), 3), "standard_deviation": round(float(hardness[of].std()), 3)}
    folder = pathlib.Path(__file__).resolve().parent.parent / "model"
    head = b"ctxhard1" + struct.pack("<ff", 1000 * scale, -1000 * zero)
    (folder / "hardness.bin").write_bytes(head + quantised.tobytes())
    provenance = {
        "data": "mmlu_pro_outcomes, routellm_outcomes, routerbench_subset (dev sides): question text without options, whether each of 40 models was right",
        "split": "train: SHA-256 of the id in the first 60 %; test: the rest, looked at once",
        "n_train": {name: int((train & (sets == name)).sum()) for name in ("mmlu_pro", "mmlu", "gsm8k", "routerbench")},
        "seed": "none: folds by SHA-256, zero start", "date": "2026-11-30", "features": x.length, "ridge": ridge,
        "log_loss_unseen_folds_of_train": report,
        "zero": {"goals": goals.rows, "standard_deviation": round(float(typical.std()), 3), "mean_of_mmlu_pro_train": round(centre - zero, 3)},
        "test_relative_to_mean_of_mmlu_pro_train": ranking, "size_classes": tiers, "size_classes_test_mmlu_pro": held_out,
    }
    (folder / "hardness.json").write_text(json.dumps(provenance, indent=1) + "\n")
    print(json.dumps(provenance, indent=1))


main(*sys.argv[1:])
