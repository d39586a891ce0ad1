//! Prompts that were sent lately: what a provider's prompt cache may still hold of the next one.
//!
//! Per tenant, model and layout: hashes of what prompts begin with and when each was last sent, and of the last prompts how much
//! began as before and how much of that the provider reported as read from its cache. Before planning this becomes an
//! observation ([`PromptCache`]): a value, coarse, absent once nothing was sent for [`KEPT_SECONDS`]. Kept only for models whose
//! price of cached input is known and lower; of runs from `confidential` up nothing is kept.
//!
//! Not here: texts. What is kept of a prompt is hashes of its beginnings.

use ctx_contracts::{Message, PluginError, Role, Store};
use ctx_cost::prefix::{PrefixForecast, Prompt};
use ctx_types::{Catalog, HeldPrefix, Layout, ModelName, Ppm, PromptCache, Tokens};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Name of the stored form.
const PROMPTS_BLOB: &str = "prompts";
/// Version of the stored form.
const SCHEMA_VERSION: u32 = 1;
/// How long a provider holds what nobody sends again. The large providers state five to ten minutes of inactivity; the shorter.
const KEPT_SECONDS: u64 = 300;
/// Bytes of a block: a prompt is compared block by block. Some thirty tokens; providers compare by 16 to 128.
const BLOCK_BYTES: usize = 128;
/// Beginnings kept of one layout: prompts of 32,000 tokens altogether.
const BLOCKS_MAX: usize = 1_024;
/// Prompts that a forecast is made from.
const PROMPTS_MAX: usize = 64;
/// Tenants whose prompts are kept; a further one has none.
const TENANTS_MAX: usize = 256;
/// Tokens that weigh as much as what providers reported, and the share of them that is held: before a report nobody knows, and a
/// provider without a cache is found out within a prompt or two.
const UNREPORTED: (f64, f64) = (1_024.0, 0.5);
/// Steps of what planning sees, so that plans are not made anew for every prompt.
const SHARE_STEP: u32 = 50_000;
const HELD_STEP: u32 = 100_000;
const HEAD_STEP: u64 = 16;

/// One prompt: tokens of all, of its head, of what began as before, and of what the provider reported as read from its cache.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Sent {
    all: u32,
    head: u32,
    repeated: u32,
    reported: Option<u32>,
}

/// Prompts of one tenant to one model in one layout.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Recent {
    last: u64,
    /// Hashes of beginnings, and when each was last sent.
    blocks: BTreeMap<u64, u64>,
    prompts: VecDeque<Sent>,
}

type ByModel = BTreeMap<ModelName, BTreeMap<Layout, Recent>>;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Memory {
    schema_version: u32,
    tenants: BTreeMap<String, ByModel>,
}

/// A prompt as it was sent.
pub(crate) struct Call<'a> {
    pub(crate) tenant: &'a str,
    pub(crate) model: &'a ModelName,
    pub(crate) layout: Layout,
    pub(crate) messages: &'a [Message],
    /// Tokens of the prompt.
    pub(crate) tokens: Tokens,
    /// Tokens read from the cache, where usage was reported.
    pub(crate) cached: Option<Tokens>,
}

/// Prompts sent by this process, and what others stored of theirs.
#[derive(Default)]
pub(crate) struct Prompts {
    memory: Mutex<Memory>,
}

impl Prompts {
    pub(crate) async fn open(store: &dyn Store, now: u64) -> Prompts {
        let read = |bytes: Vec<u8>| serde_json::from_slice::<Memory>(&bytes).ok().filter(|memory| memory.schema_version == SCHEMA_VERSION);
        let mut memory = match store.read_blob(PROMPTS_BLOB).await {
            Ok(stored) => stored.and_then(read).unwrap_or_default(),
            Err(error) => {
                tracing::warn!(%error, "nothing is expected of prompt caches");
                Memory::default()
            }
        };
        memory.forget(now);
        Prompts { memory: Mutex::new(memory) }
    }

    /// Writes them, if any was sent to a model where it matters.
    pub(crate) async fn close(&self, store: &dyn Store, now: u64) -> Result<(), PluginError> {
        let bytes = {
            let mut memory = self.lock();
            if memory.tenants.is_empty() {
                return Ok(());
            }
            memory.forget(now);
            memory.schema_version = SCHEMA_VERSION;
            serde_json::to_vec(&*memory).expect("hashes and counts under string keys")
        };
        store.write_blob(PROMPTS_BLOB, &bytes).await
    }

    /// What providers may hold of a tenant's prompts, of the models where reading from the cache is known to be cheaper.
    pub(crate) fn known(&self, tenant: &str, catalog: &Catalog, now: u64) -> BTreeMap<ModelName, PromptCache> {
        let memory = self.lock();
        let Some(by_model) = memory.tenants.get(tenant) else { return BTreeMap::new() };
        let priced = |model: &ModelName| catalog.models.get(model).is_some_and(|e| e.prices.cached_saving(Tokens::ZERO).is_some());
        let warm = |layouts: &BTreeMap<Layout, Recent>| {
            let held = layouts.iter().filter_map(|(layout, recent)| Some((*layout, recent.held(now)?)));
            PromptCache { layouts: held.collect() }
        };
        let caches = by_model.iter().filter(|(model, _)| priced(model)).map(|(model, layouts)| (model.clone(), warm(layouts)));
        caches.filter(|(_, cache)| !cache.layouts.is_empty()).collect()
    }

    /// Remembers a prompt.
    pub(crate) fn sent(&self, call: &Call<'_>, now: u64) {
        let mut memory = self.lock();
        if !memory.tenants.contains_key(call.tenant) && memory.tenants.len() >= TENANTS_MAX {
            return;
        }
        let of_tenant = memory.tenants.entry(call.tenant.to_owned()).or_default();
        of_tenant.entry(call.model.clone()).or_default().entry(call.layout).or_default().add(call, now);
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory {
    /// Drops beginnings that no provider holds any more. How often they were held stays.
    fn forget(&mut self, now: u64) {
        let layouts = self.tenants.values_mut().flat_map(BTreeMap::values_mut).flat_map(BTreeMap::values_mut);
        layouts.for_each(|recent| recent.blocks.retain(|_, at| is_held(*at, now)));
    }
}

/// Whether what was sent then is held now. A clock that was set back holds nothing.
fn is_held(at: u64, now: u64) -> bool {
    now.checked_sub(at).is_some_and(|age| age < KEPT_SECONDS)
}

impl Recent {
    fn add(&mut self, call: &Call<'_>, now: u64) {
        let begins = beginnings(call.messages);
        let held = begins.hashes.iter().take_while(|hash| self.blocks.get(hash).is_some_and(|at| is_held(*at, now))).count();
        let tokens = |bytes: usize| (call.tokens.get() as f64 * bytes as f64 / begins.bytes.max(1) as f64).round() as u32;
        // The head is shorter than a block may be: it is held whenever anything is.
        let head = tokens(begins.head);
        let repeated = if is_held(self.last, now) { tokens(held * BLOCK_BYTES).max(head) } else { 0 };
        let reported = call.cached.map(|cached| u32::try_from(cached.get()).unwrap_or(u32::MAX));
        self.prompts.push_back(Sent { all: tokens(begins.bytes), head, repeated, reported });
        if self.prompts.len() > PROMPTS_MAX {
            self.prompts.pop_front();
        }
        self.last = now;
        begins.hashes.into_iter().take(BLOCKS_MAX).for_each(|hash| _ = self.blocks.insert(hash, now));
        while self.blocks.len() > BLOCKS_MAX
            && let Some(oldest) = self.blocks.iter().min_by_key(|(_, at)| **at).map(|(hash, _)| *hash)
        {
            self.blocks.remove(&oldest);
        }
    }

    /// What is expected of the next prompt; nothing once the last one is too long ago.
    fn held(&self, now: u64) -> Option<HeldPrefix> {
        let head = self.prompts.back().filter(|_| is_held(self.last, now))?.head;
        let behind = |sent: &Sent| Prompt { cached: sent.repeated.saturating_sub(sent.head), blocks: sent.all.saturating_sub(sent.head) };
        let history: Vec<Prompt> = self.prompts.iter().map(behind).collect();
        let repeats = PrefixForecast::of(&history, None).share(history.len());
        let known = HeldPrefix {
            head: Tokens(u64::from(head) / HEAD_STEP * HEAD_STEP),
            repeats: stepped(repeats, SHARE_STEP),
            held: stepped(self.held_share(), HELD_STEP),
        };
        (known.of(Tokens(u64::MAX >> 32)) > Tokens::ZERO).then_some(known)
    }

    /// Share of what began as before that providers report as read from the cache.
    fn held_share(&self) -> f64 {
        let reported = self.prompts.iter().filter_map(|sent| Some((sent.repeated, sent.reported?.min(sent.repeated))));
        let (expected, read) = reported.fold((0.0, 0.0), |(e, r), (expected, read)| (e + f64::from(expected), r + f64::from(read)));
        let (weight, share) = UNREPORTED;
        (read + weight * share) / (expected + weight)
    }
}

fn stepped(share: f64, step: u32) -> Ppm {
    let ppm = Ppm::from_share(share).get();
    Ppm((ppm + step / 2) / step * step)
}

struct Beginnings {
    /// A hash of everything up to the end of each block.
    hashes: Vec<u64>,
    /// Bytes of what every prompt begins with: the instruction.
    head: usize,
    bytes: usize,
}

fn beginnings(messages: &[Message]) -> Beginnings {
    let head = messages.iter().take_while(|message| message.role == Role::System).map(|message| message.content.len()).sum();
    let mut out = Beginnings { hashes: Vec::new(), head, bytes: 0 };
    // Fowler–Noll–Vo, 1a.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in messages.iter().flat_map(|message| message.content.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        out.bytes += 1;
        if out.bytes.is_multiple_of(BLOCK_BYTES) {
            out.hashes.push(hash);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(body: &str) -> Vec<Message> {
        vec![Message { role: Role::System, content: "s".repeat(300) }, Message { role: Role::User, content: body.to_owned() }]
    }

    fn model() -> ModelName {
        ModelName::new("hosted").expect("a name")
    }

    /// Sends prompts that share so many bytes behind the instruction; of what repeats the provider reads `read`.
    fn world(shared: usize, read: Option<f64>, n: u32) -> Prompts {
        let prompts = Prompts::default();
        for number in 0..n {
            let body = format!("{}{}", "c".repeat(shared), format!("{number:05}").repeat((1_700 - shared) / 5));
            let expected = if number == 0 { 0.0 } else { (300.0 + shared as f64) / 2.0 };
            let cached = read.map(|share| Tokens((expected * share) as u64));
            let call = Call {
                tenant: "a",
                model: &model(),
                layout: Layout::ContextFirst,
                messages: &messages(&body),
                tokens: Tokens(1_000),
                cached,
            };
            prompts.sent(&call, 1_000 + u64::from(number));
        }
        prompts
    }

    fn catalog(cached: bool) -> Catalog {
        let mut entry = ctx_testkit::catalogs::remote_model();
        entry.prices.cached_input = entry.prices.cached_input.filter(|_| cached);
        ctx_testkit::catalogs::catalog(&[], &[("hosted", entry)])
    }

    fn held(prompts: &Prompts, now: u64) -> Option<HeldPrefix> {
        prompts.known("a", &catalog(true), now).get(&model())?.layouts.get(&Layout::ContextFirst).copied()
    }

    #[test]
    fn what_repeats_is_foreseen_and_what_providers_report_corrects_it() {
        let faithful = held(&world(1_000, Some(1.0), 30), 1_040).expect("sent lately");
        assert_eq!(faithful.head, Tokens(144), "300 of 2,000 bytes, in steps");
        assert!((500_000..=600_000).contains(&faithful.repeats.get()), "1,000 of 1,700 bytes, in blocks: {faithful:?}");
        assert!(faithful.held >= Ppm(900_000), "{faithful:?}");
        let without_cache = held(&world(1_000, Some(0.0), 30), 1_040).expect("sent lately");
        assert!(without_cache.held.get() <= 100_000, "{without_cache:?}");
        let silent = held(&world(1_000, None, 30), 1_040).expect("sent lately");
        assert_eq!(silent.held, Ppm(500_000), "nobody reported anything");
        let changing = held(&world(0, Some(1.0), 30), 1_040).expect("sent lately");
        assert_eq!(changing.repeats, Ppm(0), "the head alone repeats: {changing:?}");
    }

    #[test]
    fn it_goes_cold_and_belongs_to_one_tenant_and_to_models_with_a_cached_price() {
        let prompts = world(1_000, Some(1.0), 5);
        assert!(held(&prompts, 1_004 + KEPT_SECONDS - 1).is_some());
        assert_eq!(held(&prompts, 1_004 + KEPT_SECONDS), None);
        assert_eq!(held(&prompts, 900), None, "a clock that was set back");
        assert!(prompts.known("b", &catalog(true), 1_010).is_empty());
        assert!(prompts.known("a", &catalog(false), 1_010).is_empty());
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let prompts = Prompts::default();
        for number in 0..40_u64 {
            let body = format!("{number}").repeat(20_000);
            let call = Call {
                tenant: &format!("tenant {}", number % 2),
                model: &model(),
                layout: Layout::ContextFirst,
                messages: &messages(&body),
                tokens: Tokens(9_000),
                cached: None,
            };
            prompts.sent(&call, number);
        }
        let memory = prompts.lock();
        for recent in memory.tenants.values().flat_map(BTreeMap::values).flat_map(BTreeMap::values) {
            assert!(recent.blocks.len() <= BLOCKS_MAX && recent.prompts.len() <= PROMPTS_MAX);
        }
    }
}
