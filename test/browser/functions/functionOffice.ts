import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { type LineName, lineNamed, lineNames } from "../../../src/domain/wire/lines.ts"
import { formatVersion } from "../../../src/domain/wire/version.ts"
import { join, settled } from "../../conformance/joinedMembers.ts"
import { buildWorld, type Conditions, type Peer, type World } from "../../conformance/World.ts"
import type { ComputerScript } from "../../fixtures/browser/functionScript.ts"
import { hasChromium, type RemoteScript, scriptInNode, useFunctionPages } from "./functionPlaces.ts"

interface WireResult {
  readonly content: ReadonlyArray<{ readonly type: string; readonly text: string }>
  readonly isError: boolean
  readonly meta?: { readonly [key: string]: unknown }
  readonly structuredContent?: unknown
}

type Reply = { readonly [key: string]: unknown }

/** Requests of a scripted Agent to the Computers of its office. */
export interface ScriptedAgent extends Peer {
  /** The reply to a request to `pc-1`. */
  readonly ask: (event: string, fields?: object) => Effect.Effect<Reply>
  /** The result of a call of a tool, which goes by its own name. */
  readonly call: (tool: string, fields?: object) => Effect.Effect<WireResult>
  readonly toolNames: Effect.Effect<ReadonlyArray<string>>
  readonly desktop: (fields?: object) => Effect.Effect<ReadonlyArray<string>>
  readonly cancel: (reqId: string) => Effect.Effect<void>
}

/** An office with Computers of functions at one place, on one protocol line. */
interface FunctionOffice {
  readonly world: World
  readonly line: LineName
  /** The exposed name of a tool. */
  readonly toolName: (tool: string) => string
  readonly script: Effect.Effect<RemoteScript>
  /** A Computer that has joined, `pc-1` unless the script says otherwise. */
  readonly computer: (script?: ComputerScript) => Effect.Effect<RemoteScript, never, Scope.Scope>
  readonly agent: (office?: string, name?: string) => Effect.Effect<ScriptedAgent, unknown, Scope.Scope>
  /** Both. What the Computer announced at its start is not among the messages of the Agent. */
  readonly members: (
    script?: ComputerScript
  ) => Effect.Effect<readonly [ScriptedAgent, RemoteScript], unknown, Scope.Scope>
}

const functionsId = { name: "functions", bundleId: "functions" }

/** Connects a scripted Agent on a line, and lets it join. */
export const scriptedAgent = Effect.fnUntraced(function* (
  world: World,
  lineName: LineName,
  office = "O1",
  name = "agent-1",
  features: ReadonlyArray<string> = []
): Effect.fn.Return<ScriptedAgent, unknown, Scope.Scope> {
  const { hasRoleInHandshake, naming, version } = lineNamed(lineName)
  const auth = { ...(hasRoleInHandshake && { role: "agent" }), ...(features.length > 0 && { a2c_features: features }) }
  const peer = yield* world.connect({ version: formatVersion(version), auth })
  assert.deepStrictEqual(yield* join(peer, "agent", name, office), [true, null])
  let requests = 0
  const ask = (event: string, fields: object = {}) =>
    Effect.suspend(() => {
      const base = { agent: name, req_id: `q${requests++}`, computer: "pc-1" }
      return Effect.map(peer.request(event, { ...base, ...fields }), ([reply]) => reply as Reply)
    })
  return {
    ...peer,
    ask,
    call: (tool, fields = {}) =>
      Effect.map(
        ask("client:tool_call", {
          tool_name: naming.toolName(functionsId, tool),
          params: {},
          timeout: 60,
          ...fields
        }),
        (reply) => reply as unknown as WireResult
      ),
    toolNames: Effect.map(ask("client:get_tools"), ({ tools }) =>
      (tools as ReadonlyArray<{ readonly name: string }>).map((tool) => tool.name)
    ),
    desktop: (fields) =>
      Effect.map(ask("client:get_desktop", fields), ({ desktops }) => desktops as ReadonlyArray<string>),
    cancel: (reqId) => peer.notify("server:tool_call_cancel", { agent: name, req_id: reqId })
  }
})

const makeOffice = (world: World, line: LineName, script: Effect.Effect<RemoteScript>): FunctionOffice => {
  const computer = (options: ComputerScript = {}) =>
    Effect.acquireRelease(
      Effect.tap(script, (one) =>
        Effect.map(one.join({ url: world.url, protocol: line, ...options }), (error) => assert.isNull(error))
      ),
      (one) => one.close()
    )
  const agent = (office?: string, name?: string) => scriptedAgent(world, line, office, name)
  return {
    world,
    line,
    toolName: (tool) => lineNamed(line).naming.toolName(functionsId, tool),
    script,
    computer,
    agent,
    members: Effect.fnUntraced(function* (options) {
      const joined = yield* computer(options)
      const asking = yield* agent()
      // A slow page may deliver its first announcements after the Agent has joined.
      yield* announced(asking)
      yield* asking.forget
      return [asking, joined] as const
    })
  }
}

type Case = (office: FunctionOffice) => Effect.Effect<void, unknown, Scope.Scope>

type Conform = (title: string, body: Case, conditions?: (line: LineName) => Conditions) => void

/** Declares cases for each place and each line: in Node, and in a page of Chromium. */
export const conformInPlaces = (declare: (conform: Conform) => void): void => {
  const conformWith =
    (script: Effect.Effect<RemoteScript>, origins: Effect.Effect<ReadonlyArray<string>>): Conform =>
    (title, body, conditions = () => ({})) => {
      for (const line of lineNames) {
        it.live(`${title}, on ${line}`, () =>
          Effect.gen(function* () {
            const allowedOrigins = yield* origins
            const world = yield* buildWorld("socket.io", { allowedOrigins, ...conditions(line) })
            yield* body(makeOffice(world, line, script))
          }).pipe(Effect.scoped)
        )
      }
    }
  describe.concurrent("Computer of functions in Node", () =>
    declare(conformWith(Effect.sync(scriptInNode), Effect.succeed([]))))
  describe.skipIf(!hasChromium)("Computer of functions in Chromium", () => {
    const { faults, origin, script } = useFunctionPages()
    describe.concurrent("page", () =>
      declare(
        conformWith(
          script,
          Effect.map(origin, (one) => [one])
        )
      ))
    it("throws no error, and needs no exception of its content security policy", () =>
      assert.deepStrictEqual(faults, []))
  })
}

/** Asserts a result with this error code. */
export const assertFailed = ({ isError, meta }: WireResult, code: number): void =>
  assert.deepStrictEqual([isError, meta?.["error_code"]], [true, code])

export const textsOf = ({ content }: WireResult): ReadonlyArray<string> => content.map(({ text }) => text)

/** Waits until the office knows all that the Computer has announced: the Computer answers after it. */
export const announced = (agent: ScriptedAgent) => Effect.andThen(agent.toolNames, settled([agent]))
