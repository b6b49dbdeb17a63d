/** Largest message that a measured server takes, in bytes: the largest result of all cases, and room around it. */
export const maxMessageBytes = 16 * 1024 * 1024

/** Path of Socket.IO, and the namespace of all events (spec §1). */
export const path = "/smcp"

/** How long a server may take to start, or an order to be done, in milliseconds: whatever hangs is a failure. */
export const patience = 30_000

/** Seconds that a call may take, as its `timeout` says. */
export const callSeconds = 60
