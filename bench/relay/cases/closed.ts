import { cpuOf, type ServerKind } from "../kinds.ts"
import { closedLoop, type Extent } from "../loops.ts"
import type { Payload } from "../payloads.ts"
import { interleave, type Reading, summarise } from "../rounds.ts"
import { slow } from "../slowServers.ts"
import { connectPairs, profileSite, type Site, withSites } from "../Site.ts"
import { type Case, kindsOf, type Setting, type Target } from "./Case.ts"

/** Settings of a closed loop. */
export interface ClosedLoad {
  readonly name: string
  readonly about: string
  /** Made on demand: some payloads are large. */
  readonly payload: () => Payload
  readonly pairs: number
  /** Calls in flight per pair: enough to keep the server busy. */
  readonly inFlight: number
  /** Calls of the warm-up: V8 optimises the code path of a call. */
  readonly warmUp: number
  /** Length of a window. */
  readonly millis: number
  /** New processes of all servers, which share the rounds; 1 by default. V8 optimises each process in another way. */
  readonly starts?: number
  readonly targets: { readonly cpu?: Target; readonly rate?: Target }
}

/** Maximum window with `--quick` in milliseconds, and the divisor of warm-ups. */
const quick = { millis: 150, warmUp: 20 }

/** Duration of a profile in milliseconds. */
const profiled = 5000

interface Group {
  readonly name: string
  readonly loop: (extent: Extent) => ReturnType<typeof closedLoop>["ended"]
  readonly site: Site
}

/** Connects the pairs of a load, and runs its warm-up. */
export const startLoad = async (
  site: Site,
  { inFlight, pairs: count, warmUp }: ClosedLoad,
  payload: Payload,
  isQuick: boolean
): Promise<Group["loop"]> => {
  const pairs = await connectPairs(site, count, payload)
  const loop = (extent: Extent) => closedLoop(pairs, inFlight, extent).ended
  await loop({ calls: isQuick ? warmUp / quick.warmUp : warmUp })
  return loop
}

const withGroups = <A>(
  load: ClosedLoad,
  kinds: ReadonlyArray<ServerKind>,
  { client, note, quick: isQuick }: Setting,
  use: (groups: ReadonlyArray<Group>) => Promise<A>
): Promise<A> =>
  withSites(kinds, client, async (sites) => {
    const payload = load.payload()
    const groups: Array<Group> = []
    for (const site of sites) {
      note(`warming up ${site.name}`)
      groups.push({ name: site.name, loop: await startLoad(site, load, payload, isQuick), site })
    }
    return use(groups)
  })

const window = async ({ loop, site: { running } }: Group, wanted: number, slowServers: boolean) => {
  const before = await cpuOf(running)
  const own = process.cpuUsage()
  const [child] = running.children
  const release = slowServers && child !== undefined ? slow(child.pid) : () => undefined
  const { calls, millis } = await loop({ millis: wanted }).finally(release)
  const { system, user } = process.cpuUsage(own)
  const micros = (await cpuOf(running)) - before
  return { cpu: micros / calls, rate: (calls * 1000) / millis, load: (system + user) / millis / 10 }
}

/** A case of calls in a closed loop: CPU time and rate. */
export const closedCase = (load: ClosedLoad): Case => ({
  name: load.name,
  about: load.about,
  run: async (setting) => {
    const millis = setting.quick ? Math.min(quick.millis, load.millis) : load.millis
    const starts = setting.quick ? 1 : (load.starts ?? 1)
    const roundsPerStart = Math.ceil(setting.rounds / starts)
    const rounds: Array<ReadonlyMap<string, Reading<"cpu" | "rate" | "load">>> = []
    for (let start = 1; start <= starts; start++) {
      const measured = await withGroups(load, kindsOf(setting), setting, (groups) =>
        interleave(groups, roundsPerStart, (group) => window(group, millis, setting.slowServers), setting.note)
      )
      rounds.push(...measured)
    }
    const summary = (measure: "cpu" | "rate" | "load") => summarise(rounds, setting.reference.name, measure, "rate")
    const { cpu, rate } = load.targets
    return [
      {
        case: load.name,
        measure: "CPU per call",
        unit: "us",
        summary: summary("cpu"),
        ...(cpu && { target: cpu })
      },
      {
        case: load.name,
        measure: "rate",
        unit: "calls/s",
        summary: summary("rate"),
        ...(rate && { target: rate })
      },
      { case: load.name, measure: "load busy", unit: "%", summary: summary("load") }
    ]
  },
  profile: (setting, file) =>
    withGroups(load, [setting.library], setting, async (groups) => {
      for (const { loop, site } of groups) {
        setting.note("taking the profile")
        await profileSite(site, file, () => loop({ millis: profiled }))
      }
    })
})
