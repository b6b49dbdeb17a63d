import { ratioAtMost } from "./relay/cases/Case.ts"
import { closedCase } from "./relay/cases/closed.ts"
import type { ServerKind } from "./relay/kinds.ts"
import { text } from "./relay/payloads.ts"
import { pin, processors } from "./relay/pinning.ts"
import { formatTable } from "./relay/table.ts"

/** What differs between the comparisons with results of one size. */
interface SizeOptions {
  readonly pairs: number
  /** The largest ratio of the CPU time per call that is no failure. */
  readonly target: number
}

/** Prints the CPU time of a call at one kind of Server, compared with another kind, for results of 1 KB and of 1 MB. */
export const compareCalls = async (
  {
    others = [],
    reference,
    subject
  }: { readonly reference: ServerKind; readonly subject: ServerKind; readonly others?: ReadonlyArray<ServerKind> },
  { large, small }: { readonly large: SizeOptions; readonly small: SizeOptions }
): Promise<void> => {
  const sizes = [
    { name: "1k", about: "results of 1 KB text", bytes: 1024, inFlight: 4, warmUp: 50_000, ...small },
    { name: "1m", about: "results of 1 MB text", bytes: 1024 * 1024, inFlight: 1, warmUp: 2000, ...large }
  ]
  pin(process.pid, processors.load)
  for (const { bytes, target, ...size } of sizes) {
    const { run } = closedCase({
      ...size,
      payload: () => text(bytes),
      millis: 500,
      targets: { cpu: ratioAtMost(target) }
    })
    const rows = await run({
      reference,
      subject,
      library: subject,
      others,
      client: "light",
      rounds: Number(process.argv[2] ?? 12),
      slowServers: false,
      quick: false,
      note: () => undefined
    })
    process.stdout.write(
      formatTable(rows, { reference: reference.name, subject: subject.name, others: others.map(({ name }) => name) })
    )
  }
}
