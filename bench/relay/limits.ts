/** Message size limit of measured servers, in bytes: above the largest result of all cases. */
export const maxMessageBytes = 16 * 1024 * 1024

/** Path and namespace of Socket.IO (spec §1). */
export const path = "/smcp"

/** Timeout of a server's start and of an order, in milliseconds. */
export const timeout = 30_000

/** The `timeout` of a call, in seconds. */
export const callSeconds = 60
