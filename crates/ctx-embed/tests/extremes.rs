//! Inputs that nobody sends on purpose, and folders that are not what they promise.

use ctx_embed::{EmbedError, IdfBuilder, IdfTable, StaticModel, dot_f32};

fn embed(text: &str) -> Option<Vec<f32>> {
    let model = StaticModel::embedded();
    let mut vector = vec![7.0; model.dimension()];
    let known = model.embed(text, &IdfTable::uniform(model.vocabulary_len()), &mut vector);
    assert!(vector.iter().all(|v| v.is_finite()), "{vector:?}");
    assert!(known || vector.iter().all(|v| *v == 0.0), "a text without known words leaves zeros");
    known.then_some(vector)
}

#[test]
fn texts_without_known_words_have_no_vector() {
    for text in ["", " \n\t", "\0\0\0", "\u{301}\u{301}", "🎉👩‍👩‍👧", "\u{fffd}", "\u{200b}\u{feff}", "꧁꧂"] {
        assert!(embed(text).is_none(), "{text:?}");
    }
}

#[test]
fn known_words_give_a_unit_vector_and_nul_changes_nothing() {
    let vector = embed("planner").expect("known");
    assert!((dot_f32(&vector, &vector) - 1.0).abs() < 1e-5);
    assert_eq!(embed("plan\0ner"), Some(vector.clone()));
    assert_eq!(embed("  PLANNER\r\n"), Some(vector));
    assert!(embed("?!").is_some(), "punctuation is in the vocabulary");
}

#[test]
fn a_huge_word_is_unknown_and_bounded() {
    assert!(embed(&"a".repeat(50 << 20)).is_none());
    assert!(embed(&"é".repeat(1 << 20)).is_none());
    assert!(embed(&"\u{301}".repeat(1 << 20)).is_none());
}

#[test]
fn a_huge_segment_without_blanks_keeps_its_words() {
    let words = "alpha,".repeat(1 << 17);
    let tokens = StaticModel::embedded().tokenize(&words);
    let once = StaticModel::embedded().tokenize("alpha,");
    assert_eq!(tokens.len(), once.len() << 17);
    assert!(tokens.chunks(once.len()).all(|chunk| chunk == once));
}

#[test]
fn embedding_again_gives_the_same_bits() {
    let model = StaticModel::embedded();
    let texts = ["The planner rejects infeasible plans.", "Das Über-Ich, naïve café №5", "日本語 text"];
    let mut counts = IdfBuilder::new(model.vocabulary_len());
    texts.iter().for_each(|text| counts.add_document(&model.tokenize(text)));
    let idf = counts.finish();
    let read_back = IdfTable::from_bytes(&idf.to_bytes()).expect("own bytes");
    for text in texts {
        let (mut a, mut b) = (vec![0.0; model.dimension()], vec![1.0; model.dimension()]);
        assert!(model.embed(text, &idf, &mut a) && model.embed_tokens(&model.tokenize(text), &read_back, &mut b));
        assert!(a.iter().zip(&b).all(|(x, y)| x.to_bits() == y.to_bits()));
    }
}

#[test]
fn the_order_of_words_does_not_change_a_bit() {
    assert_eq!(embed("the planner rejects the plan, the slow one"), embed("the slow plan the one planner, rejects the"));
}

#[test]
fn weights_of_the_source_move_the_vector_towards_the_rare_word() {
    let model = StaticModel::embedded();
    let mut counts = IdfBuilder::new(model.vocabulary_len());
    let common = model.tokenize("server");
    (0..1000).for_each(|_| counts.add_document(&common));
    let idf = counts.finish();
    let uniform = IdfTable::uniform(model.vocabulary_len());
    let similarity = |idf: &IdfTable| {
        let (mut both, mut rare) = (vec![0.0; model.dimension()], vec![0.0; model.dimension()]);
        assert!(model.embed("server volcano", idf, &mut both) && model.embed("volcano", idf, &mut rare));
        dot_f32(&both, &rare)
    };
    assert!(similarity(&idf) > 0.99 && similarity(&uniform) < 0.95, "{} {}", similarity(&idf), similarity(&uniform));
}

#[test]
fn a_folder_that_is_missing_or_broken_is_a_typed_error() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let missing = StaticModel::load(folder.path()).expect_err("nothing there");
    assert!(matches!(&missing, EmbedError::Io { path, .. } if path.ends_with("tokenizer.json")), "{missing}");
    std::fs::write(folder.path().join("tokenizer.json"), b"{").expect("writable");
    std::fs::write(folder.path().join("model.safetensors"), b"\xff\xff\xff\xff\xff\xff\xff\xff{}").expect("writable");
    let broken = StaticModel::load(folder.path()).expect_err("not a model");
    assert!(matches!(&broken, EmbedError::Model { .. }), "{broken}");
    assert!(broken.hint().contains("model2vec"));
}
