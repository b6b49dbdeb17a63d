import { Effect, FiberMap, Stream } from "effect"
import { formatSkillName, mcpSource, serverSegment } from "../../../../domain/skills/skillNames.ts"
import { definedOnly } from "../../../../domain/objects.ts"
import { type McpSession, McpSessionError } from "../../../ports/McpSession.ts"
import type { SkillFiles } from "../../../ports/files/SkillFiles.ts"
import type { makeRefresher } from "../../../shared/Refresher.ts"
import { ComputerSettings } from "../../ComputerSettings.ts"
import { backgroundSessionOf, isIdle, openSession, type OfferedServer, uriOf } from "../../servers/ServersSnapshot.ts"
import type { ServerSupervisor } from "../../servers/ServerSupervisor.ts"
import { emptyScan, joinScans, problemScan, type SkillScan } from "./SkillScan.ts"
import { makeSkillStaging, skillResourcesOf, type StagedServer, type StagedSkill } from "./stageSkills.ts"

/** Resources of one server whose updates are followed. */
const maxSubscriptions = 256

/** The resources of a session that its skills come from. */
const listingOf = ({ resources, session }: OfferedServer) => ({
  session,
  resources,
  /** Changes with the resources of skills. */
  fingerprint: JSON.stringify(skillResourcesOf({ resources }))
})
type Listing = ReturnType<typeof listingOf>

const isSameListing = (one: Listing | undefined, other: Listing): boolean =>
  one?.session === other.session && one.fingerprint === other.fingerprint

const subscriptionTimedOut = new McpSessionError({ reason: "unavailable", message: "subscribing timed out" })

const toScan = (segment: string, { problems, skills }: StagedServer): SkillScan => {
  const source = mcpSource(segment)
  const toSkill = ({ manifest, resource: { skill, uri, version }, root }: StagedSkill) => {
    const name = formatSkillName({ _tag: "Mcp", server: segment, skill })
    return { root, ref: { ...manifest, name, source, path: root, uri, ...definedOnly({ version }) } }
  }
  return { skills: skills.map(toSkill), problems: problems.map((problem) => ({ source, ...problem })) }
}

interface StagingParts {
  readonly files: SkillFiles["Service"]
  readonly servers: ServerSupervisor
  readonly refresh: Effect.Success<ReturnType<typeof makeRefresher>>["refresh"]
  /** Runs after every change of what is staged. */
  readonly onChange: Effect.Effect<void>
}

const makeStagedServers = Effect.fnUntraced(function* ({ files, onChange, refresh, servers }: StagingParts) {
  const stageSkills = yield* makeSkillStaging(files)
  const staged = new Map<string, Listing & StagedServer>()
  /** The session of the last staging that has begun. */
  const begun = new Map<string, McpSession>()
  /** Servers with updates since their last staging has begun. */
  const outdated = new Set<string>()

  const isStaged = (name: string, listing: Listing): boolean =>
    !outdated.has(name) && isSameListing(staged.get(name), listing)

  const stageServer = Effect.fnUntraced(function* (name: string) {
    const server = servers.find(name)
    if (server === undefined) return
    const listing = listingOf(server)
    const session = backgroundSessionOf(server)
    if (session === undefined || isStaged(name, listing)) return
    outdated.delete(name)
    begun.set(name, server.session)
    const result = yield* stageSkills({ ...server, session }, staged.get(name)?.skills ?? [])
    staged.set(name, { ...listing, ...result })
    yield* onChange
  })
  const refreshServer = (name: string, isOutdated = (_begun?: McpSession): boolean => false) =>
    Effect.suspend(() => {
      if (isOutdated(begun.get(name))) outdated.add(name)
      return refresh(`server ${name}`, stageServer(name))
    })
  const needsStaging = (server: OfferedServer): boolean => {
    const { name } = server.config
    if (isIdle(server) || (!staged.has(name) && skillResourcesOf(server).length === 0)) return false
    return !isStaged(name, listingOf(server))
  }

  return {
    has: (name: string): boolean => staged.has(name),
    /** Stages the skills of a server unless they are staged; `isOutdated` gets the session of the last staging. */
    refreshServer,
    /** Requests the staging of all servers whose skills have changed since. */
    refreshOutdated: Effect.suspend(() =>
      Effect.forEach(servers.snapshot().running.filter(needsStaging), ({ config }) => refreshServer(config.name), {
        discard: true
      })
    ),
    /** The staged skills of the running servers. Of servers with the same segment only the first is used. */
    scan: (): SkillScan => {
      const owners = new Map<string, string>()
      const scans = servers.snapshot().running.map(({ config: { name }, session }): SkillScan => {
        const found = staged.get(name)
        const segment = serverSegment(servers.identify(name))
        if (found?.session !== session || found.skills.length + found.problems.length === 0) return emptyScan
        const owner = owners.get(segment)
        if (owner !== undefined) {
          return problemScan(mcpSource(segment), name, `the MCP server '${owner}' has the same segment`)
        }
        owners.set(segment, name)
        return toScan(segment, found)
      })
      return joinScans(scans)
    }
  }
})

/** Follows the listings and the resources of the running servers, and stages what has changed. */
const followServers = Effect.fnUntraced(function* (
  { onChange, servers }: StagingParts,
  staged: Effect.Success<ReturnType<typeof makeStagedServers>>
) {
  const { readTimeout } = yield* ComputerSettings
  const followers = yield* FiberMap.make<string, void>()
  const followed = new Map<string, Listing>()

  /** Follows the updates of resources. Stages once subscribed, in order to miss none. */
  const follow = ({ config: { name }, session }: OfferedServer, uris: ReadonlyArray<string>) =>
    session.watch({ tools: false, resources: false, uris }).pipe(
      Effect.timeoutOrElse({ duration: readTimeout, orElse: () => Effect.fail(subscriptionTimedOut) }),
      // A request of an Agent can have begun to stage before.
      Effect.tap(() => staged.refreshServer(name, (begun) => begun === session)),
      Effect.flatMap(Stream.runForEach(() => staged.refreshServer(name, () => true))),
      Effect.scoped,
      Effect.catch(({ message: reason }) =>
        Effect.andThen(
          Effect.logWarning("skill updates not followed", { server: name, reason }),
          staged.refreshServer(name)
        )
      ),
      Effect.catchDefect((defect) => Effect.logError("skill updates not followed", { server: name }, defect))
    )

  const unfollow = (name: string) =>
    Effect.suspend(() => (followed.delete(name) ? FiberMap.remove(followers, name) : Effect.void))

  const observeServer = Effect.fnUntraced(function* (server: OfferedServer) {
    const { name } = server.config
    // What was staged stays. The next start stages what has changed since.
    if (isIdle(server)) return yield* unfollow(name)
    const before = followed.get(name)
    if (before?.session === server.session && before.resources === server.resources) return
    const listing = listingOf(server)
    followed.set(name, listing)
    if (isSameListing(before, listing)) return
    const uris = skillResourcesOf(server).map(uriOf)
    yield* FiberMap.remove(followers, name)
    if (uris.length > 0 && server.session.info.capabilities.subscribe) {
      yield* FiberMap.run(followers, name, follow(server, uris.slice(0, maxSubscriptions)))
    } else if (uris.length > 0 || staged.has(name)) yield* staged.refreshServer(name)
  })

  const observeServers = Effect.gen(function* () {
    const { running } = servers.snapshot()
    const names = new Set(running.map(({ config }) => config.name))
    yield* Effect.forEach(followed.keys(), (name) => (names.has(name) ? Effect.void : unfollow(name)), {
      discard: true
    })
    yield* Effect.forEach(running, observeServer, { discard: true })
    yield* onChange
  })
  yield* Effect.forkScoped(Stream.runForEach(servers.changes, () => observeServers))
})

/**
 * Follows the skills of the running MCP servers: stages those of a new session, of a changed listing and of an updated
 * resource. `onChange` runs after every change of {@link scan}.
 */
export const makeServerSkills = Effect.fnUntraced(function* (parts: StagingParts) {
  const { servers } = parts
  const staged = yield* makeStagedServers(parts)
  const { refreshOutdated, refreshServer, scan } = staged
  yield* followServers(parts, staged)
  const segmentOf = ({ config }: Pick<OfferedServer, "config">) => serverSegment(servers.identify(config.name))
  const listsSkills = (server: Pick<OfferedServer, "resources">) => skillResourcesOf(server).length > 0

  return {
    refreshOutdated,
    scan,
    /** Fails while the server of a segment is restarting that lists skills. */
    rejectRestarting: (segment: string) =>
      servers.rejectWhileRestarting((server) => segmentOf(server) === segment && listsSkills(server)),
    /** Starts the lazy server of a segment, when it lists skills and does not run, and stages them. */
    stageIdle: (segment: string, settled: Effect.Effect<unknown>): Effect.Effect<void> =>
      Effect.suspend(() => {
        const server = servers.snapshot().running.find((one) => segmentOf(one) === segment)
        if (server === undefined || !isIdle(server) || !listsSkills(server)) return Effect.void
        const stage = Effect.andThen(refreshServer(server.config.name), settled)
        return Effect.ignore(Effect.scoped(Effect.andThen(openSession(server), stage)))
      })
  }
})
