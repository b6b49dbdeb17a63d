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
import type { PackRoute } from "../../domain/packs/PackManifest.ts"
import type { McpProgress, McpSession } from "../ports/McpSession.ts"
import { type PackFolderEntry, PackFolders } from "../ports/packs/PackFolders.ts"
import type { PackInstaller } from "../ports/packs/PackInstaller.ts"
import { type PackCall, PackError, type PackLoader } from "../ports/packs/PackLoader.ts"
import { makeRefresher } from "../shared/Refresher.ts"
import type { PackCallLimits, PackBusyError, PackTimeoutError, RunningPack } from "./RunningPack.ts"
import { makePackSession } from "./packSession.ts"
import { type PackObserver, supervisePack } from "./PackSupervision.ts"
import { type PackTable, makePackTable } from "./PackTable.ts"
import { resolvePack } from "./resolvePack.ts"

/** Where a pack stands. */
export type PackStatus =
  | { readonly _tag: "Disabled" }
  | { readonly _tag: "Installing" }
  | { readonly _tag: "Loading" }
  /** What it offers may be used; `warnings` say what is odd about it. */
  | {
      readonly _tag: "Ready"
      readonly tools: ReadonlyArray<JsonObject>
      readonly routes: ReadonlyArray<PackRoute>
      readonly warnings: ReadonlyArray<string>
    }
  | { readonly _tag: "Failed"; readonly reason: string }

/** A pack, as its users see it. */
export interface PackView {
  readonly name: string
  /** Its folder, or its only file, by absolute path. */
  readonly path: string
  readonly description: string
  readonly usage: string
  readonly status: PackStatus
}

/** A route that can be called now. */
export interface HostedRoute {
  readonly pack: PackView
  readonly route: PackRoute
}

/** Folders of tools, found, kept up to date, and called (seed 004). */
export class PackHost extends Context.Service<
  PackHost,
  {
    /** All packs that were found, by name in order. */
    readonly packs: Effect.Effect<ReadonlyArray<PackView>>
    /** The same now, and after every change. */
    readonly changes: Stream.Stream<ReadonlyArray<PackView>>
    /** The route of an endpoint, if there is one now. */
    readonly route: (endpoint: string) => HostedRoute | undefined
    /** All routes that can be called now. */
    readonly routes: () => ReadonlyArray<HostedRoute>
    /** Calls the tool of a route, and gives its result as MCP has it. Interrupting it cancels the call. */
    readonly call: (
      hosted: HostedRoute,
      call: Omit<PackCall, "tool">,
      onProgress?: (progress: McpProgress) => Effect.Effect<void>
    ) => Effect.Effect<JsonObject, PackError | PackTimeoutError | PackBusyError>
    /** All tools of all packs as one MCP peer. */
    readonly session: McpSession
    /** Looks whether anything has changed, and waits until that is loaded. */
    readonly rescan: Effect.Effect<void>
  }
>()("a2c-smcp/application/packs/PackHost") {
  /** Keeps the packs of some folders until the layer's scope closes. Nothing is looked for before `rescan` says so. */
  static readonly layer = (
    options: PackHostOptions
  ): Layer.Layer<PackHost, never, PackFolders | PackLoader | PackInstaller> =>
    Layer.effect(PackHost, make(options))
}

/** What an operator may set about a host of packs. */
export interface PackHostOptions {
  /** Folders with packs, by absolute path, the most important first. */
  readonly folders: ReadonlyArray<string>
  /** Follow changes of the folders; it does unless told otherwise. */
  readonly watch?: boolean
  /** Run every pack apart from everything else, so that it can be killed; a pack may ask for it itself. */
  readonly isolate?: boolean
  /** How much memory an isolated pack may take, in MiB; 256 unless set, or as the pack says. */
  readonly memory?: number
  /** Bounds of calls, unless the pack has its own. */
  readonly limits?: Partial<PackCallLimits>
}

const defaultLimits: PackCallLimits = { timeout: Duration.seconds(120), concurrency: 16, maxQueued: 64 }
const defaultMemoryMiB = 256

/** Changes closer together than this are looked at together. */
const scanDebounce = Duration.millis(100)

/** A pack that was found, in its latest version. */
interface HostedPack {
  readonly version: string
  view: PackView
  /** The version that is called: the one before, until this one is loaded. */
  active: RunningPack | undefined
}

const make = Effect.fnUntraced(function* ({
  folders: roots,
  isolate = false,
  limits,
  memory = defaultMemoryMiB,
  watch = true
}: PackHostOptions): Effect.fn.Return<
  PackHost["Service"],
  never,
  PackFolders | PackLoader | PackInstaller | Scope.Scope
> {
  const folders = yield* PackFolders
  const context = yield* Effect.context<PackLoader | PackInstaller>()
  const hostedPacks = new Map<string, HostedPack>()
  const tableRef = yield* SubscriptionRef.make(makePackTable([]))
  // What runs ends after the fibers that may start more of it: this finalizer is the oldest.
  const packScope = yield* Effect.acquireRelease(Scope.make("parallel"), (scope) =>
    Scope.close(scope, Exit.void)
  )
  const supervisors = yield* FiberMap.make<string, void>()
  const draining = yield* FiberSet.make<void>()
  const scanLock = yield* Semaphore.make(1)
  const table = () => SubscriptionRef.getUnsafe(tableRef)

  let packOrder: ReadonlyArray<string> = []

  const publishTable = Effect.suspend(() =>
    SubscriptionRef.set(
      tableRef,
      makePackTable(
        packOrder.flatMap((path) => {
          const one = hostedPacks.get(path)
          return one === undefined ? [] : [{ view: one.view, running: one.active }]
        })
      )
    )
  )

  const drain = (pack: RunningPack | undefined) =>
    pack === undefined ? Effect.void : Effect.asVoid(FiberSet.run(draining, pack.drain))

  /** Gives a pack another standing, unless a newer version of it has been found meanwhile. */
  const setStatus = (path: string, version: string, status: PackStatus, active?: RunningPack) =>
    Effect.suspend(() => {
      const one = hostedPacks.get(path)
      if (one === undefined || one.version !== version) return drain(active)
      const previous = one.active
      one.view = { ...one.view, status }
      const keepsActive = status._tag === "Installing" || status._tag === "Loading"
      if (!keepsActive) one.active = active
      return Effect.andThen(publishTable, keepsActive || previous === active ? Effect.void : drain(previous))
    })

  const removePack = (path: string) =>
    Effect.suspend(() => {
      const active = hostedPacks.get(path)?.active
      hostedPacks.delete(path)
      return Effect.andThen(FiberMap.remove(supervisors, path), drain(active))
    })

  /** Takes up what was found: a pack that is new, or another version of one that is known. */
  const addPack = Effect.fnUntraced(function* (entry: PackFolderEntry, { name, outcome }: PackCandidate) {
    const { path, version } = entry
    const view: PackView = { name, path, description: "", usage: "", status: { _tag: "Loading" } }
    const active = hostedPacks.get(path)?.active
    hostedPacks.set(path, { version, view, active })
    // Nothing more is to become of the version before, whatever becomes of this one.
    yield* FiberMap.remove(supervisors, path)
    const reportFailure = (reason: string) =>
      Effect.andThen(
        Effect.logWarning("pack cannot be used", { pack: name, reason }),
        setStatus(path, version, { _tag: "Failed", reason })
      )
    if (Result.isFailure(outcome)) return yield* reportFailure(outcome.failure)
    const resolved = resolvePack(entry, name, outcome.success, {
      isolate,
      memory,
      limits: { ...defaultLimits, ...limits }
    })
    if (Result.isFailure(resolved)) return yield* reportFailure(resolved.failure)
    const { config, pack, warnings } = resolved.success
    hostedPacks.set(path, {
      version,
      active,
      view: { ...view, description: config.description, usage: config.usage }
    })
    if (!config.enabled) return yield* setStatus(path, version, { _tag: "Disabled" })
    const observer: PackObserver = {
      onInstalling: setStatus(path, version, { _tag: "Installing" }),
      onLoading: setStatus(path, version, { _tag: "Loading" }),
      onReady: (running) => {
        const { routes, tools } = running.loaded.manifest
        const facts = { pack: name, tools: tools.length, routes: routes.length }
        return Effect.andThen(
          Effect.logDebug("pack ready", facts),
          setStatus(path, version, { _tag: "Ready", tools, routes, warnings }, running)
        )
      },
      onFailed: reportFailure
    }
    return yield* FiberMap.run(
      supervisors,
      path,
      Effect.provideContext(supervisePack(pack, observer, packScope), context)
    )
  })

  const scan = Effect.gen(function* () {
    const found = new Map<string, readonly [PackFolderEntry, PackCandidate]>()
    const names = new Set<string>()
    for (const root of roots) {
      for (const entry of yield* folders.scan(root)) {
        const candidate = detectPack(entry)
        if (candidate === undefined) continue
        const isDuplicate = names.has(candidate.name)
        names.add(candidate.name)
        const outcome = isDuplicate
          ? Result.fail(`another pack of the name '${candidate.name}' was found before`)
          : candidate.outcome
        found.set(entry.path, [entry, { ...candidate, outcome }])
      }
    }
    packOrder = [...found.keys()]
    for (const path of [...hostedPacks.keys()].filter((one) => !found.has(one))) yield* removePack(path)
    for (const [path, [entry, candidate]] of found) {
      if (hostedPacks.get(path)?.version !== entry.version) yield* addPack(entry, candidate)
    }
    yield* publishTable
  })
  const isLoaded = ({ views }: PackTable) =>
    views.every(({ status }) => status._tag !== "Installing" && status._tag !== "Loading")
  const scanSafely = Effect.catch(scanLock.withPermit(scan), ({ message }) =>
    Effect.logWarning("packs cannot be looked for", { reason: message })
  )
  const rescan = Effect.andThen(
    scanSafely,
    SubscriptionRef.changes(tableRef).pipe(Stream.filter(isLoaded), Stream.runHead, Effect.asVoid)
  )

  if (watch) {
    const { refresh } = yield* makeRefresher(scanDebounce)
    const changes = yield* folders.watch(roots)
    yield* Effect.forkScoped(Stream.runForEach(changes, () => refresh("packs", scanSafely)))
  }

  return {
    packs: Effect.sync(() => table().views),
    changes: Stream.map(SubscriptionRef.changes(tableRef), ({ views }) => views),
    route: (endpoint) => table().routes.get(endpoint),
    routes: () => [...table().routes.values()],
    call: ({ route }, call, onProgress = () => Effect.void) =>
      Effect.suspend(() => {
        const running = table().routes.get(route.endpoint)?.running
        return running === undefined
          ? Effect.fail(
              new PackError({ reason: "unknown", message: `There is no ${route.endpoint} any more` })
            )
          : running.call({ ...call, tool: route.tool }, onProgress)
      }),
    session: yield* makePackSession(tableRef),
    rescan
  }
})
