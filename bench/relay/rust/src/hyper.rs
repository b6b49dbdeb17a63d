//! The Server of the published crates, on one thread. It admits every client. The first line of stdout is its address.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::HeaderMap;
use serde_json::Value;
use smcp_server_core::{AuthError, AuthenticationProvider, SmcpServerBuilder};
use smcp_server_hyper::HyperServerBuilder;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

#[derive(Debug)]
struct AllowAll;

#[async_trait]
impl AuthenticationProvider for AllowAll {
    async fn authenticate(&self, _headers: &HeaderMap, _auth: Option<&Value>) -> Result<(), AuthError> {
        Ok(())
    }
}

/// A port that is free at present: the crate does not tell which one it got.
async fn free_address() -> std::io::Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0").await?.local_addr()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let address = free_address().await?;
    let layer = SmcpServerBuilder::new()
        .with_auth_provider(Arc::new(AllowAll))
        .build_layer()
        .map_err(|error| error.to_string())?;
    let server = HyperServerBuilder::new().with_layer(layer).with_addr(address).build();
    let running = tokio::spawn(server.run(address));
    while !running.is_finished() && TcpStream::connect(address).await.is_err() {
        sleep(Duration::from_millis(20)).await;
    }
    if !running.is_finished() {
        println!("{address}");
    }
    running.await?
}
