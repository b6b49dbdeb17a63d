import { Context, Deferred, Effect, Layer, Queue, Result, type Scope, Stream } from "effect"
import { PackHost, type PackHostOptions } from "../../../src/application/packs/PackHost.ts"
import { type PackFolderEntry, PackFolders } from "../../../src/application/ports/packs/PackFolders.ts"
import { PackInstallError, PackInstaller } from "../../../src/application/ports/packs/PackInstaller.ts"
import {
  type LoadedPack,
  PackError,
  PackLoader,
  type PackSource
} from "../../../src/application/ports/packs/PackLoader.ts"
import type { PackManifest } from "../../../src/domain/packs/PackManifest.ts"

/** A scripted pack. */
export interface FakePack {
  readonly manifest?: Partial<PackManifest>
  readonly call?: LoadedPack["call"]
  /** Makes loading fail. */
  readonly loadError?: string
  /** Runs before the pack is loaded. */
  readonly loading?: Effect.Effect<void>
}

/** A manifest of these tools, with one route each. */
export const manifestOf = (...names: ReadonlyArray<string>): PackManifest => ({
  warnings: [],
  tools: names.map((name) => ({ name, description: `does ${name}`, inputSchema: { type: "object" } })),
  routes: names.map((name) => ({
    endpoint: `/tools/${name}`,
    tool: name,
    useForm: false,
    params: { type: "object" },
    files: {}
  }))
})

/** A folder entry of a pack. */
export const entry = (name: string, version = "1", config?: unknown): PackFolderEntry => ({
  name,
  path: `/packs/${name}`,
  files: [`${name}_tool.ts`],
  config: config === undefined ? undefined : Result.succeed(config),
  version
})

/** A host with scripted folders, packs and installer. */
export const makeHost = Effect.fnUntraced(function* (options: Partial<PackHostOptions> = {}): Effect.fn.Return<
  {
    readonly host: PackHost["Service"]
    /** Replaces the entries of the folder. */
    readonly put: (...entries: ReadonlyArray<PackFolderEntry>) => Effect.Effect<void>
    /** Replaces the entries of the folder, and waits until the packs are loaded. */
    readonly load: (...entries: ReadonlyArray<PackFolderEntry>) => Effect.Effect<void>
    /** Scripts by name and version of the pack: `lamp 1`. */
    readonly packs: Map<string, FakePack>
    readonly installed: Array<string>
    /** Packages whose installation fails. */
    readonly unknown: Set<string>
    /** Loads and closes of packs, in order. */
    readonly log: Array<string>
    /** Ends a pack like a crash. */
    readonly crash: (pack: string) => Effect.Effect<void>
  },
  never,
  Scope.Scope
> {
  let found: ReadonlyArray<PackFolderEntry> = []
  const changes = yield* Queue.unbounded<void>()
  const packs = new Map<string, FakePack>()
  const installed: Array<string> = []
  const unknown = new Set<string>()
  const log: Array<string> = []
  const running = new Map<string, Deferred.Deferred<string>>()

  const loadPack = Effect.fnUntraced(function* ({ name, version }: PackSource) {
    const key = `${name} ${version}`
    const { call, loadError, loading = Effect.void, manifest } = packs.get(key) ?? {}
    yield* loading
    if (loadError !== undefined) return yield* new PackError({ reason: "unusable", message: loadError })
    const exited = yield* Deferred.make<string>()
    running.set(name, exited)
    log.push(`load ${key}`)
    yield* Effect.addFinalizer(() => Effect.sync(() => log.push(`close ${key}`)))
    const text = (value: string) => ({ content: [{ type: "text", text: value }] })
    return {
      manifest: { ...manifestOf(name), ...manifest },
      call: call ?? (({ params, tool }) => Effect.succeed(text(`${key} ${tool} ${JSON.stringify(params)}`))),
      exited: Deferred.await(exited)
    }
  })

  const context = yield* PackHost.layer({ folders: ["/packs"], ...options }).pipe(
    Layer.provide(
      Layer.succeedContext(
        Context.make(PackFolders, {
          scan: () => Effect.sync(() => found),
          watch: () => Effect.succeed(Stream.fromQueue(changes))
        }).pipe(
          Context.add(PackLoader, { load: loadPack }),
          Context.add(PackInstaller, {
            install: ({ packages: wanted }, onLine) =>
              Effect.suspend(() => {
                const bad = wanted.find((one) => unknown.has(one))
                if (wanted.includes("slow@1")) return Effect.never
                if (bad !== undefined) return Effect.fail(new PackInstallError({ message: `no package ${bad}` }))
                installed.push(...wanted)
                return wanted.length === 0 ? Effect.succeed({}) : Effect.as(onLine("added"), {})
              })
          })
        )
      )
    ),
    Layer.build
  )
  const host = Context.get(context, PackHost)
  const put = (...entries: ReadonlyArray<PackFolderEntry>) =>
    Effect.suspend(() => {
      found = entries
      return Queue.offer(changes, undefined)
    })
  return {
    host,
    put,
    load: (...entries) => Effect.andThen(put(...entries), host.rescan),
    packs,
    installed,
    unknown,
    log,
    crash: (pack) =>
      Effect.suspend(() => {
        const exited = running.get(pack)
        return exited === undefined ? Effect.void : Deferred.succeed(exited, "out of memory")
      })
  }
})
