import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import { guardChild } from "../../test/childGuard.ts"
import { timeout } from "../relay/limits.ts"
import { pin, processors } from "../relay/pinning.ts"

/** An order to the process that reads a page. */
export type ReaderOrder =
  | { readonly _tag: "Open"; readonly page: string }
  /** Closes the page, if one is open. */
  | { readonly _tag: "Close" }

/** A reply of the process: one for each order. */
export type ReaderReport =
  | { readonly _tag: "Ready" | "Opened" }
  /** What it has read since the page was opened. */
  | { readonly _tag: "Closed"; readonly bytes: number; readonly messages: number }

/** An operator's page in another process. */
export interface Reader {
  /** Opens the page of a Server, and waits for the start of its stream. */
  readonly open: (address: string) => Promise<void>
  /** Closes the page. Gives the bytes and the messages of its stream; zero without an open page. */
  readonly close: () => Promise<{ readonly bytes: number; readonly messages: number }>
}

/** Starts the process, on the processor of the load. It ends with this one. */
export const startReader = async (): Promise<Reader> => {
  const child = guardChild(
    fork(fileURLToPath(new URL("readerHost.ts", import.meta.url)), { stdio: ["ignore", 2, 2, "ipc"] })
  )
  if (child.pid !== undefined) pin(child.pid, processors.load)
  const nextReport = () =>
    new Promise<ReaderReport>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("the reader of the page does not reply")), timeout)
      child.once("message", (report: ReaderReport) => {
        clearTimeout(timer)
        resolve(report)
      })
    })
  const request = (order: ReaderOrder): Promise<ReaderReport> => {
    const report = nextReport()
    child.send(order)
    return report
  }
  await nextReport()
  return {
    open: async (address) => void (await request({ _tag: "Open", page: `http://${address}/office` })),
    close: async () => {
      const report = await request({ _tag: "Close" })
      return report._tag === "Closed" ? report : { bytes: 0, messages: 0 }
    }
  }
}
