//! The machine a figure was measured on: a number without it means nothing.

use serde::Serialize;

/// Description of the machine and of how busy it was.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Processor.
    pub processor: String,
    /// Processors usable by this process.
    pub cores: usize,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// Operating system and kernel.
    pub system: String,
    /// Load averages when the measurement began; above `cores` the machine was busy with other work.
    pub load: String,
    /// Whether the program was optimised.
    pub optimised: bool,
}

impl Machine {
    /// This machine, now.
    pub fn describe() -> Machine {
        let file = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let line = |text: &str, name: &str| {
            text.lines().find(|line| line.starts_with(name)).and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned())
        };
        let memory = line(&file("/proc/meminfo"), "MemTotal").and_then(|value| value.split_whitespace().next()?.parse::<u64>().ok());
        Machine {
            processor: line(&file("/proc/cpuinfo"), "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_mib: memory.unwrap_or(0) / 1024,
            system: format!("{} {}", std::env::consts::OS, file("/proc/sys/kernel/osrelease").trim()),
            load: file("/proc/loadavg").split_whitespace().take(3).collect::<Vec<_>>().join(" "),
            optimised: !cfg!(debug_assertions),
        }
    }
}

/// Largest resident set of this process so far, in MiB; `None` where the system does not say.
pub fn peak_memory_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}

/// Processor time of all threads of this process, in seconds; `None` where the system does not say.
pub fn processor_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(ticks as f64 / 100.0) // USER_HZ is 100 on every Linux
}
