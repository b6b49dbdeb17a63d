use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{json, Value};
use smcp_server_core::{DefaultAuthenticationProvider, SmcpServerBuilder};
use smcp_server_hyper::HyperServerBuilder;
use tokio::net::{TcpListener, TcpStream};

use crate::{text, Failure, Outcome, Part};

pub struct ServerPart;

/// A port that is free at present: the crate does not tell which one it got.
async fn free_address() -> std::io::Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0").await?.local_addr()
}

#[async_trait]
impl Part for ServerPart {
    async fn run(&self, command: &str, request: &Value) -> Outcome {
        if command != "start" {
            return Err(Failure::new(format!("unknown command {command}")));
        }
        let address = free_address().await.map_err(|error| Failure::new(error.to_string()))?;
        let auth = DefaultAuthenticationProvider::new(Some(text(request, "token").to_string()), None);
        let layer = SmcpServerBuilder::new()
            .with_auth_provider(Arc::new(auth))
            .build_layer()
            .map_err(|error| Failure::new(error.to_string()))?;
        let server = HyperServerBuilder::new().with_layer(layer).with_addr(address).build();
        tokio::spawn(async move { server.run(address).await.map_err(|error| eprintln!("{error}")) });
        while TcpStream::connect(address).await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        Ok(json!({ "port": address.port() }))
    }
}
