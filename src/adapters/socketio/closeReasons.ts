/** Codes for the close reasons of Socket.IO and Engine.IO. */
const codes: { readonly [reason: string]: string } = {
  "client namespace disconnect": "client_disconnect",
  "forced close": "closed_locally",
  "io client disconnect": "client_disconnect",
  "io server disconnect": "server_disconnect",
  "parse error": "invalid_packet",
  "ping timeout": "keepalive_timeout",
  "server namespace disconnect": "server_disconnect",
  "server shutting down": "server_shutdown",
  "transport close": "transport_closed",
  "transport error": "transport_error"
}

/** The code of a close reason of Socket.IO or Engine.IO; an unknown reason is returned as it is. */
export const closeReasonCode = (reason: string): string => codes[reason] ?? reason
