import { Effect } from "effect"
import { commandsPage, readCommands, variablesPage } from "./commands.ts"
import { errorsPage } from "./errors.ts"
import { eventsPage } from "./events.ts"
import { exportsPages } from "./exports.ts"
import { logMessagesPage } from "./logMessages.ts"
import { mcpConformancePage } from "./mcpConformance.ts"
import { metricsPage } from "./metrics.ts"
import { settingsPage } from "./settings.ts"

export const referenceFolder = "docs/reference"

/** The pages of the reference by their file names. */
export const generateReference = async (): Promise<ReadonlyMap<string, string>> => {
  const commands = await Effect.runPromise(readCommands)
  return new Map([
    ["commands.md", commandsPage(commands)],
    ["variables.md", variablesPage(commands)],
    ["settings.md", settingsPage()],
    ["events.md", eventsPage()],
    ["errors.md", errorsPage()],
    ["log-messages.md", logMessagesPage()],
    ["mcp-conformance.md", mcpConformancePage()],
    ["metrics.md", metricsPage()],
    ...exportsPages()
  ])
}
