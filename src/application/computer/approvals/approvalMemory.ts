import { Clock, Effect, Semaphore } from "effect"
import type { Approval } from "../../../domain/approvals/Approval.ts"
import type { Caller } from "../../../domain/approvals/Caller.ts"
import {
  addGrant,
  type CallPlace,
  coversCall,
  type Grant,
  isExpired,
  isInForce,
  isOfAgent
} from "../../../domain/approvals/grants.ts"
import { noApprovals, type StoredApprovals } from "../../../domain/approvals/StoredApprovals.ts"
import { addPin, makePinnedDefinition, findPin, findToolChange } from "../../../domain/tools/toolPins.ts"
import type { ServerConfig } from "../../../domain/config/computerConfig.ts"
import type { JsonObject } from "../../../domain/json.ts"
import type { CatalogueEntry } from "../../../domain/tools/catalogue.ts"
import { ApprovalStore } from "../../ports/approvals/ApprovalStore.ts"
import { ComputerSettings } from "../ComputerSettings.ts"

/** Tools whose last approved arguments are kept, and the characters of the arguments of one. */
const maxPreviousParams = 100
const maxPreviousLength = 64 * 1024

/** An approved call of a tool. */
interface ApprovedCall {
  readonly approval: Pick<Approval, "caller" | "params">
  readonly entry: CatalogueEntry
  readonly config: ServerConfig | undefined
}

const toolKey = ({ originalName, server }: CatalogueEntry): string => JSON.stringify([server, originalName])

const withoutAgentGrants = (stored: StoredApprovals): StoredApprovals => ({
  ...stored,
  grants: stored.grants.filter((grant) => !isOfAgent(grant))
})

/** Makes what approvals leave behind: grants and the definitions of approved tools, which are stored, and their last arguments. */
export const makeApprovalMemory = Effect.fnUntraced(function* (computer: string) {
  const { approvers } = yield* ComputerSettings
  const clock = yield* Clock.Clock
  const store = yield* ApprovalStore
  const saveLock = yield* Semaphore.make(1)
  const definitions = new WeakMap<CatalogueEntry, ReturnType<typeof makePinnedDefinition>>()
  const previous = new Map<string, { readonly previousParams: JsonObject; readonly previousCaller: Caller }>()
  /** False after a failed load: what could not be read must not be overwritten. */
  let canSave = true

  const loaded = yield* Effect.catch(store.load(computer), ({ message: reason }) => {
    canSave = false
    return Effect.as(Effect.logError("stored approvals not loaded", { reason }), noApprovals)
  })
  let stored: StoredApprovals = withoutAgentGrants(loaded)

  const now = () => clock.currentTimeMillisUnsafe()
  const isValid = (grant: Grant): boolean => !isExpired(grant, now()) && isInForce(grant, approvers)

  const define = (entry: CatalogueEntry, config: ServerConfig | undefined) => {
    const known = definitions.get(entry) ?? makePinnedDefinition(entry, config)
    definitions.set(entry, known)
    return known
  }

  const save = Effect.suspend(() =>
    canSave
      ? Effect.catch(
          saveLock.withPermit(Effect.suspend(() => store.save(computer, withoutAgentGrants(stored)))),
          ({ message: reason }) => Effect.logError("approvals not saved", { reason })
        )
      : Effect.void
  )

  return {
    save,
    /** Keeps what a person allowed: the definition of the tool, and the arguments to compare the next call with. */
    remember: ({ approval, config, entry }: ApprovedCall, by: string): void => {
      const { definition, digest } = define(entry, config)
      const { originalName: tool, server } = entry
      stored = { ...stored, pins: addPin(stored.pins, { server, tool, digest, definition, at: now(), by }) }
      const key = toolKey(entry)
      previous.delete(key)
      if (JSON.stringify(approval.params).length > maxPreviousLength) return
      previous.set(key, { previousParams: approval.params, previousCaller: approval.caller })
      const [oldest] = previous.keys()
      if (previous.size > maxPreviousParams && oldest !== undefined) previous.delete(oldest)
    },
    grant: (grant: Parameters<typeof addGrant>[1]): void => {
      stored = { ...stored, grants: addGrant(stored.grants, grant, grant.at) }
    },
    /** The grants that are valid now. */
    grants: (): ReadonlyArray<Grant> => stored.grants.filter(isValid),
    /** Ends the grants that an Agent gave for its calls: its membership has ended. */
    endAgentGrants: (): void => {
      stored = withoutAgentGrants(stored)
    },
    /** Ends a grant; false when no grant has this id. */
    revoke: (id: string): Effect.Effect<boolean> =>
      Effect.suspend(() => {
        const grants = stored.grants.filter((grant) => grant.id !== id)
        if (grants.length === stored.grants.length) return Effect.succeed(false)
        stored = { ...stored, grants }
        return Effect.as(save, true)
      }),
    /** The grant that covers a call of a tool. */
    grantFor: (
      entry: CatalogueEntry,
      config: ServerConfig | undefined,
      { caller, place }: { readonly caller: Caller; readonly place: CallPlace | undefined }
    ): Grant | undefined => {
      if (stored.grants.length === 0) return undefined
      const call = { toolDigest: define(entry, config).digest, caller, ...place }
      return stored.grants.find((grant) => isValid(grant) && coversCall(grant, call))
    },
    /** Identifies a tool with its definition and its MCP server. */
    digestOf: (entry: CatalogueEntry, config: ServerConfig | undefined): string => define(entry, config).digest,
    /** How a tool differs from the one that was approved before. */
    changeOf: (entry: CatalogueEntry, config: ServerConfig | undefined) => {
      const { definition, digest } = define(entry, config)
      return findToolChange(findPin(stored.pins, entry), digest, definition)
    },
    /** The arguments of the last approved call of a tool, and its caller. */
    previousOf: (entry: CatalogueEntry) => previous.get(toolKey(entry))
  }
})

export type ApprovalMemory = Effect.Success<ReturnType<typeof makeApprovalMemory>>
