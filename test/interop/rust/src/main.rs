//! Drives one part of the published crates, on JSON lines: `{"id", "do", …}` on stdin gives `{"id", "value"}` or
//! `{"id", "error"}` on stdout. Lines with `event` report what happens in between. Usage: interop-driver ROLE

mod agent;
mod computer;
mod server;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{json, Value};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc::{unbounded_channel, UnboundedSender};

/// An error of the part, with the code of the protocol where it has one.
pub struct Failure {
    pub message: String,
    pub code: Option<i64>,
}

impl Failure {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: None }
    }
}

pub type Outcome = Result<Value, Failure>;

/// Writes lines to stdout in their order.
#[derive(Clone)]
pub struct Lines(UnboundedSender<Value>);

impl Lines {
    pub fn report(&self, event: &str, name: &str) {
        let _ = self.0.send(json!({ "event": event, "name": name }));
    }
}

#[async_trait]
pub trait Part: Send + Sync {
    async fn run(&self, command: &str, request: &Value) -> Outcome;
}

pub fn text<'a>(request: &'a Value, field: &str) -> &'a str {
    request[field].as_str().unwrap_or_default()
}

#[tokio::main]
async fn main() {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
    let (sender, mut receiver) = unbounded_channel::<Value>();
    tokio::spawn(async move {
        let mut stdout = tokio::io::stdout();
        while let Some(line) = receiver.recv().await {
            let _ = stdout.write_all(format!("{line}\n").as_bytes()).await;
            let _ = stdout.flush().await;
        }
    });
    let lines = Lines(sender);
    let part: Arc<dyn Part> = match std::env::args().nth(1).as_deref() {
        Some("agent") => Arc::new(agent::AgentPart::new(lines.clone())),
        Some("computer") => Arc::new(computer::ComputerPart::default()),
        Some("server") => Arc::new(server::ServerPart),
        role => panic!("unknown role {role:?}"),
    };
    let _ = lines.0.send(json!({ "event": "ready" }));
    let mut input = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = input.next_line().await {
        let request: Value = serde_json::from_str(&line).unwrap_or_default();
        let (part, lines) = (part.clone(), lines.clone());
        tokio::spawn(async move {
            let reply = match part.run(text(&request, "do"), &request).await {
                Ok(value) => json!({ "id": request["id"], "value": value }),
                Err(Failure { message, code }) => {
                    json!({ "id": request["id"], "error": { "message": message, "code": code } })
                }
            };
            let _ = lines.0.send(reply);
        });
    }
}
