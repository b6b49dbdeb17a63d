import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Context, Effect, Exit, Layer, References, Result, Scope } from "effect"
import { buildPage } from "../../../scripts/buildPage.ts"
import { Agent } from "../../../src/application/agent/Agent.ts"
import { Computer } from "../../../src/application/computer/Computer.ts"
import { Authenticator } from "../../../src/application/ports/Authenticator.ts"
import { Server } from "../../../src/application/server/lifecycle/Server.ts"
import type { ComputerConfig } from "../../../src/domain/config/computerConfig.ts"
import { parseComputerConfig } from "../../../src/domain/config/parseConfig.ts"
import { agentLayer } from "../../../src/main/layers/agentLayer.ts"
import { computerLayer } from "../../../src/main/layers/computerLayer.ts"
import { type ServerLayerOptions, serverLayer } from "../../../src/main/layers/serverLayer.ts"
import { portDefaults } from "../../portDefaults.ts"
import { AuditLog } from "../../../src/application/ports/AuditLog.ts"

/** A part that runs until it is stopped. */
export interface Running<S> {
  readonly service: S
  readonly stop: () => Promise<void>
}

type LiveServerOptions = Omit<ServerLayerOptions, "page"> & {
  /** Captures arguments and results. */
  readonly hasBodies?: boolean
  /** Admits every client by default. */
  readonly authenticator?: Layer.Layer<Authenticator>
}

/** The configuration of a Computer with these servers. */
export const configOf = (servers: object): ComputerConfig => Result.getOrThrow(parseComputerConfig({ servers }))

/** Servers and members in this process, with real transports. All end with it. */
export class LiveParts implements AsyncDisposable {
  readonly #scope = Scope.makeUnsafe()
  #assets: Promise<string> | undefined

  /** Runs an effect whose resources end with the parts. */
  run<A>(effect: Effect.Effect<A, unknown, Scope.Scope | NodeServices.NodeServices>): Promise<A> {
    return this.#runIn(this.#scope, effect)
  }

  /** Starts a Server with its page on loopback. */
  async server({ authenticator, hasBodies = false, ...options }: LiveServerOptions = {}) {
    const assets = await (this.#assets ??= this.#buildAssets())
    const page = { assets, ...(hasBodies && { bodies: {} }) }
    const layer = Layer.provide(serverLayer({ ...options, page }), [
      authenticator ?? Authenticator.layerAllowAll,
      AuditLog.layerNone
    ])
    return this.#start(Server, layer)
  }

  computer(options: Parameters<typeof computerLayer>[0]): Promise<Running<Computer["Service"]>> {
    return this.#start(Computer, Layer.provide(computerLayer(options), portDefaults))
  }

  /** Starts an Agent, and waits until it knows its office. */
  async agent(options: Parameters<typeof agentLayer>[0]): Promise<Running<Agent["Service"]>> {
    const agent = await this.#start(Agent, agentLayer(options))
    await this.run(agent.service.settled)
    return agent
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Effect.runPromise(Scope.close(this.#scope, Exit.void))
  }

  async #start<I, S, E>(key: Context.Service<I, S>, layer: Layer.Layer<I, E>): Promise<Running<S>> {
    const scope = await this.run(Effect.flatMap(Effect.scope, (all) => Scope.fork(all)))
    const context = await this.#runIn(scope, Layer.build(Layer.fresh(layer)))
    return {
      service: Context.get(context, key),
      stop: () => Effect.runPromise(Scope.close(scope, Exit.void))
    }
  }

  #runIn<A>(
    scope: Scope.Scope,
    effect: Effect.Effect<A, unknown, Scope.Scope | NodeServices.NodeServices>
  ): Promise<A> {
    return effect.pipe(
      Effect.provide(NodeServices.layer),
      Scope.provide(scope),
      Effect.provideService(References.MinimumLogLevel, "None"),
      Effect.runPromise
    )
  }

  async #buildAssets(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), "a2c-page-"))
    await this.run(Effect.addFinalizer(() => Effect.promise(() => rm(folder, { recursive: true, force: true }))))
    await buildPage(folder)
    return folder
  }
}
