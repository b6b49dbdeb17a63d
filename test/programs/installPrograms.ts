import { chromiumBrowser } from "./chromiumBrowser.ts"
import { install, locate, type Program } from "./Program.ts"
import { redisServer } from "./redisServer.ts"

/** The programs that tests need. */
export const programs: ReadonlyArray<Program> = [redisServer, chromiumBrowser]

/** Makes private copies of missing programs before the tests start. */
export default async (): Promise<void> => {
  for (const program of programs) {
    // An explicit path replaces all others.
    if (locate(program) !== undefined || process.env[program.variable] !== undefined) continue
    process.stdout.write(`${program.installation}\n`)
    await install(program).catch((error: Error) =>
      process.stdout.write(`${program.name} cannot be installed: ${error.message.trim().split("\n").at(-1)}\n`)
    )
  }
}
