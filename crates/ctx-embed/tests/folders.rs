//! Models in model2vec's layout other than the embedded one: each number type, mappings and token weights, a tokenizer
//! that is not WordPiece, and shapes that contradict each other.

use std::path::Path;

use ctx_embed::{EmbedError, IdfTable, StaticModel};
use safetensors::tensor::{Dtype, TensorView, serialize_to_file};

/// Four words, each with its own direction.
const WORDS: [&str; 4] = ["[UNK]", "red", "green", "blue"];
const ROWS: [f32; 12] = [9.0, 9.0, 9.0, 2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0];

fn word_level() -> String {
    let vocab: Vec<String> = WORDS.iter().enumerate().map(|(id, word)| format!("\"{word}\":{id}")).collect();
    format!(
        r#"{{"version":"1.0","truncation":{{"max_length":1,"strategy":"LongestFirst","stride":0,"direction":"Right"}},
        "padding":null,"added_tokens":[{{"id":0,"content":"[UNK]","single_word":false,"lstrip":false,"rstrip":false,
        "normalized":false,"special":true}}],"normalizer":null,"pre_tokenizer":{{"type":"Whitespace"}},
        "post_processor":null,"decoder":null,
        "model":{{"type":"WordLevel","vocab":{{{}}},"unk_token":"[UNK]"}}}}"#,
        vocab.join(",")
    )
}

type Tensor<'t> = (&'t str, Dtype, Vec<usize>, Vec<u8>);

fn load(tensors: &[Tensor<'_>]) -> Result<StaticModel, EmbedError> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path(), tensors);
    StaticModel::load(folder.path())
}

fn write(folder: &Path, tensors: &[Tensor<'_>]) {
    let views =
        tensors.iter().map(|(name, dtype, shape, data)| (*name, TensorView::new(*dtype, shape.clone(), data).expect("consistent shape")));
    serialize_to_file(views, None, &folder.join("model.safetensors")).expect("writable");
    std::fs::write(folder.join("tokenizer.json"), word_level()).expect("writable");
    std::fs::write(folder.join("config.json"), r#"{"name":"colours","hidden_dim":3}"#).expect("writable");
}

fn f32_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn embed(model: &StaticModel, text: &str) -> Vec<f32> {
    let mut vector = vec![0.0; model.dimension()];
    model.embed(text, &IdfTable::uniform(model.vocabulary_len()), &mut vector);
    vector
}

#[test]
fn each_number_type_gives_the_same_vectors() {
    let halves = ROWS.iter().flat_map(|v| {
        if *v == 2.0 {
            0x4000_u16
        } else if *v == 9.0 {
            0x4880
        } else {
            0
        }
        .to_le_bytes()
    });
    let bfloats = ROWS.iter().flat_map(|v| ((v.to_bits() >> 16) as u16).to_le_bytes());
    let files = [
        (Dtype::F32, f32_bytes(&ROWS)),
        (Dtype::F16, halves.collect()),
        (Dtype::BF16, bfloats.collect()),
        (Dtype::I8, ROWS.iter().map(|v| *v as i8 as u8).collect()),
    ];
    for (dtype, data) in files {
        let model = load(&[("embeddings", dtype, vec![4, 3], data)]).expect("a good model");
        assert_eq!((model.identity().name.as_str(), model.dimension(), model.vocabulary_len()), ("colours", 3, 4));
        assert_eq!(embed(&model, "red"), [1.0, 0.0, 0.0], "{dtype:?}");
        let mixed = embed(&model, "red mauve green [UNK]");
        assert!((mixed[0] - 0.5_f32.sqrt()).abs() < 1e-6 && mixed[0] == mixed[1], "unknown words add nothing: {mixed:?}");
    }
}

#[test]
fn identities_differ_when_a_weight_differs() {
    let mut other = ROWS;
    other[4] = 1.0;
    let [a, b] = [ROWS, other].map(|rows| load(&[("embeddings", Dtype::F32, vec![4, 3], f32_bytes(&rows))]).expect("good"));
    let idf = IdfTable::uniform(4);
    let error = a.identity().with_idf(&idf).check(&b.identity().with_idf(&idf)).expect_err("other weights");
    assert!(matches!(error, EmbedError::Mismatch { field: "model", .. }));
}

#[test]
fn scales_weights_and_mappings_are_applied() {
    let mapping: Vec<u8> = [0_i64, 1, 1, 2].iter().flat_map(|row| row.to_le_bytes()).collect();
    let model = load(&[
        ("embeddings", Dtype::I8, vec![3, 2], vec![0, 0, 10, 0, 0, 10]),
        ("row_scales", Dtype::F32, vec![3], f32_bytes(&[1.0, 0.1, 0.1])),
        ("dimension_scales", Dtype::F32, vec![2], f32_bytes(&[1.0, 4.0])),
        ("weights", Dtype::F32, vec![4], f32_bytes(&[1.0, 1.0, 1.0, 0.75])),
        ("mapping", Dtype::I64, vec![4], mapping),
    ])
    .expect("a good model");
    assert_eq!(embed(&model, "red"), embed(&model, "green"));
    let mixed = embed(&model, "red blue");
    assert!((mixed[1] / mixed[0] - 3.0).abs() < 1e-5, "{mixed:?}");
}

#[test]
fn contradicting_shapes_are_errors_that_say_what_is_wrong() {
    let embeddings = ("embeddings", Dtype::F32, vec![4, 3], f32_bytes(&ROWS));
    let far: Vec<u8> = [0_i32, 1, 2, 9].iter().flat_map(|row| row.to_le_bytes()).collect();
    let cases: [(Vec<Tensor<'_>>, &str); 6] = [
        (vec![("vectors", Dtype::F32, vec![4, 3], f32_bytes(&ROWS))], "embeddings"),
        (vec![("embeddings", Dtype::F32, vec![12], f32_bytes(&ROWS))], "shape"),
        (vec![("embeddings", Dtype::F32, vec![0, 3], vec![])], "empty"),
        (vec![("embeddings", Dtype::U8, vec![4, 3], vec![0; 12])], "U8"),
        (vec![embeddings.clone(), ("row_scales", Dtype::F32, vec![3], f32_bytes(&[1.0; 3]))], "row_scales"),
        (vec![embeddings, ("mapping", Dtype::I32, vec![4], far)], "row 9"),
    ];
    for (tensors, part) in cases {
        let error = load(&tensors).expect_err("not a good model");
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn a_vocabulary_larger_than_the_table_is_refused() {
    let error = load(&[("embeddings", Dtype::F32, vec![3, 3], f32_bytes(&ROWS[..9]))]).expect_err("one row too few");
    assert!(error.to_string().contains("4 tokens"), "{error}");
}
