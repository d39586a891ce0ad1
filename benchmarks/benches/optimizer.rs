//! Selection under budgets, evidence packing: the optimizer without the planner around it.

use criterion::{Criterion, criterion_group, criterion_main};
use ctx_optimizer::linear::{NODES_MAX, branch_and_bound, label_setting};
use ctx_optimizer::packing::pack;
use ctx_testkit::optimizer_figures::{SEED, packing_instance, selection_instance};
use std::hint::black_box;

fn selection(c: &mut Criterion) {
    let mut group = c.benchmark_group("50 groups of 50 items");
    for budgets in [1, 3] {
        let problem = selection_instance(budgets);
        group.bench_function(format!("branch and bound, {budgets} budgets"), |b| {
            b.iter(|| black_box(branch_and_bound(&problem, NODES_MAX)))
        });
        group.bench_function(format!("label-setting, {budgets} budgets"), |b| b.iter(|| black_box(label_setting(&problem, NODES_MAX))));
    }
    group.finish();
}

fn packing(c: &mut Criterion) {
    let items = packing_instance(SEED, 60);
    c.bench_function("packing 500 passages into 8,000 tokens", |b| b.iter(|| black_box(pack(&items, 8_000, 3, 64))));
}

criterion_group!(benches, selection, packing);
criterion_main!(benches);
