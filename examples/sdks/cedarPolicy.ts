/** Lets the engine Cedar decide which calls a Computer runs. Calls to which no policy applies need consent. */
import { type EntityUidJson, isAuthorized } from "@cedar-policy/cedar-wasm/nodejs"
import { Console, Effect, Layer } from "effect"
import {
  Agent,
  agentLayer,
  AuditLog,
  Authenticator,
  computerLayer,
  makeFunctions,
  Policy,
  type PolicyCall,
  Server,
  serverLayer
} from "a2c-smcp"

const staticPolicies = {
  reads: `permit (principal, action, resource) when { context.readOnly };`,
  notes: `permit (principal == Caller::"thinker", action, resource in Server::"notes")
    when { context.params has path && context.params.path like "drafts/*" };`,
  office: `forbid (principal, action, resource) when { context.office == "lab" && !context.readOnly };`
}

const reasons: { readonly [policy: string]: string } = { office: "the office lab only reads" }

const entity = (type: string, id: string): EntityUidJson => ({ type, id })

/** Asks Cedar. Decimal numbers are no values of Cedar: such calls are denied, as every call that it cannot judge. */
const decide = ({ annotations, office = "", params, server, subject, tool }: PolicyCall) =>
  Effect.gen(function* () {
    const answer = isAuthorized({
      principal: entity("Caller", subject),
      action: entity("Action", "call"),
      resource: entity("Tool", tool),
      context: JSON.parse(JSON.stringify({ office, params, readOnly: annotations?.["readOnlyHint"] === true })),
      policies: { staticPolicies },
      entities: [{ uid: entity("Tool", tool), attrs: {}, parents: [entity("Server", server)] }]
    })
    if (answer.type === "failure") return yield* Effect.fail(answer.errors.map(({ message }) => message).join("; "))
    const { decision, diagnostics } = answer.response
    const [first] = diagnostics.reason
    // Without a policy that applies Cedar denies; here the owner of the Computer is asked.
    return first === undefined
      ? undefined
      : { action: decision, by: `Cedar's policy ${diagnostics.reason.join(", ")}`, reason: reasons[first] }
  })

const noteTool = (name: string, annotations: object) => ({
  name,
  params: { type: "object", properties: { path: { type: "string" } } },
  annotations,
  run: () => `${name}: done`
})

const notes = makeFunctions({
  name: "notes",
  tools: [noteTool("read_note", { readOnlyHint: true }), noteTool("write_note", {})]
})

const program = Effect.gen(function* () {
  const agent = yield* Agent
  const call = Effect.fn(function* (tool: string, path: string) {
    const { content } = yield* agent.callTool({ computer: "desk", tool, params: { path } })
    for (const block of content) if (block.type === "text") yield* Console.log(`${path}: ${block.text}`)
  })
  yield* call("read_note", "plans/a.md")
  yield* call("write_note", "drafts/a.md")
  yield* call("write_note", "plans/a.md")
})

const membersOf = (office: string) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { url } = yield* Server
      const { session } = yield* notes
      const place = { url, office }
      const Desk = computerLayer({
        ...place,
        name: "desk",
        config: { inputs: [], servers: {} },
        sessions: { notes: session }
      })
      return agentLayer({ ...place, name: "thinker" }).pipe(Layer.provideMerge(Desk))
    })
  )
const Place = serverLayer().pipe(Layer.provide(Authenticator.layerAllowAll))
const Ports = Layer.merge(Layer.succeed(Policy, { decide }), AuditLog.layerNone)

for (const office of ["team", "lab"]) {
  await Effect.runPromise(Effect.provide(program, membersOf(office).pipe(Layer.provide(Place), Layer.provide(Ports))))
}
