/**
 * In-memory adapters for tests and single-process hosts: transport, cluster, MCP servers and device connections. They
 * behave like the real ones and use only the clock of Effect: a whole office can run on virtual time.
 */
import "./requireNode.ts"
import "../requireEffect.ts"
export * as MemoryByteLink from "../../adapters/memory/MemoryByteLink.ts"
export * as MemoryMcp from "../../adapters/memory/MemoryMcp.ts"
export * as MemoryCluster from "../../adapters/memory/MemoryCluster.ts"
export * as MemoryTransport from "../../adapters/memory/MemoryTransport.ts"
