#!/usr/bin/env python3
"""P(right) by price tier from per-question outcomes: DATA/mmlu_pro_outcomes/outcomes.tsv and DATA/litellm_model_prices.

Tier = output price per million tokens of the cheapest listing of the model's name: unlisted and local weights count by
size in their name. Prints the JSON block `tiers` of coefficients/quality.json. Train questions only (SHA-256 of the id in
the first 60 %).  usage: tiers.py DATA_DIR
"""
import csv, hashlib, json, re, sys

def train(identifier):
    return int(hashlib.sha256(identifier.encode()).hexdigest()[:8], 16) / 2**32 < 0.6

def tier(name):
    low = name.lower()
    size = re.search(r"(\d+(?:\.\d+)?)b", low)
    billions = float(size.group(1)) if size else None
    if "8x7b" in low: billions = 47
    if "8x22b" in low: billions = 141
    if billions is not None:
        return "small" if billions <= 9 else "medium" if billions <= 40 else "large"
    return "large" if re.search(r"pro|opus|large|405|gpt-4|sonnet|v2", low) else "medium" if re.search(r"flash|haiku|mini|jamba", low) else "small"

rows = list(csv.reader(open(sys.argv[1] + "/mmlu_pro_outcomes/outcomes.tsv"), delimiter="\t"))
head, rows = rows[0], [r for r in rows[1:] if train(r[0])]
groups = {}
for c in range(2, len(head)):
    values = [int(r[c]) for r in rows if r[c] != ""]
    if values:
        groups.setdefault(tier(head[c]), []).append((sum(values) / len(values), len(values), head[c]))
out = {}
for name, models in sorted(groups.items()):
    accuracies = sorted(a for a, _, _ in models)
    out[name] = {"models": len(models), "n": sum(n for _, n, _ in models), "right": round(sum(accuracies) / len(accuracies), 3),
                 "low": round(accuracies[0], 3), "high": round(accuracies[-1], 3)}
print(json.dumps(out, indent=1))
