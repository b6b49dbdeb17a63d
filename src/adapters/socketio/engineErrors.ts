import type { GateRejection } from "./gate.ts"

const reject = (code: number, message: string, status = 400): GateRejection => ({
  status,
  headers: {},
  body: { code, message }
})

/** Responses to requests that Engine.IO cannot handle, with its codes. */
export const engineErrors = {
  unknownTransport: reject(0, "Transport unknown"),
  unknownSession: reject(1, "Session ID unknown"),
  badMethod: reject(2, "Bad handshake method"),
  badRequest: reject(3, "Bad request"),
  unsupportedProtocol: reject(5, "Unsupported protocol version"),
  tooLarge: reject(413, "Payload too large", 413)
}
