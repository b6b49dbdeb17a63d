import { Effect } from "effect"
import { CommandFailed } from "../../CommandFailed.ts"
import { truncateLine } from "../output/format.ts"
import { printLine } from "../output/print.ts"
import type { HealthCommandOptions } from "./flags.ts"
import { makePageRequest, serverPageUrl } from "./serverPage.ts"

/** Characters of the reply that are shown. */
const maxShown = 200

/** Shows whether a Server accepts members, without credentials. */
export const checkHealth = Effect.fnUntraced(function* ({ tlsCa, url }: HealthCommandOptions) {
  const page = yield* serverPageUrl(url, "/readyz")
  const { status, text } = yield* yield* makePageRequest(page, { tlsCa })
  const reply = truncateLine(text.trim(), maxShown)
  if (status === 200) return yield* printLine(reply)
  return yield* status === 503
    ? new CommandFailed({ message: `The Server is not ready: ${reply}`, exitCode: 2 })
    : new CommandFailed({ message: `The response of ${page.origin} is not from an A2C Server: status ${status}` })
})
