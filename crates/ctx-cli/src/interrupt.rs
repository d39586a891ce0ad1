//! Ctrl-C and SIGTERM: the first asks the command to stop, the second ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use tokio_util::sync::CancellationToken;

const CODE_INTERRUPT: u8 = 130;
#[cfg(unix)]
const CODE_TERMINATE: u8 = 143;

/// A request to stop, and the exit code that it leads to.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    token: CancellationToken,
    code: Arc<AtomicU8>,
}

impl Interrupt {
    pub(crate) fn new() -> Interrupt {
        Interrupt { token: CancellationToken::new(), code: Arc::new(AtomicU8::new(CODE_INTERRUPT)) }
    }

    /// Starts listening. Must be called inside the async runtime. Where no handler can be set, signals keep their default.
    pub(crate) fn listen(&self) {
        let Ok(mut signals) = Signals::new() else { return };
        let heard = self.clone();
        tokio::spawn(async move {
            while let Some(code) = signals.next().await {
                if heard.token.is_cancelled() {
                    std::process::exit(i32::from(code));
                }
                heard.code.store(code, Ordering::Relaxed);
                heard.token.cancel();
            }
        });
    }

    /// The token that runs watch.
    pub(crate) fn token(&self) -> CancellationToken {
        self.token.clone()
    }

    /// 130 or 143.
    pub(crate) fn code(&self) -> u8 {
        self.code.load(Ordering::Relaxed)
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Signals { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) -> Option<u8> {
        tokio::select! {
            heard = self.interrupt.recv() => heard.map(|()| CODE_INTERRUPT),
            heard = self.terminate.recv() => heard.map(|()| CODE_TERMINATE),
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Signals> {
        Ok(Signals)
    }

    async fn next(&mut self) -> Option<u8> {
        tokio::signal::ctrl_c().await.ok().map(|()| CODE_INTERRUPT)
    }
}
