//! Ctrl-C and SIGTERM: the first asks the command to stop, the second ends the process.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

const CODE_INTERRUPT: u8 = 130;
#[cfg(unix)]
const CODE_TERMINATE: u8 = 143;

/// A request to stop, and the exit code that it leads to.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    token: Arc<Mutex<CancellationToken>>,
    code: Arc<AtomicU8>,
    prompt: Arc<Mutex<Option<Terminal>>>,
}

impl Interrupt {
    pub(crate) fn new() -> Interrupt {
        Interrupt { token: Arc::default(), code: Arc::new(AtomicU8::new(CODE_INTERRUPT)), prompt: Arc::default() }
    }

    /// Starts listening. Must be called inside the async runtime. Where no handler can be set, signals keep their default.
    pub(crate) fn listen(&self) {
        let Ok(mut signals) = Signals::new() else { return };
        let heard = self.clone();
        tokio::spawn(async move {
            while let Some(code) = signals.next().await {
                let token = heard.token();
                if token.is_cancelled() {
                    std::process::exit(i32::from(code));
                }
                // Nothing watches the token while a line is being typed, and a Ctrl-C there is the line editor's.
                if code != CODE_INTERRUPT
                    && let Some(terminal) = heard.prompt().take()
                {
                    terminal.restore();
                    std::process::exit(i32::from(code));
                }
                heard.code.store(code, Ordering::Relaxed);
                token.cancel();
            }
        });
    }

    /// The token that runs watch.
    pub(crate) fn token(&self) -> CancellationToken {
        self.token.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Forgets a Ctrl-C, so that the next statement of a shell runs. False after SIGTERM, which ends the shell.
    pub(crate) fn renew(&self) -> bool {
        let mut token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        let terminated = token.is_cancelled() && self.code() != CODE_INTERRUPT;
        if !terminated {
            *token = CancellationToken::new();
        }
        !terminated
    }

    fn prompt(&self) -> MutexGuard<'_, Option<Terminal>> {
        self.prompt.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a line while SIGTERM ends the process, with the terminal as it was.
    pub(crate) fn while_asking<T>(&self, ask: impl FnOnce() -> T) -> T {
        *self.prompt() = Some(Terminal::now());
        let asked = ask();
        *self.prompt() = None;
        asked
    }

    /// 130 or 143.
    pub(crate) fn code(&self) -> u8 {
        self.code.load(Ordering::Relaxed)
    }
}

/// How the terminal was before a line editor changed it.
#[derive(Debug)]
struct Terminal {
    #[cfg(unix)]
    before: Option<rustix::termios::Termios>,
}

impl Terminal {
    fn now() -> Terminal {
        Terminal {
            #[cfg(unix)]
            before: rustix::termios::tcgetattr(std::io::stdin()).ok(),
        }
    }

    fn restore(&self) {
        #[cfg(unix)]
        if let Some(before) = &self.before {
            let _ = rustix::termios::tcsetattr(std::io::stdin(), rustix::termios::OptionalActions::Now, before);
        }
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
