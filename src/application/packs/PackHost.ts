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
import { type Candidate, readCandidate } from "../../domain/packs/naming.ts"
import type { PackRoute } from "../../domain/packs/offer.ts"
import type { McpProgress, McpSession } from "../ports/McpSession.ts"
import { type FoundEntry, PackFolders } from "../ports/PackFolders.ts"
import type { PackInstaller } from "../ports/PackInstaller.ts"
import { type PackCall, PackFailure, type PackLoader } from "../ports/PackLoader.ts"
import { makeRefresher } from "../Refresher.ts"
import type { CallLimits, PackBusy, PackTimeout, RunningPack } from "./PackCalls.ts"
import { packSession } from "./packSession.ts"
import { type PackReports, supervisePack } from "./PackSupervision.ts"
import { type PackTable, packTable } from "./packTable.ts"
import { wantedPack } from "./wantedPack.ts"

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
    ) => Effect.Effect<JsonObject, PackFailure | PackTimeout | PackBusy>
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
  readonly limits?: Partial<CallLimits>
}

const usualLimits: CallLimits = { timeout: Duration.seconds(120), concurrency: 16, queue: 64 }
const usualMemory = 256

/** Changes closer together than this are looked at together. */
const scanPause = Duration.millis(100)

/** A pack that was found, in its latest version. */
interface Hosted {
  readonly version: string
  view: PackView
  /** The version that is called: the one before, until this one is loaded. */
  serving: RunningPack | undefined
}

const make = Effect.fnUntraced(function* ({
  folders: roots,
  isolate = false,
  limits,
  memory = usualMemory,
  watch = true
}: PackHostOptions): Effect.fn.Return<
  PackHost["Service"],
  never,
  PackFolders | PackLoader | PackInstaller | Scope.Scope
> {
  const folders = yield* PackFolders
  const context = yield* Effect.context<PackLoader | PackInstaller>()
  const hosted = new Map<string, Hosted>()
  const shown = yield* SubscriptionRef.make(packTable([]))
  // What runs ends after the fibers that may start more of it: this finalizer is the oldest.
  const running = yield* Effect.acquireRelease(Scope.make("parallel"), (scope) =>
    Scope.close(scope, Exit.void)
  )
  const fibers = yield* FiberMap.make<string, void>()
  const retiring = yield* FiberSet.make<void>()
  const scanning = yield* Semaphore.make(1)
  const table = () => SubscriptionRef.getUnsafe(shown)

  let order: ReadonlyArray<string> = []

  const publish = Effect.suspend(() =>
    SubscriptionRef.set(
      shown,
      packTable(
        order.flatMap((path) => {
          const one = hosted.get(path)
          return one === undefined ? [] : [{ view: one.view, pack: one.serving }]
        })
      )
    )
  )

  const retire = (pack: RunningPack | undefined) =>
    pack === undefined ? Effect.void : Effect.asVoid(FiberSet.run(retiring, pack.retire))

  /** Gives a pack another standing, unless a newer version of it has been found meanwhile. */
  const change = (path: string, version: string, status: PackStatus, serving?: RunningPack) =>
    Effect.suspend(() => {
      const one = hosted.get(path)
      if (one === undefined || one.version !== version) return retire(serving)
      const before = one.serving
      one.view = { ...one.view, status }
      const keeps = status._tag === "Installing" || status._tag === "Loading"
      if (!keeps) one.serving = serving
      return Effect.andThen(publish, keeps || before === serving ? Effect.void : retire(before))
    })

  const forget = (path: string) =>
    Effect.suspend(() => {
      const serving = hosted.get(path)?.serving
      hosted.delete(path)
      return Effect.andThen(FiberMap.remove(fibers, path), retire(serving))
    })

  /** Takes up what was found: a pack that is new, or another version of one that is known. */
  const take = Effect.fnUntraced(function* (entry: FoundEntry, { name, outcome }: Candidate) {
    const { path, version } = entry
    const view: PackView = { name, path, description: "", usage: "", status: { _tag: "Loading" } }
    const serving = hosted.get(path)?.serving
    hosted.set(path, { version, view, serving })
    // Nothing more is to become of the version before, whatever becomes of this one.
    yield* FiberMap.remove(fibers, path)
    const fail = (reason: string) =>
      Effect.andThen(
        Effect.logWarning("pack cannot be used", { pack: name, reason }),
        change(path, version, { _tag: "Failed", reason })
      )
    if (Result.isFailure(outcome)) return yield* fail(outcome.failure)
    const wanted = wantedPack(entry, name, outcome.success, {
      isolate,
      memory,
      limits: { ...usualLimits, ...limits }
    })
    if (Result.isFailure(wanted)) return yield* fail(wanted.failure)
    const { config, pack, warnings } = wanted.success
    hosted.set(path, {
      version,
      serving,
      view: { ...view, description: config.description, usage: config.usage }
    })
    if (!config.enabled) return yield* change(path, version, { _tag: "Disabled" })
    const reports: PackReports = {
      installing: change(path, version, { _tag: "Installing" }),
      loading: change(path, version, { _tag: "Loading" }),
      ready: (running) => {
        const { routes, tools } = running.loaded.offer
        const facts = { pack: name, tools: tools.length, routes: routes.length }
        return Effect.andThen(
          Effect.logDebug("pack ready", facts),
          change(path, version, { _tag: "Ready", tools, routes, warnings }, running)
        )
      },
      failed: fail
    }
    return yield* FiberMap.run(
      fibers,
      path,
      Effect.provideContext(supervisePack(pack, reports, running), context)
    )
  })

  const scan = Effect.gen(function* () {
    const found = new Map<string, readonly [FoundEntry, Candidate]>()
    const names = new Set<string>()
    for (const root of roots) {
      for (const entry of yield* folders.scan(root)) {
        const candidate = readCandidate(entry)
        if (candidate === undefined) continue
        const isSecond = names.has(candidate.name)
        names.add(candidate.name)
        const outcome = isSecond
          ? Result.fail(`another pack of the name '${candidate.name}' was found before`)
          : candidate.outcome
        found.set(entry.path, [entry, { ...candidate, outcome }])
      }
    }
    order = [...found.keys()]
    for (const path of [...hosted.keys()].filter((one) => !found.has(one))) yield* forget(path)
    for (const [path, [entry, candidate]] of found) {
      if (hosted.get(path)?.version !== entry.version) yield* take(entry, candidate)
    }
    yield* publish
  })
  const isSettled = ({ views }: PackTable) =>
    views.every(({ status }) => status._tag !== "Installing" && status._tag !== "Loading")
  const look = Effect.catch(scanning.withPermit(scan), ({ message }) =>
    Effect.logWarning("packs cannot be looked for", { reason: message })
  )
  const rescan = Effect.andThen(
    look,
    SubscriptionRef.changes(shown).pipe(Stream.filter(isSettled), Stream.runHead, Effect.asVoid)
  )

  if (watch) {
    const { refresh } = yield* makeRefresher(scanPause)
    const changes = yield* folders.watch(roots)
    yield* Effect.forkScoped(Stream.runForEach(changes, () => refresh("packs", look)))
  }

  return {
    packs: Effect.sync(() => table().views),
    changes: Stream.map(SubscriptionRef.changes(shown), ({ views }) => views),
    route: (endpoint) => table().routes.get(endpoint),
    routes: () => [...table().routes.values()],
    call: ({ route }, call, onProgress = () => Effect.void) =>
      Effect.suspend(() => {
        const running = table().routes.get(route.endpoint)?.running
        return running === undefined
          ? Effect.fail(
              new PackFailure({ kind: "unknown", message: `There is no ${route.endpoint} any more` })
            )
          : running.call({ ...call, tool: route.tool }, onProgress)
      }),
    session: yield* packSession(shown),
    rescan
  }
})
