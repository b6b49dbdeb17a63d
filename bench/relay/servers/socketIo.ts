/** The reference of all ratios: plain Socket.IO. */
import { obeyOrders } from "../host.ts"
import { startSocketIoRelay } from "../socketIoRelay.ts"

obeyOrders(await startSocketIoRelay())
