import { resolve } from "node:path"
import { Effect, Layer, Record, Redacted, Struct } from "effect"
import { AuditLog } from "../../../application/ports/AuditLog.ts"
import { Policy } from "../../../application/ports/approvals/Policy.ts"
import * as FileApprovalStore from "../../../adapters/approvals/FileApprovalStore.ts"
import * as AuditFile from "../../../adapters/audit/AuditFile.ts"
import * as FileCatalogueStore from "../../../adapters/catalogues/FileCatalogueStore.ts"
import { logAuthorizationRequest } from "../../../adapters/mcp/oauth/Authorizer.ts"
import { noHomeAdvice, userCacheFolder, userStateFile } from "../../../adapters/process/userFolders.ts"
import * as CommandInput from "../../../adapters/process/CommandInput.ts"
import * as JsonSchemaValidator from "../../../adapters/jsonSchema/JsonSchemaValidator.ts"
import { makeAnswerPrompt } from "../../../adapters/terminal/answerPrompt.ts"
import { makeConsentPrompt, makeInputPrompt, terminalApprover } from "../../../adapters/terminal/prompts.ts"
import { makeParamsCheck } from "../../../application/shared/paramsCheck.ts"
import { Inputs } from "../../../application/computer/inputs/Inputs.ts"
import { serversUsingInput } from "../../../domain/config/Setup.ts"
import type { ComputerConfig } from "../../../domain/config/computerConfig.ts"
import type { Question } from "../../../domain/approvals/Approval.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { readConfigFiles, unknownInputWarnings } from "../../config/configFiles.ts"
import { formatDiagnostic } from "../../config/documents.ts"
import { awaitServersStarted } from "../awaitServersStarted.ts"
import { adaptToLoads } from "../../../adapters/process/gcTuning.ts"
import { policyOfFile } from "../../config/policyFile.ts"
import { reloadRequests } from "../../config/hangup.ts"
import { watchConfig } from "../../config/watchConfig.ts"
import { failCommand } from "../../CommandFailed.ts"
import { explainJoinRejection } from "../office/joinRejections.ts"
import type { TerminalIO } from "../TerminalIO.ts"
import { computerLayerRequiringInputs } from "../../layers/computerLayer.ts"
import { memberConnection } from "../memberConnection.ts"
import { warnOfLiteralInputs } from "../flags/secretFlags.ts"
import { makeDocumentServer } from "../../../adapters/dpe/DocumentServer.ts"
import { makeFileCache } from "../../../adapters/dpe/FileCache.ts"
import { defaultServerUrl } from "../flags/sharedFlags.ts"
import { joinOptions } from "../office/joinFlags.ts"
import type { ComputerCommandOptions } from "./flags.ts"

/** Makes the resolver that `--dpe` selects: `cache`, `cache:FOLDER`, `http` or `http:PORT`. */
export const makeDpeResolver = Effect.fnUntraced(function* (mode: string, publicUrl: string | undefined) {
  const [, scheme, detail] = /^(cache|http)(?::(.+))?$/s.exec(mode) ?? []
  if (scheme === "cache") {
    const folder = detail ?? userCacheFolder("documents")
    if (folder === undefined) {
      return yield* failCommand(`--dpe cache: ${noHomeAdvice("XDG_CACHE_HOME")}, or give cache:FOLDER`)
    }
    return yield* makeFileCache({ folder })
  }
  const port = Number(detail ?? 0)
  if (scheme === undefined || !Number.isInteger(port) || port < 0 || port > 65535) {
    return yield* failCommand(`--dpe: expected cache, cache:FOLDER, http or http:PORT, got ${JSON.stringify(mode)}`)
  }
  const { resolve, url } = yield* makeDocumentServer({ port, ...definedOnly({ publicUrl }) })
  yield* Effect.logInfo("document server listening", { url })
  return resolve
})

/** The flags of a Computer; a device has fewer of them. */
type ConfiguredComputerOptions = Partial<ComputerCommandOptions> &
  Pick<ComputerCommandOptions, "name" | "configFiles" | "inputs" | "approve" | "watch">

/** The options of the layers that follow from the flags alone. */
export const toComputerOptions = (options: ConfiguredComputerOptions) => {
  const { approvers = ["terminal"], audit, marketplaces = [], skills, uploads } = options
  const approvalsPath = options.approvals ?? userStateFile("approvals.json")
  return {
    layer: {
      url: options.server ?? defaultServerUrl,
      name: options.name,
      ...joinOptions(options),
      skills: {
        userFolder: skills === undefined ? undefined : resolve(skills),
        marketplaces: marketplaces.map((folder) => resolve(folder))
      },
      ...(uploads !== undefined && { uploads: { folder: resolve(uploads) } }),
      ...definedOnly(Struct.pick(options, ["clientMetadataUrl", "mcpRevision"])),
      operators: { calls: options.operators ?? false, stderr: options.shareStderr ?? false },
      settings: {
        approve: options.approve,
        approvers: approvers.filter((approver) => approver !== "terminal"),
        showUnsubscribable: options.allWindows ?? false,
        ...definedOnly(Struct.pick(options, ["approvalTimeout", "idle", "lifecycle"]))
      }
    },
    approvers,
    /** Missing without a home folder. */
    approvalsFile: approvalsPath === undefined ? undefined : resolve(approvalsPath),
    audit: audit === undefined ? undefined : { file: audit }
  }
}

const logWarnings = (warnings: ReadonlyArray<string>) =>
  Effect.forEach(warnings, (warning) => Effect.logWarning(warning), { discard: true })

/** Reads the configuration files and logs warnings; fails with the errors when no configuration results. */
const loadConfig = Effect.fnUntraced(function* (files: ReadonlyArray<string>) {
  const { diagnostics, setup, sources } = yield* readConfigFiles(files)
  const linesOf = (wanted: "error" | "warning") =>
    diagnostics.filter(({ severity }) => severity === wanted).map(formatDiagnostic)
  yield* logWarnings(linesOf("warning"))
  return setup === undefined ? yield* failCommand(linesOf("error").join("\n")) : { setup, sources }
})

/** Prompts for every input that an enabled server uses, one after the other, before any server starts. */
const promptForInputs = Effect.fnUntraced(function* (config: ComputerConfig) {
  const inputs = yield* Inputs
  for (const input of config.inputs) {
    const users = serversUsingInput(config, input.id).filter((name) => config.servers[name]?.disabled === false)
    // The server reports a missing value itself.
    yield* Effect.forEach(users, (name) => Effect.ignore(inputs.resolve(input, config.servers[name])), {
      discard: true
    })
  }
})

/** Runs a Computer, by the flags of the command, for the duration of `use`. Without a Server it joins no office. */
export const withComputer = <A, E, R>(
  options: ConfiguredComputerOptions,
  { dialogue, log }: TerminalIO,
  membership: { readonly office?: string; readonly retryInitialConnect?: boolean },
  use: Effect.Effect<A, E, R>
) =>
  Effect.gen(function* () {
    const { configFiles: files, dpe, dpeUrl, inputs: given } = options
    const { approvalsFile, approvers, audit, layer } = toComputerOptions(options)
    const { setup, sources } = yield* loadConfig(files)
    yield* logWarnings(unknownInputWarnings(setup.config, given))
    yield* warnOfLiteralInputs(setup.config, given)
    const values = Record.map(given, Redacted.value)
    const resolveDpe = dpe === undefined ? undefined : yield* makeDpeResolver(dpe, dpeUrl)
    const terminal = approvers.includes("terminal") ? dialogue : undefined
    const confirm = terminal && makeConsentPrompt(terminal)
    const answer =
      terminal && makeAnswerPrompt(terminal, yield* Effect.provide(makeParamsCheck, JsonSchemaValidator.layer))
    const onInput =
      answer &&
      ((question: Question) =>
        Effect.map(answer(question.input, question), (one) => ({ ...one, by: terminalApprover })))
    const policy = options.policy === undefined ? undefined : yield* policyOfFile(options.policy)
    const runCommand = yield* CommandInput.make()
    const inputSources = { values, runCommand, ...definedOnly({ prompt: dialogue && makeInputPrompt(dialogue) }) }
    const inputs = yield* Layer.build(Inputs.layer(inputSources))
    const prompt = Effect.provideContext(promptForInputs(setup.config), inputs)
    const catalogues = userCacheFolder("catalogues")
    if (approvalsFile === undefined) {
      const reason = noHomeAdvice("XDG_STATE_HOME")
      yield* Effect.logWarning("approvals end with this process", { reason: `${reason}, or give --approvals` })
    }
    const computer = computerLayerRequiringInputs({
      ...membership,
      ...layer,
      ...setup,
      ...(yield* memberConnection(options)),
      ...definedOnly({ authorize: dialogue && logAuthorizationRequest, prepare: dialogue && prompt }),
      confirm,
      approvals:
        approvalsFile === undefined
          ? undefined
          : FileApprovalStore.layer(approvalsFile, layer.url, files.map((file) => resolve(file)).join("\n")),
      catalogues: catalogues === undefined ? undefined : FileCatalogueStore.layer(catalogues),
      settings: { ...layer.settings, onInput, resolveDpe }
    }).pipe(
      Layer.provide(policy ?? Policy.layerNone),
      Layer.provide(audit === undefined ? AuditLog.layerNone : AuditFile.layer({ ...audit, reopen: reloadRequests }))
    )
    const followFiles =
      files.length === 0 ? Effect.never : watchConfig({ files, setup, sources, isWatching: options.watch })
    const beside = Effect.all([followFiles, Effect.andThen(awaitServersStarted, adaptToLoads)], { concurrency: 2 })
    return yield* Effect.andThen(Effect.forkScoped(beside), use).pipe(
      Effect.provide(computer),
      explainJoinRejection("computer", options),
      Effect.provideContext(inputs)
    )
  }).pipe(Effect.provide(log))
