import { Deferred, Effect, type Exit } from "effect"

type StreamName = "stdout" | "stderr"

/** The output of a command, also while it runs. */
export interface CommandOutput<End> {
  readonly stdout: () => string
  readonly stderr: () => string
  /** Waits for a line with this text, or for several, and returns the last one. */
  readonly prints: (text: string, where?: StreamName, times?: number) => Effect.Effect<string>
  readonly ended: Effect.Effect<End>
}

/** Records the output of a command, and tells its readers of every change. */
export const recordOutput = <End>() => {
  const ended = Deferred.makeUnsafe<End>()
  const text = { stdout: "", stderr: "" }
  const waiting = new Set<() => void>()
  const notify = () => {
    for (const look of waiting) look()
  }
  const output: CommandOutput<End> = {
    stdout: () => text.stdout,
    stderr: () => text.stderr,
    prints: (wanted, where = "stdout", times = 1) =>
      Effect.callback<string>((resume) => {
        const look = () => {
          const line = text[where].split("\n").filter((one) => one.includes(wanted))[times - 1]
          if (line !== undefined) resume(Effect.succeed(line))
          else if (Deferred.isDoneUnsafe(ended)) {
            const reason = `the command ended without printing "${wanted}":\n${text.stdout}\n${text.stderr}`
            resume(Effect.die(new Error(reason)))
          }
        }
        waiting.add(look)
        look()
        return Effect.sync(() => waiting.delete(look))
      }),
    ended: Deferred.await(ended)
  }
  return {
    output,
    write: (where: StreamName, chunk: string) => {
      text[where] += chunk
      notify()
    },
    end: (exit: Exit.Exit<End>) => {
      Deferred.doneUnsafe(ended, exit)
      notify()
    }
  }
}
