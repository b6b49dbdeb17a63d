import { Data, type Effect, type Scope } from "effect"
import type { JsonObject } from "../../src/domain/json.ts"
import type { EventLog } from "./EventLog.ts"

/** A part reported an error. */
export class PartError extends Data.TaggedError("PartError")<{
  readonly message: string
  /** The error code of the protocol. */
  readonly code?: number
}> {}

type Outcome<A> = Effect.Effect<A, PartError>

interface ToolView {
  readonly name: string
  readonly description: string
  readonly bundleId: string | undefined
}

export interface ResourceView {
  readonly uri: string
  readonly mimeType: string | undefined
}

interface ResourcePageView {
  readonly resources: ReadonlyArray<ResourceView>
  readonly cursor: string | undefined
}

interface SkillView {
  readonly name: string
  readonly source: string
  readonly description: string
}

interface CallRequest {
  readonly computer: string
  readonly tool: string
  readonly params: JsonObject
  /** In whole seconds. */
  readonly timeout: number
}

/** An Agent of either side. */
export interface AgentPart {
  readonly events: EventLog
  readonly join: Outcome<void>
  readonly leave: Outcome<void>
  /** The names of the Computers in the office. */
  readonly computers: Outcome<ReadonlyArray<string>>
  readonly tools: (computer: string) => Outcome<ReadonlyArray<ToolView>>
  /** Gives the `CallToolResult`. */
  readonly call: (request: CallRequest) => Outcome<JsonObject>
  /** Cancels the call after this many seconds; `undefined` when the part cannot cancel its calls. */
  readonly cancelCall: ((request: CallRequest, after: number) => Outcome<void>) | undefined
  readonly desktop: (
    computer: string,
    options?: { readonly size?: number; readonly window?: string }
  ) => Outcome<ReadonlyArray<string>>
  /** The servers by their keys, and the inputs, as JSON. */
  readonly config: (computer: string) => Outcome<{ readonly servers: JsonObject; readonly text: string }>
  readonly resources: (computer: string, server: string, cursor?: string) => Outcome<ResourcePageView>
  readonly skills: (computer: string) => Outcome<ReadonlyArray<SkillView>>
  /**
   * The number of MCP servers that the Computer describes beyond the protocol, and the result of a call that was started
   * as a task; `undefined` for an Agent that knows neither.
   */
  readonly beyondProtocol:
    | ((call: CallRequest) => Outcome<{ readonly servers: number; readonly result: JsonObject }>)
    | undefined
  /** Gives the text of a file of a skill. */
  readonly skillFile: (computer: string, skill: string, path?: string) => Outcome<string>
  readonly upload: (
    computer: string,
    data: Uint8Array,
    hint: string
  ) => Outcome<{ readonly path: string; readonly size: number; readonly sha256: string }>
}

/** A Computer of either side. Its MCP servers run from the start. */
export interface ComputerPart {
  readonly join: (office: string) => Outcome<void>
  readonly leave: Outcome<void>
}

/** A Server of either side. */
interface ServerPart {
  readonly port: number
}

/** Where a member finds its Server. */
interface MemberOptions {
  readonly name: string
  readonly port: number
  readonly token: string
}

interface AgentOptions extends MemberOptions {
  readonly office: string
}

export interface ComputerOptions extends MemberOptions {
  readonly config: { readonly servers: JsonObject; readonly inputs: ReadonlyArray<JsonObject> }
  /** Values of the inputs. */
  readonly values: { readonly [id: string]: string }
  /** A folder for its files, with the skills of the user in `skills/user`. */
  readonly folder: string
  /** The folder for uploads. */
  readonly landing: string
}

/** Starts parts of one side, until the scope closes. */
export interface Factory {
  readonly makeServer: (token: string) => Effect.Effect<ServerPart, PartError, Scope.Scope>
  readonly makeAgent: (options: AgentOptions) => Effect.Effect<AgentPart, PartError, Scope.Scope>
  readonly makeComputer: (options: ComputerOptions) => Effect.Effect<ComputerPart, PartError, Scope.Scope>
}
