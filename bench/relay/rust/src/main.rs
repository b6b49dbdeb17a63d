//! Plain Socket.IO on the crate `socketioxide`, on one thread. It does what `../../socketIoRelay.ts` does. Bodies are
//! parsed and encoded, as there. Usage: oxide PATH MAX_MESSAGE_BYTES. The first line of stdout is its address.

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::serve::ListenerExt;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value, json};
use socketioxide::SocketIo;
use socketioxide::extract::{AckSender, Data, SocketRef};
use tokio::net::TcpListener;

/// Seconds beyond the timeout of a call, for the network.
const GRACE: f64 = 5.0;

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Role {
    Agent,
    Computer,
}

#[derive(Clone, Deserialize)]
struct Joining {
    role: Role,
    name: String,
    office_id: String,
}

#[derive(Deserialize, Serialize)]
struct ToolCall {
    agent: String,
    req_id: String,
    computer: String,
    tool_name: String,
    params: Value,
    /// Seconds.
    timeout: Number,
}

#[derive(Deserialize, Serialize)]
struct Update {
    computer: String,
}

/// The Computers of each office, by name.
#[derive(Clone, Default)]
struct Computers(Arc<Mutex<HashMap<String, HashMap<String, SocketRef>>>>);

impl Computers {
    fn find(&self, office: &str, name: &str) -> Option<SocketRef> {
        self.0.lock().unwrap().get(office)?.get(name).cloned()
    }

    fn add(&self, office: &str, name: &str, socket: SocketRef) {
        self.0.lock().unwrap().entry(office.to_owned()).or_default().insert(name.to_owned(), socket);
    }

    fn remove(&self, office: &str, name: &str) {
        let mut offices = self.0.lock().unwrap();
        let Some(computers) = offices.get_mut(office) else { return };
        computers.remove(name);
        if computers.is_empty() {
            offices.remove(office);
        }
    }
}

fn membership(Joining { name, office_id, role }: &Joining) -> Value {
    match role {
        Role::Agent => json!({ "office_id": office_id, "agent": name }),
        Role::Computer => json!({ "office_id": office_id, "computer": name }),
    }
}

async fn notify(socket: &SocketRef, office: &str, event: &str, body: &impl Serialize) {
    let _ = socket.to(office.to_owned()).emit(event, body).await;
}

async fn join(socket: SocketRef, joining: Joining, computers: &Computers) -> Result<(), String> {
    let Joining { name, office_id, role } = &joining;
    if computers.find(office_id, name).is_some() {
        return Err(format!("Computer with name '{name}' already exists"));
    }
    socket.join(office_id.clone());
    notify(&socket, office_id, "notify:enter_office", &membership(&joining)).await;
    if *role == Role::Computer {
        computers.add(office_id, name, socket.clone());
    }
    let computers = computers.clone();
    socket.on_disconnect(async move |socket: SocketRef| {
        notify(&socket, &joining.office_id, "notify:leave_office", &membership(&joining)).await;
        if joining.role == Role::Computer {
            computers.remove(&joining.office_id, &joining.name);
        }
    });
    Ok(())
}

async fn call(call: ToolCall, office: Option<&String>, computers: &Computers) -> Value {
    let Some(office) = office else {
        return json!({ "code": 4103, "message": "Not in an office" });
    };
    let Some(computer) = computers.find(office, &call.computer) else {
        return json!({ "code": 404, "message": format!("Computer '{}' not found", call.computer) });
    };
    let timeout = Duration::from_secs_f64(call.timeout.as_f64().unwrap_or_default() + GRACE);
    match computer.timeout(timeout).emit_with_ack::<_, Value>("client:tool_call", &call) {
        Ok(reply) => reply.await.ok(),
        Err(_) => None,
    }
    .unwrap_or_else(|| json!({ "code": 408, "message": "The Computer did not answer in time" }))
}

fn connect(socket: &SocketRef, computers: Computers) {
    let office = Arc::new(OnceLock::<String>::new());
    {
        let (office, computers) = (office.clone(), computers.clone());
        let event = "server:join_office";
        socket.on(event, async move |socket: SocketRef, Data::<Joining>(joining), ack: AckSender| {
            let wanted = joining.office_id.clone();
            let outcome = join(socket, joining, &computers).await;
            if outcome.is_ok() {
                let _ = office.set(wanted);
            }
            let _ = ack.send(&(outcome.is_ok(), outcome.err()));
        });
    }
    {
        let office = office.clone();
        let event = "server:update_tool_list";
        socket.on(event, async move |socket: SocketRef, Data::<Update>(update)| {
            if let Some(office) = office.get() {
                notify(&socket, office, "notify:update_tool_list", &update).await;
            }
        });
    }
    socket.on("client:tool_call", async move |Data::<ToolCall>(body), ack: AckSender| {
        let _ = ack.send(&call(body, office.get(), &computers).await);
    });
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let [path, max_message_bytes] =
        std::env::args().skip(1).collect::<Vec<_>>().try_into().map_err(|_| "two arguments")?;
    let max_message_bytes: usize = max_message_bytes.parse()?;
    let (layer, io) = SocketIo::builder()
        .req_path(path.clone())
        .max_payload(max_message_bytes as u64)
        .ws_max_message_size(max_message_bytes)
        .ws_max_frame_size(max_message_bytes)
        .build_layer();
    let computers = Computers::default();
    io.ns(path, async move |socket: SocketRef| connect(&socket, computers));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    // As in Node: otherwise a frame may wait for the acknowledgement of the last one.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, Router::new().layer(layer)).await?;
    Ok(())
}
