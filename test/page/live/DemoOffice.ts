import { Effect, Exit, Fiber } from "effect"
import { makeDocumentServer } from "../../../src/adapters/dpe/DocumentServer.ts"
import type { Agent } from "../../../src/application/agent/Agent.ts"
import type { Computer } from "../../../src/application/computer/Computer.ts"
import type { ComputerOperatorAccess } from "../../../src/application/computer/office/operatorAccess.ts"
import type { JsonObject } from "../../../src/domain/json.ts"
import type { OfficeViewName } from "../../../src/domain/page/route.ts"
import { officeHash } from "../../../src/domain/page/route.ts"
import { labConfig, pageDeskConfig } from "../../../src/main/demo/demoConfigs.ts"
import { lampSession, packSession } from "../../../src/main/demo/runPageDemo.ts"
import { waitUntil } from "../scripted/expectations.ts"
import { LiveParts, type Running } from "./LiveParts.ts"

interface DemoOfficeOptions {
  /** What the Computer `desk` shares with operators. */
  readonly desk?: ComputerOperatorAccess
  readonly hasBodies?: boolean
}

interface OfficeCall {
  readonly computer: string
  readonly tool: string
  readonly params?: JsonObject
}

/**
 * The office of the demo: a Server, the Computers `desk` and `lab` with MCP servers from npm, a device and a tool pack at
 * `desk`, and an Agent. The test decides when `desk` consents to `clear_notes`.
 */
export class DemoOffice implements AsyncDisposable {
  readonly office = "demo"
  readonly parts = new LiveParts()
  readonly #consents: Array<(permitted: boolean) => void> = []
  #url = ""
  #desk: Running<Computer["Service"]> | undefined
  #lab: Running<Computer["Service"]> | undefined
  #agent: Running<Agent["Service"]> | undefined

  /** Starts the Server alone. */
  async startServer(hasBodies = true): Promise<this> {
    this.#url = (await this.parts.server({ hasBodies })).service.url
    return this
  }

  /** Starts the office; `desk` shares everything by default. */
  async start({
    desk = { states: true, stderr: true, calls: true },
    hasBodies
  }: DemoOfficeOptions = {}): Promise<this> {
    await this.startServer(hasBodies)
    await Promise.all([this.startDesk(desk), this.startLab()])
    await this.startAgent()
    return this
  }

  async startDesk(operators: ComputerOperatorAccess): Promise<void> {
    const { parts } = this
    const [config, devices, packs, { resolve }] = await Promise.all([
      parts.run(pageDeskConfig),
      parts.run(lampSession),
      parts.run(packSession),
      parts.run(makeDocumentServer({ port: 0 }))
    ])
    this.#desk = await parts.computer({
      ...this.#member("desk"),
      config,
      sessions: { devices, packs },
      settings: { resolveDpe: resolve, approvers: ["page"] },
      operators,
      confirm: ({ tool }) =>
        tool === "clear_notes"
          ? Effect.callback<boolean>((resume) => {
              this.#consents.push((permitted) => resume(Effect.succeed(permitted)))
            })
          : Effect.succeed(true)
    })
  }

  /** Starts `lab`, which does not run calls of operators beside the Agent. */
  async startLab(): Promise<void> {
    const config = await this.parts.run(labConfig)
    this.#lab = await this.parts.computer({ ...this.#member("lab"), config })
  }

  /** The URL for members. */
  get url(): string {
    return this.#url
  }

  /** The URL of a view of the office. */
  view(view: OfficeViewName | "inbox", parameters: { readonly [name: string]: string } = {}): string {
    return `${this.offices}${officeHash({ line: "0.2", office: this.office }, view, parameters)}`
  }

  /** The URL of the list of offices. */
  get offices(): string {
    return `${this.#url}/office/`
  }

  get desk(): Running<Computer["Service"]> {
    if (this.#desk === undefined) throw new Error("the office is not started")
    return this.#desk
  }

  get lab(): Running<Computer["Service"]> {
    if (this.#lab === undefined) throw new Error("the office is not started")
    return this.#lab
  }

  async startAgent(): Promise<void> {
    this.#agent = await this.parts.agent(this.#member("demo-agent"))
  }

  async stopAgent(): Promise<void> {
    await this.#agent?.stop()
    this.#agent = undefined
  }

  /** Starts a call of the Agent. Its result resolves with the exit of the call. */
  startCall({ computer, params = {}, tool }: OfficeCall) {
    const agent = this.#agent?.service
    if (agent === undefined) throw new Error("the office has no Agent")
    const fiber = Effect.runFork(Effect.exit(agent.callTool({ computer, tool, params, timeout: 120 })))
    return { result: Effect.runPromise(Fiber.join(fiber)) }
  }

  /** Makes a call of the Agent and waits for its end. */
  async call(call: OfficeCall) {
    const exit = await this.startCall(call).result
    return Exit.isSuccess(exit) ? exit.value : undefined
  }

  /** Answers the next question for consent to `clear_notes`. */
  async answerConsent(permitted: boolean): Promise<void> {
    await waitUntil(() => this.#consents.length > 0)
    this.#consents.shift()?.(permitted)
  }

  #member(name: string) {
    return { url: this.#url, office: this.office, name }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.parts[Symbol.asyncDispose]()
  }
}
