import { Effect } from "effect"
import { installDemoServers } from "./demoServers.ts"
import { runDemo } from "./runDemo.ts"
import { runPageDemo } from "./runPageDemo.ts"

/** Runs the tour of an office, or an office for its page. */
export const demo = Effect.fnUntraced(function* ({ page }: { readonly page: boolean }) {
  yield* installDemoServers()
  return page ? yield* runPageDemo() : yield* runDemo()
})
