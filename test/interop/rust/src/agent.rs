use async_trait::async_trait;
use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use serde_json::{json, Value};
use smcp::{
    A2CSkillRef, EnterOfficeNotification, LeaveOfficeNotification, SMCPTool, UpdateMCPConfigNotification,
    UpdateToolListNotification,
};
use smcp_agent::{
    AsyncAgentEventHandler, AsyncSmcpAgent, DefaultAuthProvider, SmcpAgentConfig, SmcpAgentError,
};
use tokio::sync::Mutex;

use crate::{text, Failure, Lines, Outcome, Part};

/// Reports what the crate tells its host.
struct Notifications(Lines);

#[async_trait]
impl AsyncAgentEventHandler for Notifications {
    async fn on_computer_enter_office(
        &self,
        data: EnterOfficeNotification,
        _agent: &AsyncSmcpAgent,
    ) -> Result<(), SmcpAgentError> {
        self.0.report("entered", data.computer.as_deref().unwrap_or_default());
        Ok(())
    }

    async fn on_computer_leave_office(
        &self,
        data: LeaveOfficeNotification,
        _agent: &AsyncSmcpAgent,
    ) -> Result<(), SmcpAgentError> {
        self.0.report("left", data.computer.as_deref().unwrap_or_default());
        Ok(())
    }

    async fn on_computer_update_config(
        &self,
        data: UpdateMCPConfigNotification,
        _agent: &AsyncSmcpAgent,
    ) -> Result<(), SmcpAgentError> {
        self.0.report("config", &data.computer);
        Ok(())
    }

    async fn on_computer_update_tool_list(
        &self,
        data: UpdateToolListNotification,
        _agent: &AsyncSmcpAgent,
    ) -> Result<(), SmcpAgentError> {
        self.0.report("toolList", &data.computer);
        Ok(())
    }

    async fn on_tools_received(
        &self,
        computer: &str,
        _tools: Vec<SMCPTool>,
        _agent: &AsyncSmcpAgent,
    ) -> Result<(), SmcpAgentError> {
        self.0.report("tools", computer);
        Ok(())
    }

    async fn on_desktop_updated(
        &self,
        computer: &str,
        _desktops: Vec<String>,
        _agent: &AsyncSmcpAgent,
    ) -> Result<(), SmcpAgentError> {
        self.0.report("desktop", computer);
        Ok(())
    }

    async fn on_skills_received(
        &self,
        computer: &str,
        _skills: Vec<A2CSkillRef>,
        _agent: &AsyncSmcpAgent,
    ) -> Result<(), SmcpAgentError> {
        self.0.report("skills", computer);
        Ok(())
    }
}

/// In seconds, for all calls: the crate takes no timeout of a call.
const CALL_TIMEOUT: u64 = 3;

/// What the commands need of the connection.
#[derive(Clone, Default)]
struct Identity {
    url: String,
    name: String,
    office: String,
    token: String,
}

pub struct AgentPart {
    lines: Lines,
    identity: Mutex<Identity>,
    agent: Mutex<Option<AsyncSmcpAgent>>,
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::new(error.to_string())
}

/// Keeps the code of an error of the protocol.
fn refused(error: SmcpAgentError) -> Failure {
    let message = error.to_string();
    let code = match error {
        SmcpAgentError::Protocol(error) => Some(error.code),
        _ => None,
    };
    Failure { message, code }
}

impl AgentPart {
    pub fn new(lines: Lines) -> Self {
        Self { lines, identity: Mutex::default(), agent: Mutex::default() }
    }

    /// Connects with this timeout of calls: the crate has it in the configuration of the Agent only.
    async fn connected(&self, timeout: u64) -> Result<AsyncSmcpAgent, Failure> {
        let Identity { name, office, token, url } = self.identity.lock().await.clone();
        let config = SmcpAgentConfig::new().with_tool_call_timeout(timeout);
        let auth = DefaultAuthProvider::new(name, office).with_api_key(token);
        let mut agent = AsyncSmcpAgent::new(auth, config).with_event_handler(Notifications(self.lines.clone()));
        agent.connect(&url).await.map_err(refused)?;
        Ok(agent)
    }

    async fn current(&self) -> Result<AsyncSmcpAgent, Failure> {
        self.agent.lock().await.clone().ok_or_else(|| Failure::new("not connected"))
    }
}

#[async_trait]
impl Part for AgentPart {
    async fn run(&self, command: &str, request: &Value) -> Outcome {
        let computer = text(request, "computer");
        if command == "connect" {
            *self.identity.lock().await = Identity {
                url: text(request, "url").to_string(),
                name: text(request, "name").to_string(),
                office: text(request, "office").to_string(),
                token: text(request, "token").to_string(),
            };
            let agent = self.connected(CALL_TIMEOUT).await?;
            *self.agent.lock().await = Some(agent);
            return Ok(Value::Null);
        }
        let agent = self.current().await?;
        let Identity { name, office, .. } = self.identity.lock().await.clone();
        match command {
            "join" => {
                agent.join_office(&name).await.map_err(refused)?;
                Ok(Value::Null)
            }
            "leave" => {
                agent.leave_office().await.map_err(refused)?;
                Ok(Value::Null)
            }
            "computers" => {
                let sessions = agent.list_room(&office).await.map_err(refused)?;
                let sessions = serde_json::to_value(sessions).map_err(failed)?;
                let names = sessions.as_array().into_iter().flatten().filter(|one| one["role"] == "computer");
                Ok(names.map(|one| one["name"].clone()).collect())
            }
            "tools" => serde_json::to_value(agent.get_tools(computer).await.map_err(refused)?).map_err(failed),
            "call" => {
                agent.tool_call(computer, text(request, "tool"), request["params"].clone()).await.map_err(refused)
            }
            "desktop" => {
                let size = request["size"].as_i64().map(|size| size as i32);
                let window = request["window"].as_str().map(str::to_string);
                Ok(json!(agent.get_desktop(computer, size, window).await.map_err(refused)?))
            }
            "config" => {
                serde_json::to_value(agent.get_computer_config(computer).await.map_err(refused)?).map_err(failed)
            }
            "resources" => {
                let cursor = request["cursor"].as_str().map(str::to_string);
                let page = agent.get_resources(computer, text(request, "server"), cursor).await.map_err(refused)?;
                serde_json::to_value(page).map_err(failed)
            }
            "skills" => serde_json::to_value(agent.get_skills(computer).await.map_err(refused)?).map_err(failed),
            "skill" => {
                let path = request["path"].as_str();
                let skill = agent.get_skill(computer, text(request, "name"), path).await.map_err(refused)?;
                serde_json::to_value(skill).map_err(failed)
            }
            "upload" => {
                let data = STANDARD.decode(text(request, "data")).map_err(failed)?;
                let hint = Some(text(request, "hint"));
                let landed = agent.put_blob(computer, &data, hint, None).await.map_err(refused)?;
                Ok(json!({ "path": landed.landing_path, "size": landed.total_size, "sha256": landed.sha256 }))
            }
            _ => Err(Failure::new(format!("unknown command {command}"))),
        }
    }
}
