/** Plain Socket.IO as a program of Bun. The first line of stdout is its address. */
import { startSocketIoRelay } from "../socketIoRelay.ts"

process.stdout.write(`${await startSocketIoRelay()}\n`)
