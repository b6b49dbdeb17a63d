/** Message size limit of measured servers, in bytes: above the largest result of all cases. */
export const maxMessageBytes = 16 * 1024 * 1024

/** Path and namespace of Socket.IO (spec §1). */
export const path = "/smcp"

/** Timeout of a server's start and of an order, in milliseconds. */
export const timeout = 30_000

/** The `timeout` of a call, in seconds. */
export const callSeconds = 60

/** Milliseconds without load after which memory is read: a Server frees the memory of a load after a minute. */
export const quietMillis = { usual: 65_000, quick: 500 }
