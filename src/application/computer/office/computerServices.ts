import { Effect } from "effect"
import type { ComputerConfig } from "../../../domain/config/computerConfig.ts"
import type { Variables } from "../../../domain/config/Setup.ts"
import type { ComputerPart } from "../../../domain/model/Notification.ts"
import { toBlobError } from "../../../domain/skills/skillErrors.ts"
import { ServerOutput } from "../../ports/mcp/ServerOutput.ts"
import { makeApprovals } from "../approvals/Approvals.ts"
import { makeToolCalls } from "../calls/ToolCalls.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import { makeBlobs } from "../content/Blobs.ts"
import { makeDesktop } from "../content/Desktop.ts"
import { makeDocuments } from "../content/Documents.ts"
import { makeSkills, type SkillFolders } from "../content/Skills.ts"
import { makeUploads, type UploadOptions } from "../content/Uploads.ts"
import { makeSecrets, redactLogs } from "../inputs/Secrets.ts"
import { makeServerSupervisor } from "../servers/ServerSupervisor.ts"
import { makeApprovalRequests } from "./approvalRequests.ts"
import { makeInspector } from "./Inspector.ts"
import { makeCallers, makeOfficeReporter, type OfficeConnection } from "./OfficeConnection.ts"
import { type ComputerOperatorAccess, makeServerOutputs } from "./operatorAccess.ts"

export interface ComputerServicesOptions {
  readonly name: string
  readonly config: ComputerConfig
  /** Values of the `${name}` placeholders in server parameters. */
  readonly variables?: Variables
  /** Where Agents of the protocol 0.4 may put files, by the `LandingFolder` of the context; without it they may not. */
  readonly uploads?: UploadOptions
  /** Folders with skills. Skills need a `SkillSource` of the context, such as `FileSkills`, also those of MCP servers. */
  readonly skills?: SkillFolders
  /** What the operators of the Server may see and do here. */
  readonly operators?: ComputerOperatorAccess
}

export type ComputerServices = Effect.Success<ReturnType<typeof makeComputerServices>>

/** Makes what serves the requests of an office and of the owner. The servers start once `mayStart` completes. */
export const makeComputerServices = Effect.fnUntraced(function* (
  { config, name, operators = {}, skills: folders = {}, uploads, variables = {} }: ComputerServicesOptions,
  connection: OfficeConnection,
  notify: (part: ComputerPart) => Effect.Effect<void>,
  mayStart: Effect.Effect<void>
) {
  const { approvers } = yield* ComputerSettings
  const secrets = makeSecrets()
  const withRedactedLogs = redactLogs(secrets)
  const outputs = makeServerOutputs(secrets, operators)
  const servers = yield* makeServerSupervisor({ config, variables }, secrets, notify, mayStart, name).pipe(
    Effect.provideService(ServerOutput, outputs.record),
    withRedactedLogs
  )
  const ownApprovals = yield* withRedactedLogs(makeApprovals(name, servers))
  const reporter = makeOfficeReporter(connection.member)
  const calls = yield* withRedactedLogs(
    makeToolCalls({
      approvals: ownApprovals,
      computer: name,
      currentOffice: connection.place,
      reporter,
      secrets,
      servers
    })
  )
  const recentServers = () => calls.history().map(({ server }) => servers.identify(server))
  const skills = yield* withRedactedLogs(makeSkills({ servers, folders, notify }))
  return {
    name,
    withRedactedLogs,
    servers,
    calls,
    ownApprovals,
    approvals: yield* makeApprovalRequests(ownApprovals, calls.tasks),
    callers: makeCallers(ownApprovals.forgetAgent),
    desktop: yield* makeDesktop(servers, recentServers),
    documents: yield* makeDocuments(servers, recentServers),
    skills,
    blobs: makeBlobs({
      computer: name,
      readSkill: (skill, relPath) => Effect.mapError(skills.read(skill, relPath), toBlobError)
    }),
    uploads: yield* makeUploads(uploads),
    /** True when operators may learn how calls are decided. */
    isExplained: operators.calls === true || approvers.includes("page"),
    /** Missing where the operators of the Server see nothing. */
    inspector: operators.states === false ? undefined : yield* makeInspector(servers, outputs)
  }
})
