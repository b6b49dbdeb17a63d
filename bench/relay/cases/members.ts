import { cpuOf } from "../kinds.ts"
import type { Newcomer } from "../peers/Peers.ts"
import { interleave, summarise } from "../rounds.ts"
import { profileSite, type Site, untilQuiet, withSites } from "../Site.ts"
import { type Case, kindsOf, ratioAtMost, type Row, type Setting } from "./Case.ts"

/** Connects Computers at once. */
const connectAll = ({ fail, peers: { connect }, running }: Site, count: number): Promise<ReadonlyArray<Newcomer>> => {
  if (connect === undefined) throw new Error("this server has no offices")
  return Promise.all(Array.from({ length: count }, () => connect(running, fail)))
}

/** Servers with offices. */
const officeKinds = (setting: Setting) => kindsOf(setting).filter(({ wire }) => wire === "socketIo")

const offices = 10
const membersPerOffice = 50

/** The members of an office, of which the first one announces changes. */
class Announcements {
  readonly #announcer: Newcomer
  #missing = 0
  #onDelivered = () => {}

  constructor(announcer: Newcomer) {
    this.#announcer = announcer
  }

  readonly onNotification = (): void => {
    this.#missing -= 1
    if (this.#missing === 0) this.#onDelivered()
  }

  /** Announces changes one after the other, and gives the number of deliveries. */
  async repeat(millis: number): Promise<number> {
    const end = performance.now() + millis
    let delivered = 0
    while (performance.now() < end) {
      await new Promise<void>((resolve) => {
        this.#onDelivered = resolve
        this.#missing = membersPerOffice - 1
        this.#announcer.announce("computer-0")
      })
      delivered += membersPerOffice - 1
    }
    return delivered
  }
}

const openOffice = async (site: Site, number: number): Promise<Announcements> => {
  const members = await connectAll(site, membersPerOffice)
  const [announcer] = members
  if (announcer === undefined) throw new Error("no member")
  const announcements = new Announcements(announcer)
  const office = `office-${number}`
  // One after the other: notifications of joins do not count.
  let open: (() => void) | undefined
  for (const [index, member] of members.entries()) {
    await member.join(office, `computer-${index}`, () => open?.())
  }
  open = announcements.onNotification
  return announcements
}

/** Notifications to the members of an office. */
export const fanOutCase: Case = {
  name: "fan-out",
  about: `notifications to ${membersPerOffice - 1} members, in ${offices} offices at once`,
  run: (setting) =>
    withSites(officeKinds(setting), setting.client, async (sites) => {
      const groups: Array<{ readonly name: string; readonly site: Site; readonly all: ReadonlyArray<Announcements> }> =
        []
      for (const site of sites) {
        setting.note(`warming up ${site.name}`)
        const all = await Promise.all(Array.from({ length: offices }, (_, index) => openOffice(site, index)))
        await untilQuiet(site)
        await Promise.all(all.map((announcements) => announcements.repeat(setting.quick ? 200 : 3000)))
        groups.push({ name: site.name, site, all })
      }
      const millis = setting.quick ? 150 : 400
      const window = async ({ all, site: { running } }: (typeof groups)[number]) => {
        const before = await cpuOf(running)
        const begun = performance.now()
        const counts = await Promise.all(all.map((announcements) => announcements.repeat(millis)))
        const deliveries = counts.reduce((sum, count) => sum + count, 0)
        const seconds = (performance.now() - begun) / 1000
        return { cpu: ((await cpuOf(running)) - before) / deliveries, rate: deliveries / seconds }
      }
      const rounds = await interleave(groups, setting.rounds, window, setting.note)
      const summary = (measure: "cpu" | "rate") => summarise(rounds, setting.reference.name, measure, "rate")
      return [
        {
          case: "fan-out",
          measure: "CPU per delivery",
          unit: "us",
          summary: summary("cpu"),
          target: ratioAtMost(0.65)
        },
        { case: "fan-out", measure: "rate", unit: "deliveries/s", summary: summary("rate") }
      ] satisfies ReadonlyArray<Row>
    })
}

/** Computers of a window, and of each office. */
const newcomers = { usual: 200, quick: 40 }
const joining = 10

let lastOffice = 0

/** Connects Computers, which then join offices, and gives the CPU time of each in microseconds. */
const connectAndJoin = async (site: Site, count: number) => {
  await untilQuiet(site)
  const start = await cpuOf(site.running)
  const connected: Array<Newcomer> = []
  while (connected.length < count) connected.push(...(await connectAll(site, 20)))
  await untilQuiet(site)
  const between = await cpuOf(site.running)
  for (let first = 0; first < count; first += joining) {
    lastOffice += 1
    for (const [index, member] of connected.slice(first, first + joining).entries()) {
      await member.join(`office-${lastOffice}`, `computer-${index}`, () => undefined)
    }
  }
  await untilQuiet(site)
  const end = await cpuOf(site.running)
  for (const { close } of connected) close()
  return { connect: (between - start) / count, join: (end - between) / count }
}

/** Windows before the first round. */
const warmUps = { usual: 5, quick: 1 }

/** Computers that connect, and then join. */
export const connectCase: Case = {
  name: "connect",
  about: `connects, and joins to offices of ${joining}`,
  run: (setting) =>
    withSites(officeKinds(setting), setting.client, async (sites) => {
      const speed = setting.quick ? "quick" : "usual"
      for (const site of sites)
        for (let window = 0; window < warmUps[speed]; window++) await connectAndJoin(site, newcomers[speed])
      const window = (site: Site) => connectAndJoin(site, newcomers[speed])
      const rounds = await interleave(sites, setting.rounds, window, setting.note)
      const summary = (measure: "connect" | "join") => summarise(rounds, setting.reference.name, measure, "connect")
      return [
        {
          case: "connect",
          measure: "CPU per connect",
          unit: "us",
          summary: summary("connect"),
          target: ratioAtMost(0.8)
        },
        { case: "connect", measure: "CPU per join", unit: "us", summary: summary("join"), target: ratioAtMost(1) }
      ] satisfies ReadonlyArray<Row>
    }),
  profile: (setting, file) =>
    withSites([setting.library], setting.client, async ([site]) => {
      if (site === undefined) throw new Error(`${setting.library.name} did not start`)
      for (let window = 0; window < warmUps.usual; window++) await connectAndJoin(site, newcomers.usual)
      await profileSite(site, file, async () => {
        for (let window = 0; window < 10; window++) await connectAndJoin(site, newcomers.usual)
      })
    })
}
