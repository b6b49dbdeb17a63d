import {
  Context,
  Duration,
  Effect,
  Exit,
  FiberMap,
  FiberSet,
  Layer,
  Result,
  Scope,
  Semaphore,
  Stream,
  SubscriptionRef
} from "effect"
import type { JsonObject } from "../../domain/json.ts"
import { type PackCandidate, detectPack } from "../../domain/packs/packNames.ts"
import type { McpCallOptions, McpSession } from "../ports/McpSession.ts"
import { type PackFolderEntry, PackFolders } from "../ports/packs/PackFolders.ts"
import { PackInstaller } from "../ports/packs/PackInstaller.ts"
import { type PackCall, PackError, PackLoader } from "../ports/packs/PackLoader.ts"
import { makeRefresher } from "../shared/Refresher.ts"
import { makePackSession } from "./packSession.ts"
import { resolvePack, supervisePack } from "./PackSupervision.ts"
import { type HostedRoute, isPending, makePackTable, type PackStatus, type PackView } from "./PackTable.ts"
import type { PackCallLimits, RunningPack } from "./RunningPack.ts"

/** Finds tool packs in folders, keeps them up to date, and calls their tools (seed 004). */
export class PackHost extends Context.Service<
  PackHost,
  {
    /** All packs, in the order of their folders and names. */
    readonly packs: Effect.Effect<ReadonlyArray<PackView>>
    /** The packs: the current list, then one after every change. */
    readonly changes: Stream.Stream<ReadonlyArray<PackView>>
    readonly route: (endpoint: string) => HostedRoute | undefined
    readonly routes: () => ReadonlyArray<HostedRoute>
    /** Calls the tool of a route; the result is an MCP tool result. Interruption cancels the call. */
    readonly call: (
      hosted: HostedRoute,
      call: Omit<PackCall, "tool">,
      options?: McpCallOptions
    ) => Effect.Effect<JsonObject, PackError>
    /** All tools of all packs as one MCP peer. */
    readonly session: McpSession
    /** Scans the folders, and waits until every pack is loaded or has failed. */
    readonly rescan: Effect.Effect<void>
  }
>()("a2c-smcp/application/packs/PackHost") {
  /** Hosts packs until the scope of the layer closes. The first scan starts with `rescan` or a change on disk. */
  static readonly layer = (
    options: PackHostOptions
  ): Layer.Layer<PackHost, never, PackFolders | PackLoader | PackInstaller> => Layer.effect(PackHost, make(options))
}

export interface PackHostOptions {
  /** Absolute paths of folders with packs, highest priority first. */
  readonly folders: ReadonlyArray<string>
  /** Rescans when a folder changes; on by default. */
  readonly watch?: boolean
  /** Runs every pack in a separate process; a pack can also ask for that in its `config.yaml`. */
  readonly isolate?: boolean
  /** Memory limit of an isolated pack without a limit in its `config.yaml`, in MiB; 256 by default. */
  readonly memory?: number
  /** Limits of calls; `config.yaml` of a pack overrides them. */
  readonly limits?: Partial<PackCallLimits>
}

const defaultLimits: PackCallLimits = { timeout: Duration.seconds(120), concurrency: 16, maxQueued: 64 }
const defaultMemoryMiB = 256

/** Changes on disk within this time cause one scan. */
const scanDebounce = Duration.millis(100)

interface HostedPack {
  readonly version: string
  readonly view: PackView
  /** The version that takes calls: the previous one until this one is loaded. */
  readonly running: RunningPack | undefined
}

/** Finds the packs in folders by their paths, highest priority first. Of two packs with one name, the first one counts. */
const findPacks = Effect.fnUntraced(function* ({ scan }: PackFolders["Service"], roots: ReadonlyArray<string>) {
  const packs = new Map<string, readonly [PackFolderEntry, PackCandidate]>()
  const names = new Set<string>()
  for (const root of roots) {
    for (const entry of yield* scan(root)) {
      const candidate = detectPack(entry)
      if (candidate === undefined) continue
      const { name } = candidate
      const duplicate = { name, outcome: Result.fail(`another pack is named '${name}' and comes first`) }
      packs.set(entry.path, [entry, names.has(name) ? duplicate : candidate])
      names.add(name)
    }
  }
  return packs
})

/** Makes the table of all packs, and the effect that scans the folders and starts, replaces and ends packs. */
const makeHostedPacks = Effect.fnUntraced(function* ({
  folders: roots,
  isolate = false,
  limits,
  memory = defaultMemoryMiB
}: PackHostOptions) {
  const folders = yield* PackFolders
  const { load } = yield* PackLoader
  const { install } = yield* PackInstaller
  // Acquired before the supervisors, so it closes after them: they could start more packs.
  const packScope = yield* Effect.acquireRelease(Scope.make("parallel"), (scope) => Scope.close(scope, Exit.void))
  const supervisors = yield* FiberMap.make<string, void>()
  const supervise = yield* FiberMap.runtime(supervisors)<never>()
  const draining = yield* FiberSet.make<void>()
  const table = yield* SubscriptionRef.make(makePackTable([]))
  const defaults = { isolate, memory, limits: { ...defaultLimits, ...limits } }
  /** By their paths. */
  const packs = new Map<string, HostedPack>()
  let order: ReadonlyArray<string> = []

  const publish = SubscriptionRef.update(table, () => makePackTable(order.flatMap((path) => packs.get(path) ?? [])))
  const drain = (pack: RunningPack | undefined) =>
    pack === undefined ? Effect.void : FiberSet.run(draining, pack.drain)

  /** Starts a pack, or replaces the known version of one, which takes calls until this one is loaded. */
  const startPack = Effect.fnUntraced(function* (entry: PackFolderEntry, { name, outcome }: PackCandidate) {
    const { path, version } = entry
    const resolved = Result.flatMap(outcome, (files) => resolvePack(entry, name, files, defaults))
    const { description = "", usage = "" } = Result.isSuccess(resolved) ? resolved.success.config : {}
    const view: PackView = { name, path, description, usage, status: { _tag: "Loading" } }
    packs.set(path, { version, view, running: packs.get(path)?.running })
    yield* FiberMap.remove(supervisors, path)
    const onStatus = Effect.fnUntraced(function* (status: PackStatus, running?: RunningPack) {
      if (status._tag === "Failed") yield* Effect.logWarning("pack failed", { pack: name, reason: status.reason })
      if (status._tag === "Ready")
        yield* Effect.logDebug("pack ready", { pack: name, tools: status.tools.length, routes: status.routes.length })
      const pack = packs.get(path)
      // The host has found a newer version meanwhile.
      if (pack?.version !== version) return yield* drain(running)
      const current = isPending(status) ? pack.running : running
      packs.set(path, { ...pack, view: { ...pack.view, status }, running: current })
      yield* publish
      if (pack.running !== current) yield* drain(pack.running)
    }, Effect.asVoid)
    if (Result.isFailure(resolved)) return yield* onStatus({ _tag: "Failed", reason: resolved.failure })
    if (!resolved.success.config.enabled) return yield* onStatus({ _tag: "Disabled" })
    supervise(path, supervisePack(resolved.success, { install, load, onStatus, packScope }))
  })

  const scan = Effect.gen(function* () {
    const found = yield* findPacks(folders, roots)
    order = [...found.keys()]
    for (const path of packs.keys()) {
      if (found.has(path)) continue
      yield* FiberMap.remove(supervisors, path)
      const running = packs.get(path)?.running
      packs.delete(path)
      yield* drain(running)
    }
    for (const [path, [entry, candidate]] of found) {
      if (packs.get(path)?.version !== entry.version) yield* startPack(entry, candidate)
    }
    yield* publish
  })
  return { scan, table }
})

const make = Effect.fnUntraced(function* (
  options: PackHostOptions
): Effect.fn.Return<PackHost["Service"], never, PackFolders | PackLoader | PackInstaller | Scope.Scope> {
  const { folders: roots, watch = true } = options
  const { scan, table: tableRef } = yield* makeHostedPacks(options)
  const table = () => SubscriptionRef.getUnsafe(tableRef)
  const scanLock = yield* Semaphore.make(1)
  const scanSafely = Effect.catch(scanLock.withPermit(scan), ({ message }) =>
    Effect.logWarning("scanning packs failed", { reason: message })
  )
  const allLoaded = SubscriptionRef.changes(tableRef).pipe(
    Stream.filter(({ views }) => !views.some(({ status }) => isPending(status))),
    Stream.runHead
  )

  if (watch) {
    const { refresh } = yield* makeRefresher(scanDebounce)
    const changes = yield* (yield* PackFolders).watch(roots)
    yield* Effect.forkScoped(Stream.runForEach(changes, () => refresh("packs", scanSafely)))
  }

  return {
    packs: Effect.sync(() => table().views),
    changes: Stream.map(SubscriptionRef.changes(tableRef), ({ views }) => views),
    route: (endpoint) => table().routes.get(endpoint),
    routes: () => [...table().routes.values()],
    call: ({ route: { endpoint, tool } }, call, options = {}) =>
      Effect.suspend(() => {
        const running = table().routes.get(endpoint)?.running
        return running === undefined
          ? Effect.fail(new PackError({ reason: "unknown_tool", message: `No tool at ${endpoint} any more` }))
          : running.call({ ...call, tool }, options)
      }),
    session: makePackSession(tableRef),
    rescan: Effect.asVoid(Effect.andThen(scanSafely, allLoaded))
  }
})
