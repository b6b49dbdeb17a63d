import { type ChildProcess, fork } from "node:child_process"
import { generateKeyPairSync, type KeyObject } from "node:crypto"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { Context, Effect, Layer, type Scope } from "effect"
import type { Engine } from "../../src/main/layers/transportLayer.ts"
import { parsePrometheus } from "../prometheus.ts"
import { type ServerState, type Order, order, type Measurements } from "./children/orders.ts"
import { goodKey } from "./credentials.ts"
import { guardChild } from "../childGuard.ts"

/** The engines that every attack is tried on. */
export const engines: ReadonlyArray<Engine> = ["relay", "socket.io"]

/** A Server in one process, and an office of witnesses in another. */
export class Site extends Context.Service<
  Site,
  {
    readonly url: string
    /** Signs tokens that the Server accepts. */
    readonly signer: KeyObject
    /** The public key of {@link signer}. */
    readonly publicKey: string
    readonly state: (collect: boolean) => Effect.Effect<ServerState>
    /** The metrics of the Server by name and labels. */
    readonly metrics: Effect.Effect<ReadonlyMap<string, number>>
    /** Revokes the doomed key. */
    readonly revoke: Effect.Effect<void>
    /** Lets the witnesses make calls during an attack, and returns their measurements. */
    readonly measureDuring: <E, R>(attack: Effect.Effect<unknown, E, R>) => Effect.Effect<Measurements, E, R>
    /** The log of the Server. */
    readonly log: () => string
  }
>()("test/attacks/Site") {
  static readonly layer = (engine: Engine) =>
    Layer.effect(
      Site,
      Effect.suspend(() => makeSite(engine))
    )
}

const makeSite = (engine: Engine) =>
  Effect.gen(function* () {
    const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
    const pem = publicKey.export({ type: "spki", format: "pem" }).toString()
    const server = yield* startChild("children/server.ts", pem, engine)
    const url = String(server.ready)
    const witness = yield* startChild("children/witness.ts", url)
    const state = (collect: boolean) => server.order({ _tag: "ServerState", collect }) as Effect.Effect<ServerState>
    return Site.of({
      url,
      signer: privateKey,
      publicKey: pem,
      state,
      metrics: Effect.promise(async () => {
        const page = await fetch(`${url}/metrics`, { headers: { "x-api-key": goodKey } })
        return parsePrometheus(await page.text())
      }),
      revoke: Effect.asVoid(server.order({ _tag: "Revoke" })),
      measureDuring: (attack) =>
        Effect.gen(function* () {
          yield* witness.order({ _tag: "Begin" })
          const exit = yield* Effect.exit(attack)
          const seen = (yield* witness.order({ _tag: "End" })) as Measurements
          yield* exit
          return seen
        }),
      log: server.log
    })
  })

/** A child process that follows orders. */
export interface Child {
  /** Its first message. */
  readonly ready: unknown
  readonly order: (what: Order) => Effect.Effect<unknown>
  readonly log: () => string
  /** Kills it, as closing the scope does. */
  readonly end: () => void
}

/** Starts a program of `children`, waits until it is ready, and kills it with the scope. */
export const startChild = (file: string, ...args: ReadonlyArray<string>): Effect.Effect<Child, never, Scope.Scope> =>
  Effect.gen(function* () {
    const path = fileURLToPath(new URL(file, import.meta.url))
    const child: ChildProcess = yield* Effect.acquireRelease(
      Effect.sync(() => guardChild(fork(path, args, { stdio: ["ignore", "pipe", "inherit", "ipc"], execArgv: [] }))),
      (running) => Effect.sync(() => running.kill("SIGKILL"))
    )
    let logged = ""
    child.stdout?.on("data", (chunk: Buffer) => {
      logged += chunk.toString()
    })
    const [ready] = yield* Effect.promise(() => once(child, "message"))
    return {
      ready,
      order: (what) => Effect.promise(() => order(child, what)),
      log: () => logged,
      end: () => void child.kill("SIGKILL")
    }
  })
