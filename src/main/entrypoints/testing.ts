/**
 * For tests and for hosts that keep everything in one process: a transport, the offices of Servers, MCP servers and
 * connections of devices in memory. They are full peers of the real ones and know no clock but Effect's, so that a whole office runs on virtual
 * time.
 */
export * as MemoryByteLink from "../../adapters/memory/MemoryByteLink.ts"
export * as MemoryMcp from "../../adapters/memory/MemoryMcp.ts"
export * as MemoryCluster from "../../adapters/memory/MemoryCluster.ts"
export * as MemoryTransport from "../../adapters/memory/MemoryTransport.ts"
