use std::collections::HashMap;
use std::path::PathBuf;

use async_trait::async_trait;
use serde_json::{json, Value};
use smcp_computer::computer::{Computer, ConnectOptions, SilentSession};
use smcp_computer::mcp_clients::model::{MCPServerConfig, MCPServerInput};
use tokio::sync::Mutex;

use crate::{text, Failure, Outcome, Part};

#[derive(Default)]
pub struct ComputerPart {
    computer: Mutex<Option<Computer<SilentSession>>>,
    name: Mutex<String>,
}

/// The crate spells the types of inputs with an upper-case letter.
fn with_their_type(mut input: Value) -> Value {
    let kind = text(&input, "type").to_string();
    let mut letters = kind.chars();
    if let Some(first) = letters.next() {
        input["type"] = json!(format!("{}{}", first.to_uppercase(), letters.as_str()));
    }
    input
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::new(error.to_string())
}

impl ComputerPart {
    async fn current(&self) -> Result<Computer<SilentSession>, Failure> {
        self.computer.lock().await.clone().ok_or_else(|| Failure::new("not started"))
    }

    async fn start(&self, request: &Value) -> Outcome {
        let name = text(request, "name").to_string();
        let folder = PathBuf::from(text(request, "folder"));
        let mut servers = HashMap::new();
        for (key, config) in request["config"]["servers"].as_object().into_iter().flatten() {
            servers.insert(key.clone(), serde_json::from_value::<MCPServerConfig>(config.clone()).map_err(failed)?);
        }
        let mut inputs = HashMap::new();
        for config in request["config"]["inputs"].as_array().into_iter().flatten() {
            let input = serde_json::from_value::<MCPServerInput>(with_their_type(config.clone())).map_err(failed)?;
            inputs.insert(text(config, "id").to_string(), input);
        }
        let session = SilentSession::new("interop");
        let computer = Computer::new(name.clone(), session, Some(inputs), Some(servers), true, true)
            .with_skill_home(folder.join("skills"))
            .with_blob_cache_root(folder.join("blobs"))
            .with_config_dir(folder.join("config"))
            .with_landing_root(PathBuf::from(text(request, "landing")));
        computer.boot_up().await.map_err(failed)?;
        // Neither starts servers nor finds their skills by itself.
        computer.start_all_mcp_clients().await.map_err(failed)?;
        computer.restage_mcp_skills(None).await;
        *self.computer.lock().await = Some(computer);
        *self.name.lock().await = name;
        Ok(Value::Null)
    }
}

#[async_trait]
impl Part for ComputerPart {
    async fn run(&self, command: &str, request: &Value) -> Outcome {
        if command == "start" {
            return self.start(request).await;
        }
        let computer = self.current().await?;
        match command {
            "connect" => {
                let options = ConnectOptions {
                    auth_payload: Some(json!({ "token": text(request, "token") })),
                    ..ConnectOptions::default()
                };
                computer.connect_socketio(text(request, "url"), options).await.map_err(failed)?;
            }
            "join" => {
                let name = self.name.lock().await.clone();
                computer.join_office(text(request, "office"), &name).await.map_err(failed)?;
            }
            "leave" => computer.leave_office().await.map_err(failed)?,
            "close" => computer.shutdown().await.map_err(failed)?,
            _ => return Err(Failure::new(format!("unknown command {command}"))),
        }
        Ok(Value::Null)
    }
}
